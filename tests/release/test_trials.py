"""Trials: candidates share the time that is left, and none waits for another that takes longer."""

import time
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from types import SimpleNamespace
from typing import Any

import pytest

import ringfence as rf
from ringfence.api import trying
from ringfence.declared import CONTAINED, Scheme
from ringfence.methods.candidates import Candidate, candidates
from ringfence.plans.recode import GlobalPlan
from ringfence.release import trials
from ringfence.release.trials import LAST_SHARE, LEAST_SECONDS, Search
from ringfence.samples import people, people_spec
from ringfence.search.decision import Decision
from ringfence.search.progress import SearchResult


def some_trials(**known: Any) -> tuple[trials._Trials, list[Candidate]]:
    """Trials of all candidates, with a minute, of which nothing is over."""
    every = [each for each in candidates(people_spec()) if each.refusal() is None]
    with ThreadPoolExecutor(1) as ahead:
        bench: Any = SimpleNamespace(rows=1)
        found = trials._Trials(bench, 60.0, time.monotonic(), SimpleNamespace(seconds=0.0), ahead, **known)
    found.waiting.update({each.name: each for each in every})
    return found, every


def test_a_search_that_takes_long_holds_nobody_up(monkeypatch: pytest.MonkeyPatch) -> None:
    another_made, in_time = Event(), []

    class Slow(trying.Bench):
        def prepare(self, candidate: Candidate) -> Search:
            search = super().prepare(candidate)
            if candidate.name != "mondrian-sets":
                return search

            def slowly(spec: rf.Spec, starts: Any) -> Any:
                in_time.append(another_made.wait(20))
                return search(spec, starts)

            return slowly

    def listen(event: rf.Event) -> None:
        if event.stage == "compare":
            another_made.set()

    monkeypatch.setattr(trying, "Bench", Slow)
    monkeypatch.setattr(trials, "SEARCHES", 2)
    asked = candidates(people_spec(), ["mondrian-sets"])[0].spec
    found = rf.compare(people(300), asked, methods=["mondrian-sets", "hilbert-sets"], listener=listen)
    assert in_time == [True]
    assert [each.name for each in found.tried] == ["mondrian-sets", "hilbert-sets"]
    assert all(each.made is not None for each in found.tried)


def test_shares_leave_the_time_that_others_take_beside_their_searches() -> None:
    took, over = {"ring": [1.5], "local": [0.5]}, {"ring": 1.0, "local": 0.0}
    found, every = some_trials(took=took, over=over)
    shares = {each.name: found._share(each) for each in every}
    beside, beyond = (sum(map(of, every)) for of in (found._beside, found._beyond))
    left = 60 * (1 - LAST_SHARE)
    assert sum(shares.values()) + beside + beyond == pytest.approx(trials.SEARCHES * left, abs=0.5)
    assert shares["local-use-sets"] == pytest.approx(6 * shares["ring-sets"], abs=0.1)
    assert found._beside(every[0]) == 1.0  # what is not known is as with the others
    found.searching["another"] = found._now() + 30
    assert sum(map(found._share, every)) == pytest.approx(sum(shares.values()) - 30, abs=0.5)


def test_where_there_is_no_time_for_all_the_first_are_searched_for_as_if_they_were_all() -> None:
    found, every = some_trials(took={"local": [10.0]}, over={"local": 0.0})
    total, names = trials.SEARCHES * 60 * (1 - LAST_SHARE), [each.name for each in every]
    some = [every[place] for place in range(int(total / 2 / 10))]
    worth = sum(each.worth for each in some)
    second = found._share(every[1])
    assert names[1] == "local-use-sets"
    assert second == pytest.approx(min((total - 10 * len(some)) * 6 / worth, total / trials.SEARCHES - 10), abs=0.1)
    found.over.clear()
    assert found._share(every[1]) == pytest.approx((total / trials.SEARCHES - 10) / 2, abs=0.1)  # nothing is known


def test_what_would_not_end_in_time_is_not_begun() -> None:
    found, (first, *others) = some_trials(took={"local": [1.0]}, over={"local": 50.5})
    local, ring = (next(each for each in others if each.spec.method.name == name) for name in ("local", "ring"))
    with pytest.raises(trials._TimeUp):
        found._need_time(local)
    found.over["ring"] = 0.0
    found._need_time(ring)
    found.found.update({str(place): first for place in range(51)})  # each has yet to be carried out
    with pytest.raises(trials._TimeUp):
        found._need_time(ring)
    assert found._share(local) == LEAST_SECONDS


def test_rings_are_not_begun_where_their_audit_would_take_too_long() -> None:
    found, every = some_trials(took={"local": [5.0]}, over={"local": 0.0, "ring": 0.0})
    ring = next(each for each in every if each.spec.method.name == "ring")
    other = next(each for each in every if each.spec.method.name == "cluster")
    found._need_time(ring)
    found.bench = SimpleNamespace(rows=3_000_000)
    assert found._beside(ring) == pytest.approx(5 * 11.5)
    with pytest.raises(trials._TimeUp, match="more than 60 seconds"):
        found._need_time(ring)
    found._need_time(other)
    assert found._share(other) > LEAST_SECONDS  # and nothing is kept for them
    found.took["ring"] = [2.0]
    found._need_time(ring)  # once it is known, that counts


def test_what_contains_others_is_searched_for_after_them_from_the_best_of_them() -> None:
    found, every = some_trials()
    by_scheme = {each.spec.method.scheme: each for each in every if each.spec.method.name == "optimal"}
    assert {*by_scheme} == {*CONTAINED}
    others = [each for each in every if each.spec.method.name != "optimal"]
    for name in ("level", "cut", "guided-ordered"):
        assert found.next_of([by_scheme["set"], by_scheme[name], *others]) is by_scheme[name]
        del found.waiting[by_scheme[name].name]
        found.found[by_scheme[name].name], found.searching[by_scheme[name].name] = by_scheme[name], 1.0
        assert found.next_of([by_scheme["set"], by_scheme["ordered"], *others]) is others[0]  # it is still searched for
        assert found.next_of([by_scheme["set"]]) is None
        del found.searching[by_scheme[name].name]
    schemes: dict[Scheme, float] = {"level": 3.0, "cut": 2.0, "guided-set": 1.0}
    plans = {name: GlobalPlan({}, (), 0, False, (), name) for name in schemes}
    for scheme, cost in schemes.items():
        found.known.append((by_scheme[scheme], Decision(plans[scheme], SearchResult(cost, False, 0.0, 1, 1, 1.0), {})))
    assert found._starts(by_scheme["level"]) == found._starts(others[0]) == []
    assert found._starts(by_scheme["ordered"]) == [plans["cut"]]  # it does not contain sets
    assert found._starts(by_scheme["set"]) == [plans["guided-set"]]


def test_no_scheme_of_a_comparison_is_worse_than_one_that_it_contains() -> None:
    """However little time there is: of each, a twentieth of a second."""
    asked = people_spec().model_copy(update={"method": people_spec().method.model_copy(update={"time_limit": 0.05})})
    found = rf.compare(people(3_000), asked, methods=["optimal"], budget=60)
    costs = {
        each.candidate.spec.method.scheme: each.made.decision.search.cost
        for each in found.tried
        if each.made is not None and each.made.decision.search is not None
    }
    assert {*costs} == {*CONTAINED}
    for scheme, cost in costs.items():
        assert all(cost <= costs[simpler] for simpler in CONTAINED[scheme]), (scheme, costs)

"""The optimal search on Adult: what is proven in which time, how good the first answers are, what nesting saves.

Age is in 15 bins, ordered; the other attributes are ordered (by the alphabet, which suits no search) or sets. `asked`
is the time in which a proof is wanted. `first` is what the answers cost before the proof begins, against the best
known, and `after_ten` what a search that is stopped after ten seconds finds. Where one attribute eliminated by itself
gets anywhere, `alone` is the time that it takes.
"""

from collections.abc import Iterator
from math import inf
from pathlib import Path
from typing import Any

import pyarrow as pa

from benchmarks.data import adult, count
from ringfence.declared import Scheme
from ringfence.search.progress import Watch
from ringfence.search.recode import auto
from ringfence.search.recode.iterated import Iterated, alone
from ringfence.search.recode.proof import Alone, Proof
from ringfence.search.recode.question import question
from ringfence.search.recode.spaces import Space
from ringfence.spec import Spec

ATTRIBUTES = ["age", "marital-status", "race", "sex", "workclass", "education", "occupation", "native-country"]
KS = [2, 3, 5, 10, 15, 20]
LONGEST = 600.0  # seconds for one search
SOON = 10.0  # seconds in which an answer should be good

CASES: list[tuple[int, Scheme, list[int], float]] = [
    (4, "ordered", KS, 0.1),
    (4, "set", KS, 0.1),
    (5, "set", KS, 1.0),
    (6, "ordered", KS, 3.0),
    (6, "set", [5, 10, 15, 20], 20.0),
    (7, "ordered", [5, 10, 20], 60.0),
    (7, "set", [10, 15, 20], 600.0),
    (8, "ordered", [5, 10, 20], 180.0),
]
"""How many attributes, their scheme, each k, and the seconds asked for."""


class Question:
    """What is searched: some attributes of Adult under a scheme, for a k."""

    def __init__(self, people: pa.Table, attributes: int, scheme: Scheme, k: int) -> None:
        names = ATTRIBUTES[:attributes]
        schemes: dict[str, Scheme] = {name: "ordered" if name == "age" else scheme for name in names}
        parts: dict[str, Any] = {name: {"role": "quasi", "scheme": each} for name, each in schemes.items()}
        parts["age"]["order"] = "numeric"
        self.spec = Spec(attributes=parts, privacy={"k": k}, method={"metric": "dm", "suppression": 1.0})
        census = count(people.select(names), self.spec)
        self.asked = question(census, self.spec, [Space(quasi, schemes[quasi.name]) for quasi in census.quasi])

    def _answers(self, watch: Watch) -> Iterated:
        asked = self.asked
        return Iterated(asked, watch)

    def first(self) -> Iterated:
        """Return the answers that a proof begins with."""
        watch = Watch(LONGEST)
        answers = self._answers(watch)
        answers.begin([])
        return answers

    def alone(self, patience: float) -> float | None:
        """Return how long the proof takes with one attribute eliminated by itself, None if longer than that."""
        watch = Watch(patience)
        answers = self._answers(watch)
        answers.begin([])
        proven = Proof(Alone(answers.bounder(alone(self.asked.spaces))), answers, watch).run()
        return watch.seconds if proven else None


def measure(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield what every case takes."""
    rows = adult(folder)
    bins = pa.array([str((int(age) - 17) // 5) for age in rows["age"].to_pylist()])
    people = rows.set_column(rows.column_names.index("age"), "age", bins)
    Question(people, 4, "set", 5).alone(LONGEST)  # compiled
    for attributes, patience in ((4, LONGEST), (6, 3.0), (7, 3.0)):
        _searched(Question(people, attributes, "set", 5), patience)
    for attributes, scheme, ks, asked in CASES:
        for k in ks:
            yield _figures(people, attributes, scheme, k, asked)


def _figures(people: pa.Table, attributes: int, scheme: Scheme, k: int, asked: float) -> dict[str, Any]:
    question = Question(people, attributes, scheme, k)
    result = _searched(question, min(LONGEST, max(20.0, asked)))
    begun = question.first()
    assert begun.best is not None, "there is an answer"
    found: dict[str, Any] = {
        "attributes": attributes, "scheme": scheme, "k": k, "cost": result.cost, "bounds": result.nodes,
        "seconds": round(result.seconds, 2), "asked": asked, "proven": result.optimal,
        "gap": round(1 - result.bound / result.cost, 4),
        "first": round(begun.best.cost / result.cost - 1, 4), "first_seconds": round(begun.watch.seconds, 2),
    }  # fmt: skip
    if result.seconds > SOON:
        found["after_ten"] = round(_searched(question, SOON).cost / result.cost - 1, 4)
    if attributes <= 5 or (attributes, scheme) == (6, "ordered"):
        found["alone"] = round(question.alone(20.0) or inf, 2)
    return found


def _searched(question: Question, patience: float) -> Any:
    return auto.search(question.asked, Watch(patience))[1]

"""How other tools are measured: what is read from their labels, how runs end, and what the audit says of releases."""

from pathlib import Path
from typing import Any

import pyarrow.csv
import pytest

import ringfence as rf
from benchmarks.peers.contestants import GROUPS, LEVELS, Contestant, Question
from benchmarks.peers.meeting import Bench
from benchmarks.peers.reading import Labels, Reading, Unreadable, judge, read
from benchmarks.peers.tables import Contest, made_up

ROWS = 500


@pytest.fixture(scope="module")
def contest(tmp_path_factory: pytest.TempPathFactory) -> Contest:
    return made_up(tmp_path_factory.mktemp("people"), ROWS)


AGES = [["20", "20-29", "*"], ["24", "20-29", "*"], ["30", "30-39", "*"], ["99", "90-99", "*"]]


@pytest.mark.parametrize(
    ("label", "held", "loss"),
    [
        ("20", {"20"}, 0.0),
        ("20-29", {"20", "24"}, 0.4),  # of the hierarchy
        ("20-30", {"20", "24", "30"}, 1.0),
        ("[20, 24]", {"20", "24"}, 0.4),
        ("*", {"20", "24", "30"}, 1.0),  # what the data does not have, nobody is taken for
    ],
)
def test_labels_of_numbers(label: str, held: set[str], loss: float) -> None:
    ages = Labels("age", AGES, ["20", "24", "30", "30"], numeric=True)
    assert ages.held(label) == held
    assert ages.loss(label) == loss


def test_labels_of_sets() -> None:
    towns = Labels(
        "town",
        [["Oslo", "East", "*"], ["Moss", "East", "*"], ["Voss", "*", "*"]],
        ["Oslo", "Moss", "Voss"],
        numeric=False,
    )
    assert towns.loss("East") == towns.loss("Oslo,Moss") == towns.loss("{Moss, Oslo}") == 0.5
    assert towns.written("Oslo,Moss") == "{Moss, Oslo}"
    assert (towns.loss("Voss"), towns.loss("*")) == (0.0, 1.0)
    towns = Labels("town", [], ["Oslo", "Oslo (county)"], numeric=False)
    assert towns.written("Oslo (county),Oslo") == '{Oslo, "Oslo (county)"}'
    assert towns.loss('{Oslo, "Oslo (county)"}') == 1.0
    with pytest.raises(Unreadable, match="town: 'Rome' is no label"):
        towns.held("Rome")
    with pytest.raises(ValueError, match="could not be told from a set"):
        Labels("town", [], ["Oslo, East"], numeric=False)


@pytest.mark.parametrize(
    ("question", "method"),
    [
        (LEVELS[0], {"scheme": "level", "suppression": 0.0}),
        (LEVELS[1], {"scheme": "level", "suppression": 0.01}),
        (GROUPS, {"name": "mondrian"}),
    ],
)
def test_what_is_read_from_a_release_of_ours_is_what_it_says(
    contest: Contest, question: Question, method: dict[str, Any], tmp_path: Path
) -> None:
    spec = rf.Spec(attributes=question.attributes(contest), privacy={"k": 5}, method=method).at(contest.folder)
    release = rf.anonymize(contest.table(), spec)
    pyarrow.csv.write_csv(release.table, tmp_path / "release.csv")
    reading = read(tmp_path / "release.csv", contest)
    assert reading.glm == pytest.approx(release.metrics["gcp" if question.labels else "glm"], abs=0.01)
    assert (reading.dm, reading.gone) == (release.metrics["dm"], release.metrics["suppressed"])
    assert judge(reading, contest, question.spec(contest)) == "holds"


def test_a_release_that_breaks_its_promise_is_told(contest: Contest, tmp_path: Path) -> None:
    pyarrow.csv.write_csv(contest.table(), tmp_path / "release.csv")
    reading = read(tmp_path / "release.csv", contest)
    assert (reading.glm, reading.gone, reading.smallest) == (0.0, 0, 1)
    assert "k" in judge(reading, contest, GROUPS.spec(contest))


def test_groups_with_their_numbers_are_rows(contest: Contest, tmp_path: Path) -> None:
    header = ",".join([*contest.quasi, "count"])
    (tmp_path / "release.csv").write_text(f"{header}\n{','.join(['*'] * 5)},{ROWS - 10}\n")
    reading = read(tmp_path / "release.csv", contest)
    assert reading == Reading({("*",) * 5: ROWS - 10}, 1.0, (ROWS - 10) ** 2 + 10 * ROWS, 10)


def test_a_tool_that_fails_is_shown_with_its_reason(contest: Contest, tmp_path: Path) -> None:
    missing = Contestant("anjana", "anjana", ("ringfence",))  # in our environment, where it is not
    failed = Bench().run(missing, {"folder": str(contest.folder), "quasi": contest.quasi}, tmp_path)
    assert failed == {"failed": "ModuleNotFoundError: No module named 'anjana'"}


def test_a_tool_that_could_not_be_installed_is_shown_so(tmp_path: Path) -> None:
    bench = Bench(environments=tmp_path)
    (tmp_path / "gone").mkdir()
    (tmp_path / "gone" / ".ready").write_text("gone==1\npip: ERROR: No matching distribution found for gone==1")
    failed = bench.run(Contestant("gone", "anjana", ("gone==1",)), {}, tmp_path)
    assert failed["failed"].startswith("could not be installed: pip: ERROR: No matching distribution")

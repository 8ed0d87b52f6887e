"""Public means the release alone: no byte of what is published depends on what was suppressed, or lies behind labels.

Values that stand nowhere else, canaries, are put into identifiers, into rows that are suppressed and into cells that
are generalized, and looked for in every file, as it is and unpacked.
"""

import struct
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import ringfence as rf
from ringfence import api
from tests.pages import unpacked

SHOWN = 12
HIDDEN_TOWNS = ["Qsandnes", "Qtromso"]
INSIDE = [4731001, 4731003, 4731007]
"""Heights between the ends of the one range that is published."""
ENDS = [4700000, 4800000]

# The last two rows are suppressed: one misses its height, the other's town lies beyond every boundary.
PEOPLE = pa.table(
    {
        "name": [f"Qname{i}" for i in range(SHOWN + 2)],
        "height": [ENDS[0], *INSIDE * 3, *ENDS, None, 4999931],
        "town": [*(HIDDEN_TOWNS * SHOWN)[:SHOWN], "Qlost", "Qdrowned"],
        "illness": [*(["gout", "lupus", "asthma"] * SHOWN)[:SHOWN], "Qpox", "Qplague"],
        "letter": [*("abcdefghijkl"[:SHOWN]), "Qomega", "Qkappa"],
    }
)
CANARIES: list[Any] = [
    *PEOPLE["name"].to_pylist(),
    "Qlost",
    "Qdrowned",
    "Qpox",
    "Qplague",
    "Qomega",
    "Qkappa",
    "Qatlantis",
]
CANARIES += [4999931]
HEIGHT: dict[str, Any] = {"role": "quasi", "hierarchy": {"intervals": [1000000], "from": 4000000}}
TOWN: dict[str, Any] = {
    "role": "quasi",
    "hierarchy": {"tree": {"Norway": ["Qlost", *HIDDEN_TOWNS], "Qatlantis": ["Qdrowned"]}},
}
BOUND = {**TOWN, "boundary": ["Norway", "Qatlantis"]}
PLAIN_HEIGHT = {"role": "quasi", "order": "numeric"}
GROUPS = {
    "cluster": {},
    "mondrian": {},
    "hilbert": {"representation": "range"},
    "local": {"representation": "range"},
    "ring": {"representation": "range"},
}


def spec_of(method: dict[str, Any], **attributes: dict[str, Any]) -> rf.Spec:
    """A specification by which the first rows are published alike, and the others not at all."""
    roles = {"name": {"role": "identifier"}, "illness": {"role": "sensitive"}, "letter": {"role": "insensitive"}}
    return rf.Spec(
        data={"missing": "suppress"},
        attributes={**roles, **attributes},
        privacy={"k": SHOWN},
        method=method,
    )


CASES: dict[str, tuple[rf.Spec, list[Any]]] = {
    "levels": (
        spec_of({"name": "levels", "levels": {"height": 1, "town": 1}, "suppression": 1}, height=HEIGHT, town=TOWN),
        [*HIDDEN_TOWNS, *INSIDE, *ENDS],
    ),
    "level": (spec_of({"scheme": "level"}, height=HEIGHT, town=BOUND), [*HIDDEN_TOWNS, *INSIDE, *ENDS]),
    "masked": (
        spec_of(
            {"name": "levels", "levels": {"height": 1, "town": 1}, "suppression": 1, "keep_suppressed": True},
            height=HEIGHT,
            town=TOWN,
        ),
        [*HIDDEN_TOWNS, *INSIDE, *ENDS],
    ),
    "cut": (spec_of({"scheme": "cut"}, height=HEIGHT, town=BOUND), [*HIDDEN_TOWNS, *INSIDE]),
    "ordered": (spec_of({"scheme": "ordered"}, height=PLAIN_HEIGHT, town=BOUND), INSIDE),
    **{name: (spec_of({"name": name, **how}, height=HEIGHT, town=BOUND), INSIDE) for name, how in GROUPS.items()},
    **{
        f"{name} sets": (spec_of({"name": name, "representation": "set"}, height=PLAIN_HEIGHT, town=BOUND), INSIDE)
        for name in ("mondrian", "hilbert", "local", "ring")
    },
}


def bytes_of(canary: Any) -> list[bytes]:
    """The ways in which a file may hold a value."""
    if isinstance(canary, str):
        return [canary.encode(), canary.encode("utf-16-le")]
    return [str(canary).encode(), struct.pack("<q", canary), struct.pack("<i", canary), struct.pack("<d", canary)]


def found(folder: Path, canaries: list[Any]) -> list[tuple[str, Any]]:
    """Which canaries are in which files of a folder, whatever these are."""
    holds = []
    for path in sorted(folder.rglob("*")):
        content = unpacked(path) if path.suffix == ".parquet" else path.read_bytes()
        holds += [(path.name, canary) for canary in canaries if any(form in content for form in bytes_of(canary))]
    return holds


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_nothing_public_holds_what_is_not_published(case: str, suffix: str, tmp_path: Path) -> None:
    spec, behind_labels = CASES[case]
    if suffix == "csv":
        pyarrow.csv.write_csv(PEOPLE, tmp_path / "people.csv")
    else:
        pq.write_table(PEOPLE, tmp_path / "people.parquet")
    parts = spec.model_dump(by_alias=True, exclude_unset=True)
    spec = rf.Spec(**{**parts, "data": {**parts["data"], "source": f"people.{suffix}"}}).at(tmp_path)
    release = api.run(spec, tmp_path / "out", report=case == "level")
    assert release.metrics["rows"] == SHOWN
    public = (tmp_path / "out/public").resolve()
    assert found(public, CANARIES + behind_labels) == []
    assert found(public, ["asthma"]) != [], "what is published is not found either"
    saved = rf.anonymize(PEOPLE, spec).save(tmp_path / "saved", suffix, report=False)
    assert found(saved.parent.resolve(), CANARIES + behind_labels) == []
    if "ring" in case or "sets" in case or case in ("mondrian", "hilbert", "local"):
        assert (public / "typed.parquet").exists() == (suffix == "parquet")


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_categories_without_rows_are_not_published(suffix: str, tmp_path: Path) -> None:
    coded = PEOPLE.set_column(4, "letter", PEOPLE["letter"].dictionary_encode())
    coded = coded.set_column(3, "illness", PEOPLE["illness"].dictionary_encode())
    saved = rf.anonymize(coded, CASES["level"][0]).save(tmp_path, suffix, report=False)
    assert found(saved.parent.resolve(), CANARIES) == []


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_neither_table_of_anatomy_holds_more_than_it_publishes(suffix: str, tmp_path: Path) -> None:
    attributes = {
        "name": {"role": "identifier"},
        "height": PLAIN_HEIGHT,
        "town": {"role": "quasi"},
        "illness": {"role": "sensitive"},
        "letter": {"role": "insensitive"},
    }
    people = PEOPLE.slice(0, SHOWN + 1)
    spec = rf.Spec(data={"missing": "suppress"}, attributes=attributes, privacy={"l": 2}, method={"name": "anatomy"})
    saved = rf.anonymize(people, spec).save(tmp_path, suffix, report=False)
    assert saved.with_name(f"sensitive.{suffix}").exists()
    assert found(saved.parent.resolve(), [*people["name"].to_pylist(), "Qlost", "Qomega", "Qpox"]) == []
    assert ("sensitive" + saved.suffix, "asthma") in found(saved.parent.resolve(), ["asthma"])


@pytest.mark.parametrize("file_format", ["csv", "parquet", "dat", "spmf"])
def test_baskets_hold_no_item_below_their_labels(file_format: str, tmp_path: Path) -> None:
    number, canaries = (file_format in ("dat", "spmf")), ["771101", "771102", "771103", "771104"]
    tree = {"771000": canaries, "Qnever" if not number else "772000": ["660001"]}
    baskets = pa.table({"items": [["660001", canaries[i % 4]] for i in range(8)]})
    spec = rf.Spec(
        attributes={"items": {"role": "items", "separator": " ", "hierarchy": {"tree": tree}}},
        privacy={"k": 3, "m": 2},
        method={"name": "itemsets"},
    )
    saved = rf.anonymize(baskets, spec).save(tmp_path, file_format, report=False)
    assert found(saved.parent.resolve(), canaries) == []
    assert (saved.name, "660001") in found(saved.parent.resolve(), ["660001"])


def test_pages_are_unpacked(tmp_path: Path) -> None:
    """What is looked for in vain above would be found if it were there: in pages, dictionaries and statistics."""
    path = tmp_path / "leak.parquet"
    duckdb.execute("CREATE TYPE kinds AS ENUM ('kept', 'Qgone')")
    columns = "'kept'::kinds AS kind, repeat('Qlong', 500) || i AS text, 4731001 + 0 * i AS number"
    duckdb.execute(f"COPY (SELECT {columns} FROM range(3000) t(i)) TO '{path}' (FORMAT parquet, COMPRESSION zstd)")
    assert "Qgone" not in str(pq.read_table(path).to_pylist())
    assert {canary for _, canary in found(tmp_path, ["Qgone", "Qlong" * 500 + "2999", 4731001, "Qnever"])} == {
        "Qgone",
        "Qlong" * 500 + "2999",
        4731001,
    }

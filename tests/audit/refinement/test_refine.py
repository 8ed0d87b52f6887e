"""The attack `refinement` as one asks for it: on rings, and where there is nothing to read."""

import pyarrow as pa
import pytest

import ringfence as rf
from ringfence.errors import DataError

ORIGINAL = pa.table({"age": [20, 30, 40], "town": ["Oslo", "Rome", "Paris"]})
RELEASE = pa.table(
    {"age": ["[20, 30]", "[30, 40]", "{20, 40}"], "town": ["{Oslo, Rome}", "{Paris, Rome}", "{Oslo, Paris}"]}
)
AGE, TOWN = {"role": "quasi", "order": "numeric", "representation": "set"}, {"role": "quasi"}


def asked(**privacy: int) -> rf.Spec:
    """A specification of rings of the three."""
    return rf.Spec(attributes={"age": AGE, "town": TOWN}, privacy={"k": 2, **privacy}, method={"name": "ring"})


def test_three_people_come_out_of_their_ring() -> None:
    found = rf.audit(RELEASE, asked(), ORIGINAL, attacks="refinement").refinement
    assert found is not None
    assert (found.rows, found.plain, found.rebuilt, found.right, found.unique, found.alone) == (3, 0, 3, 3, 3, 3)


def test_without_the_original_the_promise_is_left_open() -> None:
    verdict = rf.audit(RELEASE, asked(), attacks="refinement")
    assert verdict.refinement is not None
    assert verdict.refinement.rebuilt == 3
    assert verdict.refinement.right is None
    assert (verdict.ok, verdict.findings) == (False, ())
    assert "needs the original" in verdict.unjudged[0]
    assert "whole rows can be put together again" in str(verdict)


def test_rings_that_are_wrong_about_people_are_counted() -> None:
    other = ORIGINAL.set_column(1, "town", pa.array(["Rome", "Oslo", "Paris"]))
    found = rf.audit(RELEASE, asked(), other, attacks="refinement").refinement
    assert found is not None
    assert (found.rebuilt, found.right) == (3, 1)


def test_what_cannot_be_refined_is_refused() -> None:
    spec = rf.Spec(
        attributes={"age": AGE, "town": TOWN, "ill": {"role": "sensitive"}},
        privacy={"k": 2, "l": 2},
        method={"name": "ring"},
    )
    table = RELEASE.append_column("ill", pa.array(["flu", "gout", "cold"]))
    with pytest.raises(DataError, match="of rings those that are cut"):
        rf.audit(table, spec, ORIGINAL.append_column("ill", table["ill"]), attacks="refinement")

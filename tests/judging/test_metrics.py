"""Every loss on one small table, computed by hand."""

import pyarrow as pa
import pytest

from ringfence.methods import decide
from ringfence.search.decision import Decision
from ringfence.search.progress import Watch
from ringfence.spec import Spec
from tests.tables import count

# age in intervals of ten; job in two groups, with a leaf `judge` that nobody in the data has
TABLE = pa.table(
    {
        "age": [21, 23, 29, 35, 41],
        "job": ["nurse", "nurse", "doctor", "cook", "cook"],
        "pay": ["low", "low", "high", "low", "high"],
    }
)
JOBS = {"health": ["nurse", "doctor"], "other": ["cook", "judge"]}


def release(levels: dict[str, int], *, k: int = 2, age_weight: float = 1, job_weight: float = 1) -> Decision:
    """Publish the table at some levels."""
    spec = Spec(
        attributes={
            "age": {"role": "quasi", "hierarchy": {"intervals": [10]}, "weight": age_weight},
            "job": {"role": "quasi", "hierarchy": {"tree": JOBS}, "weight": job_weight},
            "pay": {"role": "sensitive"},
        },
        privacy={"k": k},
        method={"name": "levels", "levels": levels, "suppression": 1, "target": "pay"},
    )
    return decide(count(TABLE, spec), spec, Watch())


def test_nothing_suppressed() -> None:
    # [20, 30) and health for the first three; everybody else at * would be needed, so take the top level of age:
    # classes {nurse, nurse, doctor} and {cook, cook}.
    metrics = release({"age": 2, "job": 1}).metrics
    assert metrics["suppressed"] == 0
    assert metrics["classes"] == 2
    assert metrics["dm"] == 3**2 + 2**2
    assert metrics["aecs"] == 5 / (2 * 2)
    # age: * covers 21 to 41, the whole width: 1. job: a group covers two of four leaves: (2 - 1)/(4 - 1).
    assert metrics["glm"] == pytest.approx((1 + 1 / 3) / 2)
    # the same width; two of four leaves: 2/4.
    assert metrics["ncp"] == pytest.approx((1 + 1 / 2) / 2)
    # age: all five values, (5 - 1)/(5 - 1). job: health covers two of the three values in the data, other one of them.
    assert metrics["gcp"] == pytest.approx((1 + (3 * 1 / 2 + 2 * 0) / 5) / 2)
    # age: the root over a tree of height 2. job: groups of height 1 over 2.
    assert metrics["ntil"] == pytest.approx((1 + 1 / 2) / 2)
    # age: every row is confused with all four others: 1 each. job: a nurse with the one doctor of three others (1/3),
    # the doctor with two nurses of four others (2/4), the cooks with nobody.
    assert metrics["hdm"] == pytest.approx((5 * 1 + 2 * 1 / 3 + 1 / 2) / 2)
    # first class low, low, high: one in the minority; second low, high: one.
    assert metrics["ce"] == pytest.approx(2 / 5)


def test_suppressed_rows_cost_everything() -> None:
    # [20, 30) and health hold three rows; [30, 40) and [40, 50) one each, which go.
    metrics = release({"age": 1, "job": 1}).metrics
    assert metrics["suppressed"] == 2
    assert metrics["classes"] == 1
    assert metrics["dm"] == 3**2 + 2 * 5
    assert metrics["aecs"] == 5 / (1 * 2)
    # [20, 30) covers the ages 21 to 29 of the data, 8 of 20 years.
    assert metrics["glm"] == pytest.approx((3 * (8 / 20 + 1 / 3) / 2 + 2) / 5)
    assert metrics["ncp"] == pytest.approx((3 * (8 / 20 + 1 / 2) / 2 + 2) / 5)
    # age: three of five values, 2/4. job: two of three, 1/2.
    assert metrics["gcp"] == pytest.approx((3 * (1 / 2 + 1 / 2) / 2 + 2) / 5)
    assert metrics["ntil"] == pytest.approx((3 * (1 / 2 + 1 / 2) / 2 + 2) / 5)
    # age: each of the three is confused with two of four others.
    assert metrics["hdm"] == pytest.approx((3 * 1 / 2 + 2 * 1 / 3 + 1 / 2) / 2 + 2)
    assert metrics["ce"] == pytest.approx((1 + 2) / 5)


def test_weights_count_in_glm_ncp_and_hdm_only() -> None:
    plain, weighted = release({"age": 2, "job": 1}).metrics, release({"age": 2, "job": 1}, job_weight=3).metrics
    assert weighted["glm"] == pytest.approx((1 + 3 * 1 / 3) / 4)
    assert weighted["ncp"] == pytest.approx((1 + 3 * 1 / 2) / 4)
    assert weighted["hdm"] == pytest.approx((5 * 1 + 3 * (2 * 1 / 3 + 1 / 2)) / 4)
    for name in ("dm", "aecs", "gcp", "ntil", "ce"):
        assert weighted[name] == plain[name]


def test_a_domain_of_one_value_loses_nothing() -> None:
    table = pa.table({"age": [30, 30], "sex": ["f", "f"]})
    spec = Spec(
        attributes={
            "age": {"role": "quasi", "hierarchy": {"intervals": [10]}},
            "sex": {"role": "quasi", "hierarchy": "flat"},
        },
        privacy={"k": 2},
        method={"name": "levels", "levels": {"age": 2, "sex": 1}},
    )
    metrics = decide(count(table, spec), spec, Watch()).metrics
    assert {name: metrics[name] for name in ("glm", "gcp", "hdm")} == {"glm": 0, "gcp": 0, "hdm": 0}

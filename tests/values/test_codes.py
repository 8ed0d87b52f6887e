"""Systems of codes: the groups that each code is in, told twice, by the builder and by the audit."""

import random
from collections.abc import Iterator
from typing import Any, get_args

import pyarrow as pa
import pytest

import ringfence as rf
from ringfence.audit.labels.codes import groups_of, is_group
from ringfence.errors import DataError, SpecError
from ringfence.spec.hierarchies import CodeSystem
from ringfence.spec.regions import CONTINENTS, REGIONS
from ringfence.values.codes import SYSTEMS, looks_like_group

KNOWN: dict[CodeSystem, dict[str, tuple[str, ...]]] = {
    "icd10": {
        "E11.9": ("E11.-", "E10-E19", "E00-E99"),
        "E119": ("E11.-", "E10-E19", "E00-E99"),
        "I10": ("I10.-", "I10-I19", "I00-I99"),
        "d48.1": ("D48.-", "D40-D49", "C00-D49"),
        "D50.0": ("D50.-", "D50-D59", "D50-D99"),
        "H59": ("H59.-", "H50-H59", "H00-H59"),
        "H60": ("H60.-", "H60-H69", "H60-H99"),
        "C7A.0": ("C7A.-", "C70-C79", "C00-D49"),
        "W19": ("W19.-", "W10-W19", "V00-Y99"),
        "T14.9": ("T14.-", "T10-T19", "S00-T99"),
        "E1": (),
        "11.9": (),
        "flu": (),
        "E11.": (),
    },
    "atc": {
        "A10BA02": ("A10BA**", "A10B***", "A10****", "A******"),
        "A10B": ("A10B***", "A10****", "A******"),
        "N": ("N******",),
        "E10BA02": (),
        "A10BA0": (),
    },
    "nuts": {"DE212": ("DE21*", "DE2**", "DE***"), "DE": ("DE***",), "NO0A": ("NO0A*", "NO0**", "NO***"), "de212": ()},
    "isco": {"2512": ("251*", "25**", "2***"), "0110": ("011*", "01**", "0***"), "25": ("25**", "2***"), "x": ()},
    "countries": {
        "NO": ("Northern Europe", "Europe"),
        "PER": ("South America", "America"),
        "united-states": ("Northern America", "America"),
        "Trinadad&Tobago": ("Caribbean", "America"),
        "Narnia": (),
    },
    "ipv4": {"192.0.2.17": ("192.0.2.0/24", "192.0.0.0/16", "192.0.0.0/8"), "1.2.3.256": (), "1.2.3": ()},
    "uk-postcode": {
        "SW1A 1AA": ("SW1A 1**", "SW1A ***", "SW* ***"),
        "m11ae": ("M1 1**", "M1 ***", "M* ***"),
        "47906": (),
    },
}


@pytest.mark.parametrize(
    ("system", "code", "above"),
    [(system, code, above) for system, codes in KNOWN.items() for code, above in codes.items()],
)
def test_the_groups_of_a_code(system: CodeSystem, code: str, above: tuple[str, ...]) -> None:
    assert (SYSTEMS[system].above(code) or ()) == above
    assert tuple(groups_of(code, system)) == above


def candidates() -> Iterator[str]:
    """Texts that may be codes of some system, or nearly."""
    draw = random.Random(24)
    for _ in range(20_000):
        yield "".join(draw.choice("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.*-/ ae_") for _ in range(draw.randint(1, 8)))
    for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ":
        for i in range(100):
            yield from (f"{letter}{i:02}", f"{letter}{i:02}.{i % 10}", f"{letter}{i:02}AB{i:02}")
    for called in REGIONS.values():
        for name in called:
            yield from (name, name.upper().replace(" ", "-"))
    for _ in range(500):
        yield ".".join(str(draw.randint(0, 300)) for _ in range(4))
        yield f"{draw.choice('ABS')}{draw.choice(['', 'W', '1'])}{draw.randint(0, 99)} {draw.randint(0, 9)}AA"


def test_the_audit_reads_codes_as_they_were_built() -> None:
    found = dict.fromkeys(SYSTEMS, 0)
    for code in candidates():
        for system, given in SYSTEMS.items():
            above = given.above(code) or ()
            assert tuple(groups_of(code, system)) == above, (system, code)
            found[system] += bool(above)
            assert all(is_group(label, system) and looks_like_group(label, system) for label in above)
            assert not above or not is_group(code, system)
    assert min(found.values()) > 100
    assert set(SYSTEMS) == set(get_args(CodeSystem))


def test_every_country_is_in_one_region() -> None:
    names = [name.casefold() for called in REGIONS.values() for name in called]
    assert len(names) == len({*names})
    assert sorted(REGIONS) == sorted(region for regions in CONTINENTS.values() for region in regions)


def spec_of(system: str, method: str = "optimal", **more: Any) -> rf.Spec:
    """A specification of a column of codes."""
    attributes = {"code": {"role": "quasi", "hierarchy": {"codes": system}, **more}}
    return rf.Spec(attributes=attributes, privacy={"k": 2}, method={"name": method})


@pytest.mark.parametrize("method", ["optimal", "local", "cluster"])
def test_a_release_of_codes_passes_its_audit(method: str) -> None:
    codes = ["E11.9", "E11.9", "E11.0", "I10", "I21.9", "unknown", "unknown", "E11", None, None]
    spec = spec_of("icd10", method)
    table = pa.table({"code": codes})
    release = rf.anonymize(table, spec)
    assert release.audit.ok
    assert rf.audit(release.table, spec, table).ok
    if method == "optimal":
        assert {*release.table["code"].to_pylist()} <= {"E11.-", "E10-E19", "E00-E99", "I00-I99", "*", "unknown", None}


def test_the_audit_refuses_labels_past_a_boundary() -> None:
    spec = spec_of("icd10", boundary=["E10-E19"])
    original = pa.table({"code": ["E11.9", "E11.0", "I10", "I21.9"]})
    assert rf.audit(pa.table({"code": ["E10-E19", "E10-E19", "I00-I99", "I00-I99"]}), spec, original).ok
    assert not rf.audit(pa.table({"code": ["E00-E99", "E00-E99", "I00-I99", "I00-I99"]}), spec, original).ok
    assert not rf.audit(pa.table({"code": ["I00-I99", "I00-I99", "E10-E19", "J10-J19"]}), spec, original).ok
    flat = spec_of("icd10", boundary={"level": 0})
    assert not rf.audit(pa.table({"code": ["E11.-", "E11.-"]}), flat).ok


def test_columns_without_such_codes_are_refused_by_name() -> None:
    with pytest.raises(DataError, match=r"no ICD-10 codes such as 'E11.9', but 'cold' .*, 'flu'"):
        rf.anonymize(pa.table({"code": ["flu", "cold"]}), spec_of("icd10"))
    with pytest.raises(DataError, match=r"look like groups of country codes.* 'Asia' \(1 row\)"):
        rf.anonymize(pa.table({"code": ["Japan", "Asia"]}), spec_of("countries"))
    with pytest.raises(SpecError, match="'icd10', 'atc'"):
        spec_of("icd-11")
    with pytest.raises(SpecError, match="codes, which are text"):
        spec_of("isco", order="numeric")

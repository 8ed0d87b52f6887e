"""What an audit refuses to judge, before it looks at a row: to pass over a promise would be to vouch for it."""

import ibis

from ringfence.audit.attacks.carry_out import row_by_row
from ringfence.audit.trace.ring_matches import has_rings
from ringfence.errors import DataError, SpecError
from ringfence.spec import Spec


def refuse_unjudged(spec: Spec, has_original: bool, has_population: bool, corrupted: int, refined: bool) -> None:
    """Refuse promises that are not judged yet, or not without the original: to pass over them would be to vouch."""
    if spec.data.entity is not None and (has_population or corrupted):
        raise SpecError(row_by_row(spec))
    for key in ("k_map", "presence"):
        if getattr(spec.privacy, key) is not None and not has_population:
            raise DataError(f"privacy.{key} could not be judged: it needs a table of the population")
    if corrupted < 0:
        raise SpecError(f"corrupted = {corrupted}: allowed: how many rows the adversary knows, from 0 on")
    if corrupted and not has_original:
        raise DataError("what known rows give away could not be judged: it needs the original")
    if has_rings(spec):
        if not has_original and not refined:
            raise DataError(
                "a release of the method 'ring' could not be judged: its rows have no classes, and who could be who is"
                " seen only beside the original; give the original, or set method.homogeneous = true if it has classes"
            )
        kinds = {part.kind for part in spec.diversities()} - {"distinct"}
        others = {"privacy.t": bool(spec.closenesses()), "privacy.p": spec.privacy.p is not None}
        others |= {f"privacy.{key}": True for key in spec.bounds()}
        others |= {"privacy.presence": spec.privacy.presence is not None}
        for key in [key for key, asked in others.items() if asked] + [f"privacy.l of kind {kind!r}" for kind in kinds]:
            raise SpecError(f"{key} cannot be judged for the method 'ring', which promises k and distinct l")


def second_table(values: ibis.Table | None, population: ibis.Table | None, other: ibis.Table | None) -> ibis.Table:
    """Return the second of the two tables of Anatomy, which are not judged by other tables than their original."""
    if population is not None or other is not None:
        raise DataError("the two tables of the method 'anatomy' are judged by themselves and by their original only")
    if values is None:
        raise DataError("a release of the method 'anatomy' is two tables; the one of sensitive values is missing")
    return values

"""What a method is: its traits, what it refuses, and what decides.

Declarations are light: whatever a method computes with is imported when it decides, so that a specification can be
checked, and the methods be listed, before any of them is loaded.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ringfence.declared import METHODS, MethodTraits
from ringfence.errors import SpecError

if TYPE_CHECKING:
    from ringfence.search.decision import Decision
    from ringfence.spec import Spec

WHATEVER = ("suppression", "time_limit")
"""Keys of [method] that every method which may suppress rows looks at."""


def _refuse_nothing(spec: "Spec", force: bool = False) -> None:
    """Take any specification."""


@dataclass(frozen=True, kw_only=True)
class Method(MethodTraits):
    """A method.

    `decides` takes what was counted (a census, or the baskets where they are all there is), the specification, and a
    watch that is told how far it is; and where it `goes_on`, plans to begin with. `check_promise` refuses promises that
    no release of the method could keep, also of one that is only to be judged; `check_run` refuses what the method
    cannot do, unless forced.
    """

    decides: "Callable[..., Decision]"
    check_promise: "Callable[[Spec], None]" = _refuse_nothing
    check_run: "Callable[[Spec, bool], None]" = _refuse_nothing


def named(name: str) -> Method:
    """Return a method by its name."""
    method = METHODS[name]
    assert isinstance(method, Method), "whatever is declared as a method can decide"
    return method


def check_grouping(spec: "Spec", force: bool = False) -> None:  # noqa: ARG001
    """Refuse what a method that decides on groups of rows cannot promise."""
    method = spec.method.traits
    for part in spec.diversities():
        if part.kind not in method.kinds:
            raise SpecError(
                f"privacy.l with kind = {part.kind!r}: the method {method.name!r} promises k, p and distinct l"
            )
    if spec.closenesses() and "t" not in method.promises:
        raise SpecError(f"privacy.t: the method {method.name!r} promises k, p and distinct l; allowed: no t")
    if spec.method.keep_suppressed:
        raise SpecError(f"method.keep_suppressed = true: the method {method.name!r} drops the rows that it suppresses")

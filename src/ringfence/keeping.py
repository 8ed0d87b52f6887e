"""What was made of a specification is kept for the next job of the process: much of what is small, little of what is
large. A server that meets another large hierarchy in every job does not hold them all."""

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, TypeVar, cast

SMALL, LARGE = 50, 4
"""How many results are kept that are small, and how many that are not."""
Function = TypeVar("Function", bound=Callable[..., Any])


def kept_up_to(longest: int) -> Callable[[Function], Function]:
    """Keep what a function has lately returned, by all that it was given; whoever gets it must not change it. It is
    small where the first thing given is no longer than `longest`.

    >>> made = []
    >>> shout = kept_up_to(10)(lambda text: made.append(text) or text.upper())
    >>> shout("a"), shout("a"), made
    ('A', 'A', ['a'])
    """

    def keeping(make: Function) -> Function:
        small, large = lru_cache(SMALL)(make), lru_cache(LARGE)(make)

        @wraps(make)
        def made(first: Any, *beside: Any) -> Any:
            return (small if len(first) <= longest else large)(first, *beside)

        return cast(Function, made)

    return keeping

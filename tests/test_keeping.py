"""What is kept for the next job: many small results, few large ones."""

import gc
import weakref

from ringfence import keeping
from ringfence.keeping import kept_up_to


class Tree:
    """Something that can be seen to go."""


def test_few_large_results_are_kept_and_many_small_ones() -> None:
    made: list[weakref.ref[Tree]] = []

    @kept_up_to(3)
    def tree(name: str, missing: bool) -> Tree:  # noqa: ARG001
        made.append(weakref.ref(new := Tree()))
        return new

    for longest in (3, 4):
        made.clear()
        names = [f"{number:0{longest}d}" for number in range(2 * keeping.SMALL)]
        for name in names:
            assert tree(name, False) is tree(name, False)
        gc.collect()
        assert len(made) == len(names)
        there = [name for name, each in zip(names, made, strict=True) if each() is not None]
        assert there == names[-(keeping.SMALL if longest == 3 else keeping.LARGE) :]
        assert tree(names[-1], True) is not tree(names[-1], False)

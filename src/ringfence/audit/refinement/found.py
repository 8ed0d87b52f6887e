"""What a refinement has found, in figures and in words."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Refinement:
    """What comes out of the labels of a release alone: rows, values, and how much is left to guess.

    `plain` rows show every quasi-identifier as it is. Of the others, `rebuilt` have values in all of them that are
    certain, although labels hide them. `cells` are those that are generalized, `determined` those of them in columns of
    a class of which all values are certain, though not always whose they are; `present` are the values that some row
    of a class must have. `before` and `left` are the bits that tell which values the rows of a class have under a
    label: without knowing that labels are tight, and knowing it. With the original, `right` are the rows of `rebuilt`
    that it has, and `unique` the people among them whom it has once, of `alone` such people in all.

    `assumed` says that labels may be no tighter than the whole table made them. Of rings, `looked_at` of the rows were
    searched.
    """

    rows: int
    plain: int
    rebuilt: int
    cells: int = 0
    determined: int = 0
    present: int = 0
    before: float | None = None
    left: float | None = None
    right: int | None = None
    unique: int | None = None
    alone: int | None = None
    assumed: bool = False
    looked_at: int | None = None

    @property
    def sentences(self) -> tuple[str, ...]:
        """The same in words."""
        told = []
        if self.assumed:
            told.append(
                "If labels were made for each class by itself, which they are not where values are recoded alike:"
            )
        told.append(
            f"{_rows(self.plain, self.rows)} show all quasi-identifiers as they are;"
            f" of the others, {_rows(self.rebuilt, self.rows)} come out exactly."
        )
        if self.right is not None and self.rebuilt:
            told.append(
                f"{self.right:,} of these are rows of the original; {self.unique:,} of {self.alone:,} people whom it"
                " has once are among them."
            )
        if self.cells:
            told.append(
                f"Of {self.cells:,} generalized cells, {self.determined:,} are in columns of a class whose values are"
                f" all certain; {self.present:,} values are proven to be in their class."
            )
        if self.before is not None and self.left is not None:
            told.append(
                f"Which values the rows of a class have under a label takes {self.left:.2f} bits to tell,"
                f" of {self.before:.2f} that it seems."
            )
        if self.looked_at is not None and self.looked_at < self.rows:
            told.append(f"A seeded sample of {self.looked_at:,} rows was searched.")
        return tuple(told)


def _rows(count: int, total: int) -> str:
    share = 100 * count / total if total else 0.0
    return f"{count:,} of {total:,} rows ({share:.3g} %)"

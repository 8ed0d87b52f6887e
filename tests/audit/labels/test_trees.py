"""The audit's own trees: by hand, and beside those that the searches use, which are made by other code."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringfence.audit.labels.growing import stated_tree, tree_over
from ringfence.audit.labels.reading import speller
from ringfence.audit.labels.trees import Tree
from ringfence.errors import DataError, RingfenceError, SpecError
from ringfence.spec import Spec
from ringfence.values.builders import read_domain
from ringfence.values.hierarchy import Hierarchy
from tests.audit_tables import KINDS, REGIONS


def spec_of(role: str = "quasi", **attribute: Any) -> Spec:
    """Return a specification of one attribute."""
    return Spec(attributes={"q": {"role": role, **attribute}}, privacy={"k": 1})


def paths_of(hierarchy: Hierarchy) -> dict[str | None, tuple[tuple[str | None, ...], int]]:
    """Return the path of each leaf of a hierarchy, and how many steps its ceiling is above it."""
    found = {}
    for leaf in range(hierarchy.leaves):
        path = [leaf]
        while path[-1] != hierarchy.root:
            path.append(int(hierarchy.parent[path[-1]]))
        ceiling = path.index(int(hierarchy.ceilings[leaf]))
        found[hierarchy.labels[leaf]] = tuple(hierarchy.labels[node] for node in path), ceiling
    return found


def same(spec: Spec, values: list[Any], counts: list[int] | None = None) -> None:
    """Check that both readings of a specification agree over some values, also in that there is none."""
    attribute = spec.attributes["q"]
    counts = counts or [1] * len(values)
    spell = speller(attribute)
    texts = [None if value is None else spell(value) for value in values]
    try:
        domain = read_domain("q", spec, values, counts)
    except RingfenceError:
        with pytest.raises(RingfenceError):
            tree_over("q", spec, texts, counts)
        return
    tree, leaves = tree_over("q", spec, texts, counts)
    ours = {path[0]: (path, steps) for path, steps in zip(tree.paths, tree.ceilings, strict=True)}
    assert ours == paths_of(domain.hierarchy)
    labels = domain.hierarchy.labels
    assert [tree.paths[leaf][0] for leaf in leaves] == [labels[leaf] for leaf in domain.leaves]


@given(st.data(), st.sampled_from(KINDS), st.none() | st.integers(0, 6), st.booleans())
def test_both_readings_agree_over_values(
    data: st.DataObject, kind: tuple[dict[str, Any], st.SearchStrategy[Any]], level: int | None, missing: bool
) -> None:
    attribute, values = kind
    drawn = data.draw(st.lists(values, min_size=1, max_size=12, unique=True))
    boundary: dict[str, Any] = {} if level is None else {"boundary": {"level": level}}
    same(spec_of(**attribute, **boundary), [*drawn, *[None] * missing])


@given(st.data(), st.sampled_from(KINDS))
def test_both_readings_agree_on_marks(data: st.DataObject, kind: tuple[dict[str, Any], st.SearchStrategy[Any]]) -> None:
    attribute, values = kind
    drawn = data.draw(st.lists(values, min_size=1, max_size=12, unique=True))
    try:
        hierarchy = read_domain("q", spec_of(**attribute), drawn, [1] * len(drawn)).hierarchy
    except RingfenceError:
        return
    known = sorted({label for label in hierarchy.labels if label is not None})
    marks = data.draw(st.lists(st.sampled_from(known), min_size=1, max_size=3, unique=True))
    same(spec_of(**attribute, boundary=marks), drawn)


@given(
    st.lists(st.tuples(st.text("ab1", min_size=1, max_size=2), st.integers(1, 3)), min_size=1, unique_by=lambda i: i[0])
)
def test_both_readings_agree_on_items_by_support(items: list[tuple[str, int]]) -> None:
    values, counts = [item for item, _ in items], [count for _, count in items]
    for by in ("order", "support"):
        same(spec_of("items", hierarchy={"fanout": 2, "by": by}), values, counts)


LABELS = st.sampled_from(["a", "b", "c", "x", "y", "top", "*"])


@given(st.lists(st.lists(LABELS, min_size=1, max_size=4), min_size=1, max_size=5), st.booleans())
def test_both_readings_agree_on_paths(paths: list[list[str]], missing: bool) -> None:
    values = [*dict.fromkeys(path[0] for path in paths), *[None] * missing]
    same(spec_of(hierarchy={"paths": paths}), values)


@pytest.mark.parametrize(
    ("content", "delimiter"),
    [
        ("nurse;health;*\ncook;*\n", None),
        ("\ufeffnurse,health\n\ncook,food\n", None),
        ('"a;b"|x|*\n"c"|x|*|*\n', "|"),
        ("nurse\ncook\n", None),
        ("nurse;health;work\ncook;;work\n", None),
    ],
)
def test_both_readings_agree_on_files(tmp_path: Path, content: str, delimiter: str | None) -> None:
    (tmp_path / "tree.csv").write_text(content, encoding="utf-8")
    given = {"file": "tree.csv"} | ({} if delimiter is None else {"delimiter": delimiter})
    spec = spec_of(hierarchy=given).at(tmp_path)
    tree = stated_tree("q", spec)
    assert tree is not None
    same(spec, [path[0] for path in tree.paths])


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("a;x\na;y\n", "'a' twice"),
        (";x\n", "row 1"),
        ("", "no leaves"),
        ("a;x;*\nx;y;*\n", "'x' both as a leaf"),
        ("a;x;p;*\nb;x;q;*\n", "'x' for two different groups"),
    ],
)
def test_files_that_are_no_tree(tmp_path: Path, content: str, words: str) -> None:
    (tmp_path / "tree.csv").write_text(content, encoding="utf-8")
    with pytest.raises(SpecError, match=words):
        stated_tree("q", spec_of(hierarchy={"file": "tree.csv"}).at(tmp_path))
    with pytest.raises(SpecError, match="there is no file"):
        stated_tree("q", spec_of(hierarchy={"file": "other.csv"}).at(tmp_path))


def test_boundaries_that_the_tree_does_not_have() -> None:
    with pytest.raises(SpecError, match="level 4, above its height; allowed: 0 to 3"):
        stated_tree("q", spec_of(hierarchy={"tree": REGIONS}, boundary={"level": 4}))
    with pytest.raises(SpecError, match=r"'Europa', which is not one of its labels \(did you mean 'Europe'"):
        stated_tree("q", spec_of(hierarchy={"tree": REGIONS}, boundary=["Europa"]))


def test_values_outside_the_tree() -> None:
    with pytest.raises(DataError, match=r"'Chad' \(3 rows\)"):
        tree_over("q", spec_of(hierarchy={"tree": REGIONS}), ["Peru", "Chad"], [1, 3])
    with pytest.raises(DataError, match="should hold numbers, but has 'x'"):
        tree_over("q", spec_of(hierarchy={"intervals": [5]}), ["x"], [1])
    with pytest.raises(DataError, match="should hold dates"):
        tree_over("q", spec_of(hierarchy={"dates": ["year"]}), ["2024-13-01"], [1])
    with pytest.raises(DataError, match="order does not list: 'z'"):
        tree_over("q", spec_of(hierarchy={"fanout": 2}, order=["a", "b"]), ["a", "z"], [1, 1])


def test_a_tree_by_hand() -> None:
    tree = Tree.of([("Italy", "South", "Europe", "*"), ("Norway", "Europe", "*"), ("Peru", "*")], 1, missing=True)
    assert tree.ceilings == (1, 0, 0, 0)  # of a height of three, only the deepest climb
    assert tree.held("Europe") is not None
    assert tree.held("Asia") is None
    assert tree.ceiling_labels == ["South", "Norway", "Peru", None]
    assert tree.nodes[:, 2].tolist()[2:] == [-1, -1]

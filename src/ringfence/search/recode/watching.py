"""What walks watch classes for: the models of a promise and the loss, as the kernels take them."""

import numpy as np

from ringfence.census.census import Census
from ringfence.judging.losses import cell_loss
from ringfence.judging.models import (
    DistinctDiversity,
    EntropyDiversity,
    KAnonymity,
    Model,
    Promise,
    RecursiveDiversity,
    TCloseness,
)
from ringfence.kernels.recode.class_rules import (
    CELLS,
    DISTINCT,
    ENTROPY,
    FAR_EQUAL,
    FAR_IN_TREE,
    FAR_ORDERED,
    MINORITY,
    NUMBER,
    RECURSIVE,
    SQUARES,
    Watched,
)

FAR = {"equal": FAR_EQUAL, "ordered": FAR_ORDERED}
"""Distances of t-closeness; all others are those in a tree."""


def watched_for(census: Census, promise: Promise, metric: str, target: str | None) -> Watched:
    """Return what classes are to be watched for under a promise and a metric."""
    models = [model for model in promise.models if not isinstance(model, KAnonymity)]
    names = [part.name for part in census.sensitive]
    label = names.index(target) if metric == "ce" and target is not None else -1
    parts = sorted({*(_read(model)[1] for model in models), *([label] if label >= 0 else [])})
    place = {part: number for number, part in enumerate(parts)}
    read = [_read(model) for model in models]
    sensitive = [census.sensitive[part] for part in parts]
    first = np.cumsum([0, *(part.hierarchy.leaves for part in sensitive)])
    shares = [np.bincount(part.values, part.weights, minlength=part.hierarchy.leaves) for part in sensitive]
    tuples = np.concatenate([np.empty(0, np.int64), *(part.tuples for part in sensitive)]).astype(np.int64)
    values = np.concatenate([np.empty(0, np.int64), *(p.values + s for p, s in zip(sensitive, first, strict=False))])
    weights = np.concatenate([np.empty(0, np.int64), *(part.weights for part in sensitive)])
    order = np.lexsort([values, tuples])
    return Watched(
        k=max([model.k for model in promise.models if isinstance(model, KAnonymity)]),
        kind=np.array([kind for kind, _, _, _ in read], np.int64),
        part=np.array([place[part] for _, part, _, _ in read], np.int64),
        least=np.array([least for _, _, least, _ in read], np.float64),
        factor=np.array([factor for _, _, _, factor in read], np.float64),
        first=first.astype(np.int64),
        shares=np.concatenate([np.empty(0), *(share / share.sum() for share in shares)]),
        ranks=np.concatenate([np.empty(0, np.int64), *(part.ranks for part in sensitive)]).astype(np.int64),
        root=np.cumsum([0, *(len(part.hierarchy.labels) for part in sensitive)]).astype(np.int64),
        parent=np.concatenate([np.empty(0, np.int64), *(part.hierarchy.parent for part in sensitive)]).astype(np.int64),
        height=np.concatenate([np.empty(0), *(_heights(part.hierarchy.heights) for part in sensitive)]),
        starts=np.searchsorted(tuples[order], np.arange(len(census.weights) + 1)).astype(np.int64),
        values=values[order].astype(np.int64),
        weights=weights[order].astype(np.int64),
        monotone=all(model.monotone for model in promise.models),
        entropic=any(isinstance(model, EntropyDiversity) for model in models),
        cost=_cost(metric),
        labels=place.get(label, 0),
        scale=_scale(metric, census.rows, promise.least),
    )


def tightened(watched: Watched, by: float) -> Watched:
    """Return the same with t-closeness asked for more strictly: what stays is then likelier to be close to itself."""
    return watched._replace(least=np.where(watched.kind >= FAR_EQUAL, watched.least * by, watched.least))


def _heights(heights: "np.typing.NDArray[np.int32]") -> "np.typing.NDArray[np.float64]":
    return np.asarray(heights / max(1, int(heights.max(initial=1))), np.float64)


def _read(model: Model) -> tuple[int, int, float, float]:
    """Return the kind of a model, the attribute it looks at, and what it asks for."""
    match model:
        case DistinctDiversity():
            return DISTINCT, model.attribute, float(model.least), 0.0
        case EntropyDiversity():
            return ENTROPY, model.attribute, model.least, 0.0
        case RecursiveDiversity():
            return RECURSIVE, model.attribute, float(model.least), model.c
        case TCloseness():
            return FAR.get(model.distance, FAR_IN_TREE), model.attribute, model.most, 0.0
    raise AssertionError(f"walks do not know the model {type(model).__name__}")


def _cost(metric: str) -> int:
    if cell_loss(metric) is not None or metric == "hdm":
        return CELLS
    return {"dm": SQUARES, "ce": MINORITY, "aecs": NUMBER}[metric]


def _scale(metric: str, rows: int, least: int) -> float:
    """Return what costs of classes are multiplied by, so that a row that is suppressed costs about 1."""
    return {"dm": 1 / rows, "ce": 1.0, "aecs": float(least)}.get(metric, 0.0)

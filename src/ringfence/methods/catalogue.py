"""What there is to choose from, each with a line: for the command `methods`, for reports and for the reference."""

from ringfence.declared import METHODS, METRICS, SCHEMES
from ringfence.spec.privacy import MODELS

ATTACKS = {
    "linkage": "look rows up by known quasi-identifiers",
    "homogeneity": "guess the commonest sensitive value of a class",
    "background": "rule values out, and guess by what is left",
    "minimality": "take classes to be merged only for the sake of diversity",
    "corruption": "know whose some rows are",
    "items": "know m labels of a basket",
    "intersection": "join two releases of one table",
    "refinement": "read values out of labels, from the release alone",
}


def catalogue() -> dict[str, dict[str, str]]:
    """Return all that is declared, by what it is.

    >>> catalogue()["schemes"]["cut"]
    'each value at a level of its own: a cut through the hierarchy'
    """
    return {
        "methods": {name: method.line for name, method in METHODS.items()},
        "schemes": {str(name): line for name, line in SCHEMES.items()},
        "models": {key: model.line for key, model in MODELS.items() if model.promised},
        "judged": {key: model.line for key, model in MODELS.items() if not model.promised},
        "attacks": {**ATTACKS},
        "metrics": {name: metric.line for name, metric in METRICS.items()},
    }

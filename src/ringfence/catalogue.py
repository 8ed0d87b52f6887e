"""What there is to choose from, each with a line: for the command `methods` and for the reference."""

CATALOGUE: dict[str, dict[str, str]] = {
    "methods": {
        "optimal": "the cheapest recoding of a scheme, proven",
        "levels": "publish at the levels you name",
        "cluster": "groups of similar rows within boundaries, each published as the lowest labels that cover it",
        "ring": "each row under a value of its own that covers k rows; which of k it carries is drawn at random",
        "local": "groups of rows that lose as little as an order, an optimal cut of it and annealing can make them",
        "hilbert": "groups of neighbours on a Hilbert curve, cut where that loses least",
        "mondrian": "the table cut at the median of its widest attribute, and the halves again",
        "anatomy": "two tables: quasi-identifiers as they are, with a bucket, and the l or more values of each bucket",
        "itemsets": "the cut of the item tree that makes baskets k^m-anonymous at the least loss, proven",
    },
    "schemes": {
        "level": "every value of an attribute at the same level of its hierarchy (full-domain generalization)",
        "cut": "each value at a level of its own: a cut through the hierarchy",
        "guided-ordered": "runs of neighbours, across groups of the hierarchy only where whole groups are merged",
        "guided-set": "any values of a group together, across groups only where whole groups are merged",
        "ordered": "any runs of neighbours in the attribute's order; no hierarchy needed",
        "set": "any values together; no hierarchy needed",
    },
    "models": {
        "k": "k-anonymity: each combination of published quasi-identifiers is shared by at least k rows; with"
        " data.entity, by k people",
        "l": "l-diversity: l different sensitive values in each class, or as varied as that (entropy, recursive)",
        "p": "p-sensitivity: at least p different values of every sensitive attribute in each class",
        "t": "t-closeness: sensitive values distributed in each class as in the release, within t (equal, ordered,"
        " hierarchical distance)",
        "m": "k^m-anonymity, with k: each combination of 1 to m published items is in at least k baskets, or in none",
    },
    "judged": {
        "alpha": "(alpha, k)-anonymity: no sensitive value has more than this share of a class",
        "beta": "beta-likeness: no value is much more frequent in a class than in the release (basic, enhanced)",
        "delta": "delta-disclosure privacy: the logarithm of that ratio stays below delta, both ways",
        "k_map": "k-map: each class fits at least so many people of a population (--population)",
        "presence": "delta-presence: how likely someone of the population is in the release, at least and at most",
    },
    "attacks": {
        "linkage": "look rows up by known quasi-identifiers",
        "homogeneity": "guess the commonest sensitive value of a class",
        "background": "rule values out, and guess by what is left",
        "minimality": "take classes to be merged only for the sake of diversity",
        "corruption": "know whose some rows are",
        "items": "know m labels of a basket",
        "intersection": "join two releases of one table",
    },
    "metrics": {
        "dm": "discernibility: the sum over rows of the size of their class; a suppressed row counts all rows",
        "hdm": "hierarchical discernibility: the sum over rows of the share of other values confused with theirs",
        "glm": "general loss: the mean over cells of the share of the domain that a published value covers beyond one",
        "ncp": "normalized certainty penalty: the same share, counting the value itself; 0 for a single value",
        "gcp": "global certainty penalty: as glm, over the values that occur in the data, without attribute weights",
        "ntil": "normalized total information loss: the mean height of published values in their hierarchies",
        "ce": "classification error: the share of rows suppressed, or not of the commonest label (method.target)",
        "aecs": "average class size: rows over classes times k",
    },
}

"""$rankFusion and $scoreFusion as MongoDB's manual and source have them, of lists already found."""

from math import exp

from doubles.contract_server import RefusedError, only, require

BAD = 2


def fuse_ranks(lists, given):
    only(given["input"], "pipelines")
    weights = given.get("combination", {}).get("weights", {})
    require(weights.keys() <= lists.keys() and min(weights.values()) >= 0, "weights")
    scores = {}
    for name, found in lists.items():
        values = [score for _, score in found]
        for key, score in found:
            share = weights.get(name, 1) / (60 + 1 + values.index(score))
            scores[key] = scores.get(key, 0) + share
    return _order(scores)


def fuse_scores(lists, given):
    only(given["input"], "pipelines", "normalization")
    only(given["combination"], "method", "expression")
    require(given["combination"]["method"] == "expression", "method")
    scaled = {}
    for name, found in lists.items():
        values = [score for _, score in found]
        match given["input"]["normalization"]:
            case "none":
                values = values
            case "sigmoid":
                values = [1 / (1 + exp(-score)) for score in values]
            case "minMaxScaler":
                least, most = min(values), max(values)
                values = [(it - least) / (most - least) if most > least else 0.0 for it in values]
            case other:
                raise RefusedError(BAD, f"normalization {other}")
        scaled[name] = dict(zip((key for key, _ in found), values, strict=True))
    keys = {key for found in scaled.values() for key in found}
    names = {f"$${name}": found for name, found in scaled.items()}
    expression = given["combination"]["expression"]
    return _order({key: _evaluate(expression, names, key) for key in keys})


def _evaluate(expression, names, key):
    if isinstance(expression, str):
        require(expression in names, f"Use of undefined variable: {expression}", 17276)
        return names[expression].get(key, 0.0)
    if not isinstance(expression, dict):
        return float(expression)
    ((operator, given),) = expression.items()
    values = [_evaluate(each, names, key) for each in given]
    if operator == "$add":
        return sum(values)
    require(operator in ("$multiply", "$divide") and len(values) == 2, operator)
    return values[0] * values[1] if operator == "$multiply" else values[0] / values[1]


def _order(scores):
    return sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))

"""A bound on the rate of leaks of a run without any: a run with a leak is not stored."""

from collections.abc import Mapping

from assay.eval.collections.collection import Query

RULE_OF_THREE = 3  # Hanley and Lippman-Hand, JAMA 1983: of n with none, at most 3/n at 95 %


def describe_bound(queries: Mapping[str, Query], day: str) -> str:
    """Return a sentence that bounds the rate of leaks if none was seen; "" without principals.

    `day` is the day of the run, whose permissions counted. Queries are counted, not hits: the hits
    of one query are not independent.
    """
    asked = sum(bool(query.principal) for query in queries.values())
    if not asked:
        return ""
    bound = min(1.0, RULE_OF_THREE / asked)
    return (
        f"No leak in {asked} queries with a principal, as of {day}: queries like them leak in at "
        f"most {bound:.1%} of cases (3/n, 95 %)."
    )

"""What questions can be a verdict on, made up."""

from collections.abc import Iterable

from assay.eval.collections.groups import Group
from assay.eval.runs.summary.claims import Claims


def make_claims(queries: Iterable[str], size: int = 1, touched: float = 1.0) -> Claims:
    """Return the claims of questions of which each `size` in a row share a document."""
    groups = {id_: Group("document", f"d{i // size}") for i, id_ in enumerate(queries)}
    return Claims(groups, touched)

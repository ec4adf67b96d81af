"""What questions can be a verdict on, made up."""

from assay.eval.collections.groups import Group
from assay.eval.runs.summary.claims import Claims


def make_claims(queries, size=1, touched=1.0):
    """Return the claims of questions of which each `size` in a row share a document."""
    groups = {id_: Group("document", f"d{i // size}") for i, id_ in enumerate(queries)}
    return Claims(groups, touched)

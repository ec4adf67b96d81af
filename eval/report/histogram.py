"""The tokens of chunks in words."""

from assay.eval.runs.token_counts import TokenCounts


def describe_percentiles(counts: TokenCounts) -> str:
    """Return the percentiles and the largest chunk in one line; "" without chunks."""
    found = [f"{name} {value:,.0f}" for name, value in counts.percentiles().items()]
    return ", ".join([*found, f"largest {counts.largest:,}"]) if found else ""

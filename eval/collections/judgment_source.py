"""Which judgments are a language model's, in words."""

from collections import Counter
from collections.abc import Iterable

from assay.eval.collections.collection import GoldItem


def describe_models(
    gold: Iterable[Iterable[GoldItem]], what: str = "judgments used by these measures"
) -> str:
    """Say what share of judgments, given by query, a model made, and which; "" where none did."""
    judges = Counter(item.judged_by if item.by_model else "" for items in gold for item in items)
    count, total = judges.total() - judges[""], judges.total()
    if not count:
        return ""
    listed = "; ".join(f"{judge}: {number:,}" for judge, number in sorted(judges.items()) if judge)
    share = "All" if count == total else f"{100 * count / total:.1f} % of the"
    return (
        f"{share} {what} were made by a language model, not by people "
        f"({count:,} of {total:,}; {listed})"
    )

"""Which judgments are a language model's, in words."""

from collections import Counter
from collections.abc import Iterable

from assay.eval.collections.collection import GoldItem


def describe_models(
    gold: Iterable[Iterable[GoldItem]], what: str = "the judgments these measures rest on"
) -> str:
    """Say what share of judgments, given by query, is a model's, and which; "" where none is."""
    judges = Counter(item.judged_by if item.by_model else "" for items in gold for item in items)
    count, total = judges.total() - judges[""], judges.total()
    if not count:
        return ""
    listed = "; ".join(f"{judge}: {number:,}" for judge, number in sorted(judges.items()) if judge)
    return f"{100 * count / total:.1f} % of {what} are a model's ({count:,} of {total:,}; {listed})"

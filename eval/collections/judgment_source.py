"""Sentences about judgments: those by a language model, and those of absent documents."""

from collections import Counter
from collections.abc import Iterable

from assay.eval.collections.collection import GoldItem
from assay.retrievers.base import cut


def describe_models(
    gold: Iterable[Iterable[GoldItem]], what: str = "judgments used by these measures"
) -> str:
    """Return a sentence on the share of judgments by a model, and its name; "" if none."""
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


def describe_absent(gold: Iterable[Iterable[GoldItem]]) -> str:
    """Return a sentence on relevant documents that the collection lacks; "" if it has all."""
    absent = [item for items in gold for item in items if item.absent and item.grade > 0]
    if not absent:
        return ""
    names = dict.fromkeys(item.doc_id for item in absent)
    return (
        f"The collection lacks documents that are judged relevant: {len(names):,} (first: "
        f"{cut(next(iter(names)))}). They count as never found, as in trec_eval."
    )

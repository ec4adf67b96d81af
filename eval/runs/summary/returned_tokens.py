"""The amount of text that runs return: measures by rank favour the run that returns more."""

from collections.abc import Mapping, Sequence

from assay.eval.report.formats import enumerate_words
from assay.eval.statistics.estimates import Estimate

TOKENS, WITHIN = "Tokens@10", "Recall@2000tok"
UNEQUAL = 1.5  # times the tokens of another run
MOST = 6  # runs that the sentence names


def describe_tokens(
    labels: Sequence[str], means: Sequence[Mapping[str, Estimate]], measure: str = TOKENS
) -> str:
    """Return a sentence on runs that return texts of unequal length; "" if about equal.

    The means of each run hold `WITHIN` and `measure`, the tokens of the first hits.
    """
    found = [
        (of_run[measure].value, f"{of_run[WITHIN].value:.3f}", label)
        for label, of_run in zip(labels, means, strict=True)
    ]
    found.sort(key=lambda item: -item[0])
    if found[0][0] <= UNEQUAL * found[-1][0]:
        return ""
    most, *others = found if len(found) <= MOST else [found[0], found[-1]]
    tokens = [f"{round(most[0]):,} tokens ({most[2]})"]
    tokens += [f"{round(count):,} ({label})" for count, _, label in others]
    recalls = [f"{recall} ({label})" for _, recall, label in (most, *others)]
    hits = measure.partition("@")[2]
    return (
        f"Unequal amounts of text: the first {hits} hits hold {enumerate_words(tokens)}, and "
        "measures by rank favour more text. Recall within 2,000 tokens is "
        f"{enumerate_words(recalls)}."
    )

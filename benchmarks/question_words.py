"""`python -m benchmarks.question_words NAME…`: what tests of written questions make of real ones.

Queries of judged collections were not written from a passage as those of `assay questions` are.
Shown are how many of them the three tests would drop that ask no model: those that speak of a text
they were made from; those of which more than half of the runs of three words stand in the best
judged text; those whose cosine with an earlier query is above 0.92, by the encoder of `hybrid`.
"""

import argparse
from collections import Counter
from statistics import median

import numpy as np

from assay.eval import no_telemetry
from assay.eval.collections.check import NO_ANSWER
from assay.eval.collections.collection import Collection
from assay.eval.collections.loading import load
from assay.eval.configs.config import load_config
from assay.eval.configs.resources import make_resources
from assay.eval.studies.questions.search import find_legs
from assay.eval.studies.questions.words import find_leak, measure_overlap

no_telemetry.disable()
MAX_OVERLAP, MAX_SIMILARITY = 0.5, 0.92


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("collections", nargs="+", metavar="NAME")
    print(
        f"{'collection':<24}{'queries':>8}{'leaks':>7}{'median overlap':>16}{'above':>7}{'near':>6}"
    )
    for name in parser.parse_args().collections:
        collection = load(name)
        overlaps = measure_overlaps(collection)
        leaks = sum(bool(find_leak(query.text)) for query in collection.queries)
        above = Counter(kind for kind, overlap in overlaps if overlap > MAX_OVERLAP)
        middle = median(overlap for _, overlap in overlaps)
        figures = f"{middle:>16.3f}{above.total():>7}{count_near(collection):>6}"
        print(f"{name:<24}{len(collection.queries):>8}{leaks:>7}{figures}", flush=True)
        if any(above):
            print(f"  above by type: {', '.join(f'{kind} {n}' for kind, n in above.items())}")


def measure_overlaps(collection: Collection) -> list[tuple[str, float]]:
    """Return for each query with an answer its type, and how much it copies of a text of the best
    grade, at most.
    """
    found = []
    for query in collection.queries:
        gold = [item for item in collection.gold[query.id] if item.grade > 0]
        if not gold or query.type == NO_ANSWER:
            continue
        best = max(item.grade for item in gold)
        texts = [
            collection.texts[item.doc_id][item.start : item.end]
            for item in gold
            if item.grade == best
        ]
        found.append((query.type, max(measure_overlap(query.text, text) for text in texts)))
    return found


def count_near(collection: Collection) -> int:
    """Return how many queries are nearer to an earlier one than written questions may be."""
    encoder = find_legs(load_config("hybrid")).settings.encoder.build(make_resources())
    vectors = encoder.encode_passages([query.text for query in collection.queries])
    vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return int((np.tril(vectors @ vectors.T, -1).max(axis=1) > MAX_SIMILARITY).sum())


if __name__ == "__main__":
    main()

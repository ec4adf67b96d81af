"""What the benchmark searches: the collections that are here, and their queries."""

from collections.abc import Sequence

from assay.eval.collections.catalog import find_card
from assay.eval.collections.location import why_unavailable
from assay.eval.studies.targets.synthetic_corpus import CorpusSource, read_source
from assay.retrievers.settings import Resources

COLLECTIONS = ("tarnwick", "scifact", "anthropic_codebase")


def read_sources(resources: Resources) -> tuple[list[CorpusSource], list[str]]:
    """Return the collections that are here, and a line for each that is not."""
    sources, absent = [], []
    for name in COLLECTIONS:
        if reason := why_unavailable(find_card(name)):
            absent.append(f"without {name}: {reason}")
        else:
            sources.append(read_source(name, resources))
    return sources, absent


def sample_queries(sources: Sequence[CorpusSource], count: int) -> list[str]:
    """Return `count` queries of all sources, evenly spaced, or all when there are fewer."""
    queries = [query for source in sources for query in source.queries]
    count = min(count, len(queries))
    return [queries[i * len(queries) // count] for i in range(count)]

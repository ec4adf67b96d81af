"""Searching and ingesting documents."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.eval.collections.tables import Table
from assay.eval.studies.ingestion.result import IngestionResult
from assay.eval.studies.search.frame import SearchResult
from assay.retrievers.base import AssayError

if TYPE_CHECKING:
    from assay.eval.api.systems import Judged, System
    from assay.retrievers.settings.filters import Filter


def search(
    what: "System",
    query: str,
    *overrides: str,
    collection: "Judged | None" = None,
    documents: Table | str | Path | None = None,
    k: int = 10,
    filter: "Filter | Mapping[str, Any] | None" = None,  # noqa: A002 - its name in files
    principal: str = "",
) -> SearchResult:
    """Search for one query, as `assay search` does; nothing is stored.

    Args:
        what: The system that searches, as in `run`.
        query: The text of the query.
        overrides: Changes to a config, `key.path=value`.
        collection: The collection, as in `run`; or a folder of documents, or one file.
        documents: The documents to search instead, without judgments: {id: text}, a DataFrame,
            rows, a folder or a file.
        k: The most hits to return.
        filter: A filter of the documents that may be found: see docs/collections.md.
        principal: The one who asks, by the name on the collection's card.

    Returns:
        The hits with their spans and scores, and what every step did, as DataFrames. Times of a
        first search include loading.

    Raises:
        AssayError: An argument is wrong, or a given function failed.

    Examples:
        >>> from assay import search
        >>> documents = {
        ...     "ferry": "The ferry sails twice a day.",
        ...     "dogs": "Dogs stay on deck.",
        ...     "bikes": "Bicycles travel free of charge.",
        ... }
        >>> search("bm25", "When does the ferry sail?", documents=documents)
        bm25 on in-memory: When does the ferry sail?
        1. ferry 0–28 (0.8659)

    """
    from assay.eval.collections.collection import Query
    from assay.eval.collections.in_memory import make_unjudged
    from assay.eval.configs.resources import make_resources
    from assay.eval.progress import ConsoleProgress
    from assay.eval.running.experiment import make_experiment
    from assay.eval.running.sources import is_bare
    from assay.eval.runs.execution import searching
    from assay.eval.studies.search.search import open_collection, read_neighborhoods

    if documents is not None and collection is not None:
        raise AssayError("documents: allowed without a collection only")
    if not isinstance(k, int) or k < 1:
        raise AssayError(f"k: must be a whole number from 1, not {k!r}")
    given = collection if documents is None else documents
    searched: Any = given
    if isinstance(given, str | Path) and is_bare(str(given)):
        searched = open_collection(str(given), make_resources())
    elif documents is not None and not isinstance(documents, str | Path):
        searched = make_unjudged(documents)
    experiment = make_experiment(what, overrides, searched, {}, ConsoleProgress())
    with experiment.build() as retriever:
        searching.index(retriever, experiment.collection)
        condition = dict(filter or {}) if isinstance(filter, Mapping | None) else filter.as_json()
        asked = Query(repr(query), query, filter=condition, principal=principal)
        ranking = searching.search(retriever, experiment.collection, asked, k)
        around = read_neighborhoods(
            retriever,
            experiment.collection,
            asked,
            ranking.hits,
            make_resources(),
            references=experiment.plan.config.get("documents", {}).get("references", True),
        )
    return SearchResult(query, experiment.plan.name, experiment.collection.name, ranking, around)


def ingest(
    documents: str | Path,
    *overrides: str,
    config: str | Path = "hybrid_rrf",
    rerun: bool = False,
) -> IngestionResult:
    """Convert, cut, embed and index documents, as `assay ingest` does; no report is written.

    Args:
        documents: A folder of files, one file, or a collection by its name or folder.
        overrides: Changes to the config, `key.path=value`.
        config: The pipeline that ingests them, by its path or the name of one in `configs/`.
        rerun: Use nothing but models from the cache, to measure times.

    Returns:
        The findings: `.verdict`, `.figures` of all documents, `.documents` as a DataFrame, and
        `.tables["stages"]`, `.json()`, `.write(folder)`.

    Raises:
        AssayError: The config or the documents are wrong, or there are none.

    Examples:
        >>> from assay import ingest
        >>> taken = ingest("harbourline", config="combine_split")
        >>> taken.report.verdict[1]
        '138 chunks of 177 tokens on average, the largest 773'
        >>> taken.documents[["chunks", "tokens", "combined"]].nlargest(2, "tokens")
                              chunks  tokens  combined
        document
        api/reference.md           8    1789         3
        api/configuration.md       6    1521         3
        >>> taken.figures["tokens"]["max"]
        773

    """
    from assay.eval.api.studies import find
    from assay.eval.studies.ingestion.study import STUDY

    given = {"documents": documents, "overrides": overrides, "config": config, "rerun": rerun}
    return IngestionResult(*find(STUDY, given))

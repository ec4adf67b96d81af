"""A sample of traffic as a collection to judge: its queries, and the passages to judge."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.eval.collections.authoring import author
from assay.eval.collections.authoring.worksheet import render
from assay.eval.collections.card import FILE
from assay.eval.collections.catalog import parse_card, read_card
from assay.eval.collections.collection import Query
from assay.eval.collections.digests import BLOCKS, seal
from assay.eval.collections.formats.rows import render_rows
from assay.eval.collections.in_memory import gather_unjudged
from assay.eval.configs.config import RunConfig
from assay.eval.runs.execution import searching
from assay.eval.runs.json_form import in_json, length, shape
from assay.eval.runs.summary.open_pairs import Candidate, count_overlapping, list_candidates
from assay.eval.runs.summary.traffic import KEY
from assay.eval.scoring.join import RetrievedChunk
from assay.eval.studies.questions.sources import QuestionSource, open_documents
from assay.eval.studies.traces.matching import DocumentMatcher
from assay.eval.studies.traces.personal_data import Masker
from assay.eval.studies.traces.reading import describe_missing
from assay.eval.studies.traces.sampling import TrafficQuery, draw, merge
from assay.eval.studies.traces.traces import TraceBook, open_book
from assay.retrievers.base import AssayError, Chunk
from assay.retrievers.settings import Resources
from assay.retrievers.store.locks import changing

POOL = "pool.csv"


@dataclass(frozen=True)
class SampleSpec:
    """The number of queries to draw, the seed, and the depth to which rankings are judged."""

    number: int
    seed: int
    depth: int
    region: str | None = None


@in_json(
    "searches",
    "queries",
    "pairs",
    "folder",
    "faults",
    "notes",
    strata=shape("strata", name="0", queries="1", searches="2", drawn="3"),
    drawn=length("drawn"),
    collection="reference",
)
@dataclass(frozen=True)
class TrafficSample:
    """A sample of traffic and the folder it was written to.

    Attributes:
        searches: The number of searches in the traffic.
        queries: The number of distinct queries in the traffic.
        drawn: The drawn queries.
        pairs: The number of pairs to judge.
        folder: The folder of the collection.
        reference: The reference of the collection.
        faults: The number of skipped spans by reason.
        notes: Notes for the reader.
    """

    searches: int
    queries: int
    drawn: Sequence[TrafficQuery]
    pairs: int
    folder: Path
    reference: str
    faults: Mapping[str, int]
    notes: Sequence[str]

    def strata(self) -> list[tuple[str, int, int, int]]:
        """Return each stratum with its numbers of queries, of searches and of drawn queries."""
        told = {i.stratum: (i.stratum, i.members, i.searches, i.drawn) for i in self.drawn}
        return list(told.values())


def sample(
    sources: Sequence[str],
    documents: str,
    spec: SampleSpec,
    config: RunConfig,
    name: str | None,
    output: Path | None,
    resources: Resources,
) -> TrafficSample:
    """Draw queries of traffic and write them as a collection of `documents`, with a pool to judge.

    The pool has the results of the traced system, and those of the pipeline of `config`. The output
    of a killed call is completed. Raises AssayError, and then writes nothing.
    """
    masker = Masker(spec.region)
    source = open_documents(documents, resources)
    name = name or (author.slug(output.resolve().name) if output else f"{source.name}-traffic")
    folder = author.find_target(source.origin.folder, name, output)
    origin = source.origin.for_target(folder, source.documents)
    if (folder / FILE).exists() and not (folder / POOL).exists():
        raise _refuse(folder)
    author.check_target(origin, folder, [], force=False)
    matcher = DocumentMatcher(source.documents.values())
    with open_book(sources) as book:
        queries = merge(book.traces(), masker, spec.seed)
        faults = dict(book.faults)
        if not queries:
            raise AssayError(f"{sources[0]}: no span tells retrieved documents and a query")
        searches = sum(query.frequency for query in queries)
        drawn = draw(queries, spec.number, spec.seed)
        asked = [Query(f"t{i}", query.text) for i, query in enumerate(drawn, start=1)]
        recorded = _find_recorded(book, drawn, matcher)
    found = list(_list_passages(asked, drawn, recorded, source, spec, config, resources))
    pairs = [candidate.pair for candidates in found for candidate in candidates]
    reference = author.refer_to(name, folder)
    description = (
        f"{len(drawn)} queries sampled (seed {spec.seed}) from {searches:,} searches of a running "
        f"system, of which {len(queries):,} differ in their words."
    )
    content = {
        author.QUERIES: render_rows(
            [
                {"_id": query.id, "text": query.text, "metadata": {KEY: of.tell_chance(searches)}}
                for query, of in zip(asked, drawn, strict=True)
            ]
        ),
        author.JUDGMENTS: "",
        POOL: render(pairs, reference).decode(),
        **author.describe(origin, name, folder, source.documents, "traces", description),
    }
    with changing(folder):
        if (folder / FILE).exists() and not _is_written(folder, content):
            raise _refuse(folder)
        author.check_target(origin, folder, [], force=False)
        author.write_files(origin, folder, content)
        seal(read_card(folder / FILE))
    notes = [*masker.describe(), *describe_missing(matcher)]
    if overlapping := sum(map(count_overlapping, found)):
        notes.append(
            f"{overlapping:,} of {len(pairs):,} pairs share half or more with another passage of "
            "their query; judge each by itself"
        )
    return TrafficSample(
        searches, len(queries), drawn, len(pairs), folder, reference, faults, notes
    )


def _is_written(folder: Path, content: Mapping[str, str]) -> bool:
    """Return True if a folder has the output of the same command, sealed or not.

    A pool that has grades counts as different, and is not overwritten.
    """
    card, new = (
        i.model_dump(exclude=BLOCKS)
        for i in (read_card(folder / FILE), parse_card(content[FILE], folder / FILE))
    )
    return card == new and all(
        (folder / file).is_file() and (folder / file).read_bytes() == text.encode()
        for file, text in content.items()
        if file != FILE
    )


def _refuse(folder: Path) -> AssayError:
    return AssayError(f"{folder / FILE}: is there already; say --output with another folder")


def _find_recorded(
    book: TraceBook, drawn: Sequence[TrafficQuery], matcher: DocumentMatcher
) -> dict[str, list[Chunk]]:
    """Return the results of the traced system by trace, as far as they are in the documents."""
    wanted = {query.trace for query in drawn}
    return {
        trace.id: [chunk for document in trace.found if (chunk := matcher.find(document))]
        for trace in book.traces()
        if trace.id in wanted
    }


def _list_passages(
    asked: Sequence[Query],
    drawn: Sequence[TrafficQuery],
    recorded: Mapping[str, Sequence[Chunk]],
    source: QuestionSource,
    spec: SampleSpec,
    config: RunConfig,
    resources: Resources,
) -> Iterator[Sequence[Candidate]]:
    """Yield the passages to judge for each query, each passage once."""
    collection = gather_unjudged(list(source.documents.values()), source.name)
    with config.build(resources) as retriever:
        searching.index(retriever, collection)
        work = resources.progress.track(
            zip(asked, drawn, strict=True), "searching for passages to judge", len(asked)
        )
        for query, of in work:
            hits = searching.search(retriever, collection, query, spec.depth).hits[: spec.depth]
            found = [*recorded[of.trace][: spec.depth], *(hit.chunk for hit in hits)]
            yield list_candidates(query, (RetrievedChunk(chunk, False) for chunk in found))

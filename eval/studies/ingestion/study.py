"""`assay ingest`: the preparation of documents by a pipeline, before the first query."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from operator import itemgetter
from typing import Annotated

from pydantic import Field

from assay.eval.configs.config import load_config
from assay.eval.report.blocks import Block, Column, Facts, Plot, Report, Table
from assay.eval.report.formats import amount, count, percent
from assay.eval.report.provenance import Pairs
from assay.eval.running.study import Argument, Lab, Study, StudyOptions
from assay.eval.running.study_options import RERUN, Overrides, Reference
from assay.eval.runs.config_keys import flatten
from assay.eval.runs.json_form import in_json, to_json
from assay.eval.runs.token_counts import TokenCounts
from assay.eval.studies.ingestion.running import run_ingestion
from assay.eval.studies.ingestion.summary import (
    ON_TARGET,
    DocumentFacts,
    Ingestion,
)
from assay.eval.tracking.delivery import log_result
from assay.eval.tracking.record import metric_name
from assay.retrievers.base.near_empty import describe_near_empty


class IngestionOptions(StudyOptions):
    """The documents to take in, and the pipeline."""

    documents: Annotated[Reference, Argument()]
    overrides: Overrides = ()
    config: Reference = Field("hybrid_rrf", description="The pipeline that takes the documents in.")
    rerun: Annotated[bool, RERUN] = Field(
        False, description="Do all of it again; times are measured on this."
    )


def find(asked: IngestionOptions, lab: Lab) -> Ingestion:
    """Convert, chunk, embed and index DOCUMENTS: a folder of files, one file, or a collection.

    Reports sizes, checks and times, and what could not be read. Only files whose content changed
    since the last time are processed again. Overrides change single keys of the config.
    """
    settings = load_config(asked.config, asked.overrides)
    return run_ingestion(asked.documents, settings, lab.resources, asked.rerun)


@in_json(
    spread=("found.figures",),
    ingestion="found.id",
    source="found.source",
    pipeline="found.pipeline",
    skipped_files="found.skipped",
    notes="found.notes",
)
@dataclass(frozen=True)
class ShownIngestion:
    """The figures and the skipped files of an ingestion."""

    found: Ingestion


def list_metrics(made: Ingestion) -> dict[str, float]:
    """Return the known figures of an ingestion, by their names in MLflow."""
    found = {}
    for key, value in to_json(made.figures).items():
        for name, item in value.items() if isinstance(value, dict) else [("", value)]:
            if item is not None:
                found[metric_name(f"ingest/{key}.{name}" if name else f"ingest/{key}")] = item
    return found


NAMED = 5  # documents of each kind that are named
STAGES = (
    "Seconds are those of the work itself, also where its result came from the cache; of files "
    "converted side by side they are added up. p50 and p95 are seconds a document, of those for "
    "which the stage did anything; indexes are built at once. Time without contexts leaves out "
    "the stage context."
)


def report(made: Ingestion) -> Report:
    """Return the report of an ingestion."""
    return Report(
        id=made.id,
        kind="ingestion",
        title=f"{made.source} by {made.pipeline}",
        subject=key_facts(made),
        verdict=[_conclude(made), *_size(made)],
        warnings=warnings(made),
        blocks=[
            *_show_chunks(made),
            Facts("Checks", checks(made)),
            Facts("Structure", structure(made)),
            Facts("Time", times(made)),
            _show_stages(made),
            *_show_documents(made),
            *_show_skipped(made),
            *_show_settings(made),
        ],
        environment=made.environment,
    )


def key_facts(made: Ingestion) -> tuple[str, ...]:
    """Return the numbers of documents, pages, chunks and files, as short phrases."""
    formats = Counter(item.format or "no suffix" for item in made.documents if item.bytes)
    facts = [
        count(len(made.documents), "document"),
        f"{amount(made.pages)} pages of 500 words",
        count(len(made.tokens.sizes), "chunk"),
    ]
    if made.skipped:
        facts.append(f"{count(len(made.skipped), 'file')} skipped")
    if formats:
        facts.append(", ".join(f"{number} {name}" for name, number in formats.most_common()))
    return tuple(facts)


def warnings(made: Ingestion) -> tuple[str, ...]:
    """Return the faults: chunks that are too large, documents that cannot be rebuilt from their
    chunks, equal chunk ids, near-empty chunks, and text that looks like frontmatter.
    """
    found = []
    if made.failures:
        names = ", ".join(made.failures[:NAMED])
        found.append(f"{count(len(made.failures), 'document')} cannot be rebuilt: {names}")
    if oversize := made.count("oversize"):
        found.append(f"{count(oversize, 'chunk')} over the maximum of {made.limit:,} tokens")
    if made.collisions:
        found.append(count(made.collisions, "collision of chunk ids", "collisions of chunk ids"))
    chunks = count(len(made.tokens.sizes), "chunk")
    found += filter(None, [describe_near_empty(made.near_empty, chunks)])
    found += [f"{document}: {note}" for document, note in made.notes.items()]
    return tuple(found)


def _conclude(made: Ingestion) -> str:
    """Return a sentence that the chunks are correct, or on their faults."""
    checked = sum(item.intact is not None for item in made.documents)
    if made.failures or made.count("oversize") or made.collisions:
        wrong = [
            f"{len(made.failures):,} of {count(checked, 'document')} cannot be rebuilt",
            f"{count(made.count('oversize'), 'chunk')} too large",
            count(made.collisions, "chunk id", "chunk ids") + " given twice",
        ]
        return f"the chunks are not what they must be: {', '.join(wrong)}"
    if not checked:
        return "no document was cut here, so that nothing can have been lost"
    whole = f"nothing was lost: {count(checked, 'document')} can be rebuilt from their chunks"
    limit = "" if made.limit is None else f"no chunk is over {made.limit:,} tokens, "
    return f"{whole}, {limit}{'and ' * bool(limit)}no chunk id is given twice"


def _size(made: Ingestion) -> Iterator[str]:
    if sizes := made.tokens.sizes:
        average = f"{sum(sizes) / len(sizes):,.0f} tokens on average"
        yield f"{count(len(sizes), 'chunk')} of {average}, the largest {sizes[-1]:,}"


def _show_chunks(made: Ingestion) -> Iterator[Block]:
    columns = [Column("label", "Tokens"), Column("chunks", "Chunks", "count")]
    bars = Plot("chunks", "bar")
    yield Table("histogram", "Chunks by tokens", columns, made.tokens.histogram(), plot=bars)
    yield Facts("Sizes", tokens(made))
    ranges = made.tokens.ranges()
    yield Table("ranges", "Chunks in the five ranges", columns, ranges, plot=bars, brief=False)
    if parts := made.part_rows():
        columns = [
            Column("range", "Tokens of a part", value=itemgetter(0)),
            Column("parts", "Parts", "count", itemgetter(1)),
            Column("tokens", "Tokens", "count", itemgetter(2)),
            Column("chunks", "Chunks", "count", itemgetter(3)),
            Column("on_target", "Of 800 to 1,500 tokens", "count", itemgetter(4)),
        ]
        title = "Parts between headings that no chunk crosses"
        yield Table("parts", title, columns, parts, brief=False)


def tokens(made: Ingestion) -> Pairs:
    """Return the distribution of the tokens of a chunk."""
    text = made.tokens.words
    if not text:
        return ()
    sizes = made.tokens.sizes
    pairs = [
        ("Tokens of a chunk", text),
        ("Average and least tokens", f"{sum(sizes) / len(sizes):,.0f}, {sizes[0]:,}"),
        ("Chunks of several sections", f"{made.count('combined'):,}"),
        ("Chunks of part of a section", f"{made.count('split'):,}"),
    ]
    if made.on_target is not None:
        low, high = ON_TARGET
        within = f"{made.on_target:.1%} (in documents of {low:,} tokens or more)"
        pairs.append((f"Chunks of {low:,} to {high:,} tokens", within))
    return tuple(pairs)


def checks(made: Ingestion) -> Pairs:
    """Return the checks, and the number of times that each failed."""
    checked = sum(item.intact is not None for item in made.documents)
    limit = "" if made.limit is None else f" (over {made.limit:,} tokens)"
    pairs = [
        ("Oversize chunks", f"{made.count('oversize'):,}{limit}"),
        ("Integrity failures", f"{len(made.failures):,} of {count(checked, 'document')}"),
        ("Collisions of chunk ids", f"{made.collisions:,}"),
    ]
    if made.window is not None:
        text = f"{made.count('unread'):,} (the encoder reads {made.window:,} tokens)"
        pairs.append(("Chunks longer than the encoder's limit", text))
    encodings = [f"{item.id} {item.encoding}" for item in made.documents if _is_odd(item)]
    if encodings:
        shown = ", ".join(encodings[:NAMED]) + (", …" if len(encodings) > NAMED else "")
        pairs.append(("Text not in UTF-8, read as", shown))
    return tuple(pairs)


def structure(made: Ingestion) -> Pairs:
    """Return the structure found in the texts, and the decisions of the combiner."""
    if made.config.get("documents", {}).get("references", True):
        references = f"{made.count('references'):,}, of which {made.count('resolved'):,} resolved"
    else:
        references = "not read (documents.references: false)"
    decisions = made.decisions()
    pairs = [("Definitions", f"{made.count('definitions'):,}"), ("References", references)]
    if hidden := sum(item.unsearched > 0 for item in made.documents):
        words = f"{made.count('unsearched'):,} words of {count(hidden, 'document')}"
        pairs.append(("Frontmatter not searched", words))
    if made.vocabulary is not None:
        pairs.append(("Terms to expand queries with", f"{made.vocabulary:,}"))
    if decisions:
        text = ", ".join(f"{name.replace('_', ' ')} {times:,}" for name, times in decisions.items())
        pairs.append(("Decisions of the combiner", text))
    return tuple(pairs)


def times(made: Ingestion) -> Pairs:
    """Return the times, and the amount of work that they are for."""
    work = f"{made.fresh:,} of {count(len(made.documents), 'document')}"
    vectors = count(made.count("embedded"), "vector")
    pairs = [("Done anew", f"{work}, {vectors}; cache hit rate {percent(made.cache_hit_rate)}")]
    single = made.per_document
    if single.p50 is not None and single.p95 is not None:
        text = f"p50 {amount(single.p50)}, p95 {amount(single.p95)} (n = {single.n:,})"
        pairs.append(("Seconds a document", text))
    whole = made.seconds_per_100_pages()
    without = made.seconds_per_100_pages(embedding=False)
    if whole is None or without is None:
        text = "not known, as part came from the cache; --rerun does all of it again"
    else:
        text = f"{amount(whole)}, without embedding {amount(without)}"
    return (*pairs, ("Seconds per 100 pages", text))


def _show_stages(made: Ingestion) -> Table:
    columns = [
        Column("name", "Stage"),
        Column("seconds", "In all", "seconds"),
        Column("n", "Documents", "count", lambda item: item.n or None),
        Column("p50", "p50", "seconds"),
        Column("p95", "p95", "seconds"),
        Column("cached", "", value=lambda item: "from the cache" if item.cached else ""),
    ]
    return Table(
        "stages", "Time by stage", columns, made.stages, STAGES, Plot("seconds", "bar"), brief=False
    )


def _show_documents(made: Ingestion) -> Iterator[Table]:
    """Yield tables of the chunks and of the structure of each document, slowest first."""
    slowest = sorted(made.documents, key=lambda item: (-sum(item.seconds.values()), item.id))
    name = Column("document", "Document", value=lambda item: item.id)
    sizes = [
        name,
        Column("format", "Format"),
        Column("bytes", "File", "size", lambda item: item.bytes or None),
        Column("words", "Words", "count"),
        Column("chunks", "Chunks", "count", lambda item: len(item.tokens)),
        Column("tokens", "Tokens", "count", lambda item: sum(item.tokens)),
        Column("combined", "Combined", "count"),
        Column("split", "Split", "count"),
        Column("least", "Least, in tokens", "count"),
        Column("average", "Average", "count"),
        Column("largest", "Largest", "count", lambda item: max(item.tokens, default=0)),
        Column("ranges", "Chunks by range", value=_list_ranges),
        Column("seconds", "Time", "seconds", lambda item: sum(item.seconds.values()) or None),
        Column("note", "", value=_note),
    ]
    yield Table("documents", "Documents, the slowest first", sizes, slowest, brief=False)
    found = [
        name,
        Column("oversize", "Oversize chunks", "count"),
        Column("unread", "Beyond the encoder's limit", "count"),
        Column("on_target", "Of 800 to 1,500 tokens", "count"),
        Column("definitions", "Definitions", "count"),
        Column("references", "References", "count"),
        Column("resolved", "Resolved", "count"),
        Column("embedded", "Vectors made anew", "count"),
        Column("unsearched", "Words of frontmatter not searched", "count"),
    ]
    yield Table("found", "What was found in each document", found, slowest, brief=False)


def _list_ranges(item: DocumentFacts) -> str:
    return " · ".join(str(one.chunks) for one in TokenCounts.of(item.tokens).ranges())


def _note(item: DocumentFacts) -> str:
    notes = []
    if item.intact is False:
        notes.append("cannot be rebuilt")
    if item.oversize:
        notes.append(f"{item.oversize} oversize")
    if _is_odd(item):
        notes.append(f"read as {item.encoding}")
    if not item.seconds:
        notes.append("unchanged")
    if item.note:
        notes.append(item.note)
    return ", ".join(notes)


def _is_odd(item: DocumentFacts) -> bool:
    return item.encoding not in ("", "utf-8")


def _show_skipped(made: Ingestion) -> Iterator[Table]:
    """Yield a table of skipped files: first broken and blank ones, then other formats."""
    if made.skipped:
        columns = [Column("path", "File"), Column("reason", "Reason")]
        rows = sorted(made.skipped, key=lambda item: item.kind == "other")
        yield Table("skipped", "Skipped files", columns, rows, most=20)


def _show_settings(made: Ingestion) -> Iterator[Facts]:
    for title, values in (("Config", made.config), ("Models and engines", made.facts)):
        if pairs := list(flatten(values)):
            yield Facts(title, pairs, brief=False)


STUDY = Study(
    "ingest",
    IngestionOptions,
    find,
    report,
    log=lambda found, files, _: log_result(
        report(found), files, found.config, metrics=list_metrics(found)
    ),
    shown=ShownIngestion,
)

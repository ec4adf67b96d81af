"""The report of an ingestion: `ingestion.json`, `report.md` and `report.html`."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from assay.eval.report.files import write_report
from assay.eval.report.formats import amount, count, size
from assay.eval.report.histogram import bin_rows, describe_percentiles, draw_bars
from assay.eval.report.provenance import Pairs, dump_yaml
from assay.eval.runs.token_counts import TokenCounts
from assay.eval.studies.ingestion.summary import ON_TARGET, DocumentFacts, Ingestion

MOST_ROWS = 500  # documents and skipped files in the pages; all of them are in the JSON


@dataclass(frozen=True)
class DocumentRow:
    """A document as the table shows it."""

    id: str
    format: str
    words: str
    chunks: str
    combined: str
    split: str
    least: str
    average: str
    largest: str
    ranges: str
    seconds: str
    note: str


@dataclass(frozen=True)
class StageRow:
    """The time of a stage as the table shows it; `share` is its percentage of the longest."""

    name: str
    share: float
    seconds: str
    n: str
    p50: str
    p95: str
    note: str


def write(made: Ingestion, folder: Path) -> Path:
    """Write the three files into `folder`, which is made; return the path of the page."""
    slowest = sorted(made.documents, key=lambda item: (-sum(item.seconds.values()), item.id))
    histogram = bin_rows(made.tokens.histogram())
    values = {
        "made": made,
        "facts": key_facts(made),
        "warnings": warnings(made),
        "histogram": histogram,
        "drawn": "\n".join(draw_bars(histogram)),
        "range_bars": bin_rows(made.tokens.ranges()),
        "ranges": ranges(made),
        "tokens": tokens(made),
        "checks": checks(made),
        "times": times(made),
        "structure": structure(made),
        "parts": [
            tuple(f"{value:,}" if type(value) is int else value for value in row)
            for row in made.part_rows()
        ],
        "stages": _stage_rows(made),
        "documents": [_document_row(item) for item in slowest[:MOST_ROWS]],
        "skipped": made.skipped[:MOST_ROWS],
        "config": dump_yaml(made.config),
        "models": dump_yaml(made.facts),
    }
    return write_report("studies/ingestion/templates/ingestion", made, folder, values)


def key_facts(made: Ingestion) -> tuple[str, ...]:
    """Return what was taken in, in a few words each."""
    formats = Counter(item.format or "no suffix" for item in made.documents if item.bytes)
    facts = [
        count(len(made.documents), "document"),
        f"{amount(made.pages)} pages of 500 words",
        count(len(made.tokens.sizes), "chunk"),
    ]
    if hidden := sum(item.unsearched > 0 for item in made.documents):
        words = f"{made.count('unsearched'):,} words"
        facts.append(f"frontmatter of {count(hidden, 'document')} not searched ({words})")
    if made.skipped:
        facts.append(f"{count(len(made.skipped), 'file')} skipped")
    if formats:
        facts.append(", ".join(f"{number} {name}" for name, number in formats.most_common()))
    return tuple(facts)


def warnings(made: Ingestion) -> tuple[str, ...]:
    """Return what must not be: chunks that are too large or do not give their document back, and
    what looks like frontmatter and is text.
    """
    found = []
    if made.failures:
        names = ", ".join(made.failures[:5])
        found.append(f"{count(len(made.failures), 'document')} cannot be rebuilt: {names}")
    if oversize := made.count("oversize"):
        found.append(f"{count(oversize, 'chunk')} over the maximum of {made.limit:,} tokens")
    if made.collisions:
        found.append(count(made.collisions, "collision of chunk ids", "collisions of chunk ids"))
    found += [f"{document}: {note}" for document, note in made.notes.items()]
    return tuple(found)


def tokens(made: Ingestion) -> Pairs:
    """Return the distribution of the tokens of a chunk."""
    text = describe_percentiles(made.tokens)
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


def ranges(made: Ingestion) -> Pairs:
    """Return the chunks in each of the five ranges, in one line."""
    text = ", ".join(f"{item.label}: {item.chunks:,}" for item in made.tokens.ranges())
    return (("Chunks by tokens", text),)


def checks(made: Ingestion) -> Pairs:
    """Return what was checked and how often it failed."""
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
        shown = ", ".join(encodings[:5]) + (", …" if len(encodings) > 5 else "")
        pairs.append(("Text not in UTF-8, read as", shown))
    return tuple(pairs)


def times(made: Ingestion) -> Pairs:
    """Return how long it took, and of how much that is the time."""
    work = f"{made.fresh:,} of {count(len(made.documents), 'document')}"
    vectors = count(made.count("embedded"), "vector")
    pairs = [("Done anew", f"{work}, {vectors}; cache hit rate {made.cache_hit_rate:.0%}")]
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


def structure(made: Ingestion) -> Pairs:
    """Return what was found in the texts, and what the combiner decided."""
    if made.config.get("documents", {}).get("references", True):
        references = f"{made.count('references'):,}, of which {made.count('resolved'):,} resolved"
    else:
        references = "not read (documents.references: false)"
    decisions = made.decisions()
    pairs = [("Definitions", f"{made.count('definitions'):,}"), ("References", references)]
    if made.vocabulary is not None:
        pairs.append(("Terms to expand queries with", f"{made.vocabulary:,}"))
    if decisions:
        text = ", ".join(f"{name.replace('_', ' ')} {times:,}" for name, times in decisions.items())
        pairs.append(("Decisions of the combiner", text))
    return tuple(pairs)


def _stage_rows(made: Ingestion) -> list[StageRow]:
    longest = max(made.seconds.values(), default=0) or 1
    return [
        StageRow(
            name=item.name,
            share=round(100 * item.seconds / longest, 2),
            seconds=amount(item.seconds),
            n=f"{item.n:,}" if item.n else "",
            p50="" if item.p50 is None else amount(item.p50),
            p95="" if item.p95 is None else amount(item.p95),
            note="from the cache" if item.cached else "",
        )
        for item in made.stages
    ]


def _document_row(item: DocumentFacts) -> DocumentRow:
    notes = []
    if item.intact is False:
        notes.append("cannot be rebuilt")
    if item.oversize:
        notes.append(f"{item.oversize} oversize")
    if _is_odd(item):
        notes.append(f"read as {item.encoding}")
    if not item.seconds:
        notes.append("unchanged")
    return DocumentRow(
        id=item.id,
        format=item.format,
        words=f"{item.words:,}" + (f" ({size(item.bytes)})" if item.bytes else ""),
        chunks=f"{len(item.tokens):,}",
        combined=f"{item.combined:,}",
        split=f"{item.split:,}",
        least=f"{item.least:,}",
        average=f"{item.average:,.0f}",
        largest=f"{max(item.tokens, default=0):,}",
        ranges=" · ".join(str(one.chunks) for one in TokenCounts.of(item.tokens).ranges()),
        seconds=amount(sum(item.seconds.values())) if item.seconds else "",
        note=", ".join(notes),
    )


def _is_odd(item: DocumentFacts) -> bool:
    return item.encoding not in ("", "utf-8")

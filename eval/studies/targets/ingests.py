"""Measurements of an ingestion, and of stale search results after documents were edited."""

from itertools import chain
from typing import ClassVar, Literal

from pydantic import Field

from assay.eval.statistics.estimates import Estimate, estimate_mean_ratio
from assay.eval.studies.ingestion.summary import ON_TARGET, Ingestion, count_on_target
from assay.eval.studies.targets.lab import TargetLab
from assay.eval.studies.targets.limits import Unit
from assay.eval.studies.targets.measurement import BaseMeasurement, exact
from assay.eval.studies.targets.results import MeasuredValue
from assay.eval.studies.targets.staleness import count_stale
from assay.retrievers.base import AssayError

STALE_DEPTH = 10  # results of a search that are checked
INGEST = {
    "seconds_per_100_pages": "seconds per 100 pages of 500 words",
    "seconds_of_slowest_document": "seconds of the document that took longest",
    "oversize": "chunks over the chunker's maximum",
    "integrity_failures": "documents whose SHA-256 their chunks do not give back",
    "collisions": "chunk ids given twice",
    "on_target": "share of chunks of 800 to 1,500 tokens, in documents of 800 or more",
    "on_target_parts": "share of chunks of 800 to 1,500 tokens, in parts of 800 or more between "
    "headings that no chunk crosses",
}


class Ingest(BaseMeasurement):
    """A figure of an ingestion. Times are of one that finds nothing in the cache but models."""

    experimental: ClassVar[bool] = True
    type: Literal["ingest"]
    figure: Literal[
        "seconds_per_100_pages",
        "seconds_of_slowest_document",
        "oversize",
        "integrity_failures",
        "collisions",
        "on_target",
        "on_target_parts",
    ] = Field(description="; ".join(f"{name}: {text}" for name, text in INGEST.items()))
    contexts: bool = Field(False, description="count the time that contexts take (per 100 pages)")

    @property
    def timed(self) -> bool:
        """True if the figure is a time."""
        return self.figure.startswith("seconds")

    @property
    def unit(self) -> Unit:
        """The unit of the limits, and of the value unless that is a share."""
        return "s" if self.timed else "count"

    def describe(self) -> str:
        """Return a description of the measurement, in a line."""
        contexts = ", contexts included" if self.contexts else ""
        return f"{INGEST[self.figure]}{contexts}, {self.pipeline} on {self.dataset}"

    def find(self, lab: TargetLab) -> MeasuredValue:
        """Ingest the collection and return the figure."""
        made = lab.ingest(self.pipeline, self.dataset, self.timed)
        if self.figure == "seconds_per_100_pages":
            return self._find_pace(made)
        if self.figure == "seconds_of_slowest_document":
            times = {item.id: sum(item.seconds.values()) for item in made.documents}
            slowest = max(times, key=lambda name: times[name])
            note = f"{slowest}, of {len(times)} documents"
            return self.tell(exact(times[slowest], len(times)), note)
        cut = [item for item in made.documents if item.intact is not None]
        if not cut:
            raise AssayError(f"{self.dataset}: prescribes its passages, so that nothing is cut")
        if self.figure in ("on_target", "on_target_parts"):
            return self._find_share_on_target(made)
        if self.figure == "integrity_failures":
            return self.tell(exact(len(made.failures), len(cut)), f"of {len(cut):,} documents")
        number = made.collisions if self.figure == "collisions" else made.count("oversize")
        of = len(made.tokens.sizes)
        return self.tell(exact(number, of), f"of {of:,} chunks")

    def _find_share_on_target(self, made: Ingestion) -> MeasuredValue:
        """Return the share of chunks on target, with a bootstrap interval over documents.

        Only chunks of documents, or of parts, with enough text for a chunk on target are counted.
        """
        parts = self.figure == "on_target_parts"
        if parts:
            by_document = [[*chain(*item.long_parts)] for item in made.documents]
        else:
            by_document = [[*item.tokens] for item in made.long_documents]
        counted = [sizes for sizes in by_document if sizes]
        if not counted:
            noun = "part of a document" if parts else "document"
            raise AssayError(f"{made.source}: no {noun} has {ON_TARGET[0]} tokens")
        share = estimate_mean_ratio(list(map(len, counted)), list(map(count_on_target, counted)))
        return self.tell(share, f"of {sum(map(len, counted)):,} chunks", unit="share")

    def _find_pace(self, made: Ingestion) -> MeasuredValue:
        """Return the seconds per 100 pages, with a bootstrap interval over documents.

        Time that was not spent on single documents is distributed over them by their pages.
        """
        left_out = set() if self.contexts else {"context"}
        total = sum(taken for name, taken in made.seconds.items() if name not in left_out)
        single = [sum(item.seconds.values()) for item in made.documents]
        shared = (total - sum(single)) / made.pages
        pages = [made.pages * item.words / made.words for item in made.documents]
        times = [own + shared * size for own, size in zip(single, pages, strict=True)]
        pace = estimate_mean_ratio(pages, times)
        scaled = Estimate(100 * pace.value, 100 * pace.low, 100 * pace.high, pace.n)
        slowest = max(made.seconds, key=lambda name: made.seconds[name])
        share = made.seconds[slowest] / total
        return self.tell(scaled, f"{made.pages:.0f} pages", f"{slowest} {share:.0%} of the time")


class Stale(BaseMeasurement):
    """How many results of a search after an edit show what the documents no longer hold."""

    experimental: ClassVar[bool] = True
    usual_unit: ClassVar[Unit] = "count"
    type: Literal["stale"]

    def describe(self) -> str:
        """Return a description of the measurement, in a line."""
        return f"stale results after re-ingestion, {self.pipeline} on {self.dataset}"

    def find(self, lab: TargetLab) -> MeasuredValue:
        """Return the number of stale results, with a note on the results that could be stale."""
        collection = lab.collection(self.dataset)
        found = count_stale(lambda: lab.build(self.pipeline, self.dataset), collection, STALE_DEPTH)
        return self.tell(
            exact(found.stale, found.searches),
            f"{found.results} results of {found.searches} searches",
            f"{found.found} of {found.cuts} pieces taken out had been found before",
        )

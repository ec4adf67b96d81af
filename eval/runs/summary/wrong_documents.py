"""Queries that found no correct passage, and the share without a hit of the right document."""

from dataclasses import dataclass

from assay.eval.report.formats import count, percent
from assay.eval.runs.stored import StoredRun
from assay.eval.runs.summary.attribution import Attribution

MANY = 0.5  # of the queries that missed, for which a context is named as what may help
FEWEST = 5


@dataclass(frozen=True, slots=True)
class WrongDocuments:
    """The number of queries that `missed` all correct passages in the first `k` hits.

    `elsewhere` is the number of those with no hit from a document that has a correct passage.
    `context` is the text put before chunks, "" if unknown.
    """

    k: int
    missed: int
    elsewhere: int
    context: str

    def describe(self) -> str:
        """Return the numbers in a sentence, with a possible remedy; "" for too few queries."""
        if self.missed < FEWEST:
            return ""
        share = percent(self.elsewhere / self.missed)
        told = (
            f"{count(self.missed, 'query', 'queries')} found no correct passage in the first "
            f"{self.k} hits. Of these, {self.elsewhere:,} ({share}) have no hit from the right "
            "document."
        )
        if self.elsewhere / self.missed <= MANY or self.context not in ("none", ""):
            return told
        return f"{told} Try a context that names the document: documents.context.source=auto."


def find_wrong_documents(run: StoredRun, attribution: Attribution) -> WrongDocuments | None:
    """Return the number of misses in wrong documents; None if a document is a single chunk."""
    parted = any(item.start > 0 for items in run.gold.values() for item in items if item.grade > 0)
    if not parted:
        return None
    missed = elsewhere = 0
    for query, items in attribution.items.items():
        if not items or any(item.status == "found" for item in items):
            continue
        right = {item.item.doc_id for item in items}
        missed += 1
        hits = run.rankings[query].hits[: attribution.k]
        elsewhere += not any(hit.chunk.doc_id in right for hit in hits)
    context = run.manifest.config.get("documents", {}).get("context", {}).get("source", "")
    return WrongDocuments(attribution.k, missed, elsewhere, str(context))

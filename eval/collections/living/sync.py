"""Bringing the judgments of a collection up to date with its documents."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from assay.eval.collections.card import Card
from assay.eval.collections.digests import seal
from assay.eval.collections.formats.native import NativeCard, NativeSource
from assay.eval.collections.living.findings import Finding, Status
from assay.eval.collections.living.locating import locate_all
from assay.eval.collections.living.records import (
    Record,
    list_files,
    read_records,
    render_records,
)
from assay.eval.collections.living.review import (
    FILE,
    OpenJudgment,
    list_open,
    read_review,
    write_review,
)
from assay.eval.collections.living.search import find_everywhere
from assay.eval.collections.living.selectors import Anchor
from assay.eval.collections.loading import load_card
from assay.eval.collections.location import find_data
from assay.eval.collections.problems import QUIET, Problems
from assay.eval.runs.json_form import by, in_json, shape
from assay.retrievers.base import AssayError, Document, Progress
from assay.retrievers.store.files import remove_partial, write_atomically
from assay.retrievers.store.locks import changing

WAITING = (Status.REWORDED, Status.AMBIGUOUS)


def _round(similarity: float) -> float:
    return round(similarity, 3)


def _count(statuses: Counter[Status]) -> dict[str, int]:
    return {status.value: statuses[status] for status in Status}


@in_json(
    "name",
    "documents",
    "accepted",
    "rejected",
    "review",
    "written",
    judgments=by(_count, "statuses"),
    edited_under_their_name="edited",
    moved=shape("moved", query_id="0.query_id", to="1.place.doc_id", **{"from": "0.anchor.path"}),
    waiting=shape(
        "waiting",
        query_id="0.query_id",
        path="0.anchor.path",
        status="1.status",
        similarity=by(_round, "1.proposals.0.similarity"),
    ),
    gone=shape("gone", "query_id", path="anchor.path"),
)
@dataclass(slots=True)
class SyncReport:
    """The findings of a sync, and the files that it wrote.

    `statuses` counts judgments, `edited` those of sections and whole documents that kept their
    name while text changed, `accepted` and `rejected` decisions of people. `gone` are the
    judgments that were dropped by this sync, `waiting` those that a person must look at. `written`
    are files, none after a dry run.
    """

    name: str
    documents: int
    statuses: Counter[Status] = field(default_factory=Counter)
    edited: int = 0
    accepted: int = 0
    rejected: int = 0
    gone: list[Record] = field(default_factory=list)
    waiting: list[tuple[Record, Finding]] = field(default_factory=list)
    moved: list[tuple[Record, Finding]] = field(default_factory=list)
    review: Path | None = None
    written: list[Path] = field(default_factory=list)


def sync(card: Card, *, dry_run: bool = False, progress: Progress = QUIET) -> SyncReport:
    """Find every judgment of a collection again, and write its present place.

    Args:
        card: The card of a native collection.
        dry_run: Write nothing.
        progress: The progress that shows the reading.

    Returns:
        The report on the judgments.

    Raises:
        AssayError: The collection is of another format, or a file of it is broken. Nothing is
            written then.
    """
    if not isinstance(card, NativeCard) or card.path is None:
        raise AssayError(
            f"{card.name}: its judgments name passages by their ids and move with these; only "
            "collections of the format native, with a card, are synced"
        )
    with changing(card.folder):
        return _Sync(card, dry_run, progress).run()


class _Sync:
    def __init__(self, card: NativeCard, dry_run: bool, progress: Progress) -> None:
        self._card, self._dry_run, self._progress = card, dry_run, progress
        self._root = find_data(card)
        problems = Problems(strict=True, progress=progress)
        self._source = source = NativeSource(card, self._root, problems)
        self._documents: Mapping[str, Document] = source.documents()
        self._queries = source.queries().items
        self._texts = {name: item.text for name, item in self._documents.items()}
        files, anchors = list_files(card, self._root)
        self._anchors = anchors
        self._files = [*files, *([anchors] if anchors else [])]
        self._records = [
            record
            for path in self._files
            for record in read_records(path, problems, of_anchors=path == anchors)
        ]
        self._review = card.folder / FILE
        self._report = SyncReport(card.name, len(self._documents))

    def run(self) -> SyncReport:
        known = read_review(self._review)
        found = locate_all([record.anchor for record in self._records], self._documents)
        decided = self._follow_decisions(known, found)
        copies = self._count_copies(decided)
        for record, finding in zip(self._records, decided, strict=True):
            self._apply(record, finding, copies)
        report = self._report
        waiting = list_open(report.waiting, known, self._queries, self._texts)
        report.review = self._review if waiting else None
        if not self._dry_run:
            self._write(waiting)
        return report

    def _follow_decisions(
        self, known: Mapping[str, OpenJudgment], found: Sequence[Finding]
    ) -> list[Finding]:
        """Return the findings with what people decided in place of proposals."""
        decided = list(found)
        for i, (record, finding) in enumerate(zip(self._records, found, strict=True)):
            item = known.get(record.key)
            if finding.status not in WAITING or item is None or item.decision is None:
                continue
            if not item.decision:
                decided[i] = Finding(Status.GONE)
                self._report.rejected += 1
                continue
            place = item.places[item.decision - 1]
            anchor = Anchor(place.path, place.start, place.end, place.text)
            (now,) = locate_all([anchor], self._documents)
            if now.place is None:
                continue  # it has changed since; the new proposals wait
            stays = now.place.doc_id == record.anchor.path
            decided[i] = Finding(Status.MOVED if stays else Status.ELSEWHERE, now.place)
            today = datetime.now(UTC).date().isoformat()
            record.values |= {"accepted_by": item.decided_by, "accepted_on": today}
            self._report.accepted += 1
        return decided

    def _count_copies(self, found: Sequence[Finding]) -> dict[str, int]:
        """Return the number of places of each judged text."""
        pieces = {
            self._texts[finding.place.doc_id][finding.place.start : finding.place.end]
            for record, finding in zip(self._records, found, strict=True)
            if finding.place and not record.anchor.is_document
        }
        places = find_everywhere(pieces, self._texts)
        return {text: len(found) for text, found in places.items()}

    def _apply(self, record: Record, finding: Finding, copies: Mapping[str, int]) -> None:
        report, status = self._report, finding.status
        if status in WAITING and record.status == Status.GONE:
            status = Status.GONE  # a person has decided so, or nothing was alike at the time
        report.statuses[status] += 1
        report.edited += finding.edited
        if place := finding.place:
            if status is not Status.IN_PLACE:
                report.moved.append((record, finding))
            text = self._texts[place.doc_id]
            record.put(finding, text, copies.get(text[place.start : place.end], 0))
            return
        if status in WAITING:
            report.waiting.append((record, finding))
        elif record.status != Status.GONE:
            report.gone.append(record)
        record.set_aside(status)

    def _write(self, waiting: Mapping[str, OpenJudgment]) -> None:
        """Write the files, judgments first.

        The others follow from these: the next sync writes them if this one is killed.
        """
        report = self._report
        follow = [self._review, *filter(None, [self._card.path]), *self._source.list_changes()]
        remove_partial([*self._files, *follow])
        for path in self._files:
            own = [record for record in self._records if record.file == path]
            content = render_records(own, of_anchors=path == self._anchors)
            if path.read_bytes() != content:
                write_atomically(path, content)
                report.written.append(path)
        write_review(self._review, waiting)
        report.written += self._source.write_changes()
        card: Card = self._card
        collection = load_card(card, card.variants[0], self._progress, self._documents)
        if card.digests or card.sizes:
            before = card.model_dump()
            card = seal(card, self._progress, collection)
            report.written += [card.path] if card.path and card.model_dump() != before else []

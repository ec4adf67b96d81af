"""The table of judgments that wait for a person: the judged texts, and their possible new places.

It is `review.jsonl` next to the card. A person gives its lines a `decision`, and the next sync
carries it out.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from assay.eval.collections.collection import Query
from assay.eval.collections.living.findings import Finding
from assay.eval.collections.living.records import Record
from assay.retrievers.base import AssayError
from assay.retrievers.settings import explain_error
from assay.retrievers.store.files import write_atomically

FILE = "review.jsonl"


class ProposedPlace(BaseModel):
    """A place that may be what became of a judgment."""

    model_config = ConfigDict(extra="forbid")

    path: str
    start: int
    end: int
    text: str
    similarity: float


class OpenJudgment(BaseModel):
    """A judgment that waits. `decision` is the number of a place from 1, 0 for none of them.

    Who decides may say so in `decided_by`.
    """

    model_config = ConfigDict(extra="forbid")

    id: str
    query_id: str
    query: str
    status: str
    grade: int | None = None
    judged_by: str = ""
    judged_on: str = ""
    path: str
    headings: list[str] = []
    text: str
    places: list[ProposedPlace] = Field(min_length=1)
    decision: int | None = Field(None, ge=0)
    decided_by: str = ""

    @model_validator(mode="after")
    def _check_decision(self) -> Self:
        if self.decision is not None and self.decision > len(self.places):
            raise ValueError(f"decision: {self.decision}; allowed: 0 to {len(self.places)}")
        return self


def read_review(path: Path) -> dict[str, OpenJudgment]:
    """Return the judgments that wait, by id; none if there is no such file.

    Raises AssayError, naming the line, where it cannot be read.
    """
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise AssayError(f"{path}: cannot be read: {error}") from None
    found = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            item = OpenJudgment.model_validate_json(line)
        except ValidationError as error:
            raise AssayError(
                f"{path}:{number}: {explain_error(error)}; correct the line, "
                "or delete the file, and `assay dataset sync` writes it again"
            ) from None
        found[item.id] = item
    return found


def write_review(path: Path, items: Mapping[str, OpenJudgment]) -> None:
    """Write the judgments that wait, one a line; without any, remove the file."""
    ordered = sorted(items.values(), key=lambda item: (item.query_id, item.path, item.id))
    lines = [json.dumps(item.model_dump(), ensure_ascii=False) for item in ordered]
    content = "".join(f"{line}\n" for line in lines).encode()
    if not lines:
        path.unlink(missing_ok=True)
    elif not path.exists() or path.read_bytes() != content:
        write_atomically(path, content)


def list_open(
    waiting: Sequence[tuple[Record, Finding]],
    known: Mapping[str, OpenJudgment],
    queries: Mapping[str, Query],
    texts: Mapping[str, str],
) -> dict[str, OpenJudgment]:
    """Return the table of judgments that wait; decisions on places that did not change stay."""
    found = {}
    for record, finding in waiting:
        values: Mapping[str, Any] = record.values
        query = queries.get(record.query_id)
        item = OpenJudgment(
            id=record.key,
            query_id=record.query_id,
            query=query.text if query else "",
            status=finding.status,
            grade=values.get("grade"),
            judged_by=str(values.get("judged_by") or ""),
            judged_on=str(values.get("judged_on") or ""),
            path=record.anchor.path,
            headings=list(record.anchor.headings),
            text=record.anchor.exact,
            places=[
                ProposedPlace(
                    path=i.place.doc_id,
                    start=i.place.start,
                    end=i.place.end,
                    text=texts[i.place.doc_id][i.place.start : i.place.end],
                    similarity=round(i.similarity, 3),
                )
                for i in finding.proposals
            ],
        )
        before = known.get(item.id)
        if before and before.decision is not None and before.places == item.places:
            item.decision, item.decided_by = before.decision, before.decided_by
        found[item.id] = item
    return found

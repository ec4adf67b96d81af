"""The figures of a collection's README.md that its files give, without a run."""

import json
import random
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from assay.eval.statistics.agreement import measure_agreement

PARTS = ("dev", "test", "unanswered")
ANSWER = 2  # the grade from which a span answers
RESAMPLES, SEED = 2000, 0


class CollectionData:
    """The files of a native collection with the parts `dev`, `test` and `unanswered`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.documents = {
            path.relative_to(folder / "docs").as_posix(): path.read_text(encoding="utf-8")
            for path in sorted((folder / "docs").rglob("*.md"))
        }
        self.queries = {row["_id"]: row for row in self.read("queries.jsonl")}

    def read(self, name: str) -> list[dict[str, Any]]:
        """Return the rows of a file."""
        return [json.loads(line) for line in (self.folder / name).open(encoding="utf-8")]

    @cached_property
    def spans(self) -> Mapping[str, list[dict[str, Any]]]:
        """The judgments of each part."""
        unanswered = [f"spans_unanswered_{part}.jsonl" for part in ("dev", "test")]
        names = {"dev": ["spans_dev.jsonl"], "test": ["spans_test.jsonl"], "unanswered": unanswered}
        return {part: [row for name in names[part] for row in self.read(name)] for part in PARTS}

    @cached_property
    def shared(self) -> frozenset[str]:
        """The test queries that a span answers which answers a development query too."""
        places = {part: defaultdict(set) for part in ("dev", "test")}
        for part, of_query in places.items():
            for row in self.spans[part]:
                if row["grade"] >= ANSWER:
                    of_query[row["query_id"]].add((row["path"], row["start"], row["end"]))
        known = set().union(*places["dev"].values())
        return frozenset(name for name, spans in places["test"].items() if spans & known)


def fill_data(text: str, data: CollectionData) -> str:
    """Return a README with the figures that the collection's files give."""
    judgments = sum(map(len, data.spans.values()))
    words = {name: len(body.split()) for name, body in data.documents.items()}
    facts = (
        f"{len(data.documents)} Markdown documents ({sum(words.values()):,} words), "
        f"{len(data.queries)} queries of {len({row['type'] for row in data.queries.values()})} "
        f"types, {judgments:,} graded judgments. English."
    )
    rows: dict[str, Sequence[str]] = {}
    for world in sorted({name.partition("/")[0] for name in words}):
        within = [count for name, count in words.items() if name.startswith(f"{world}/")]
        rows[f"`docs/{world}/`"] = (str(len(within)), f"{sum(within):,}")
    parts = {part: {row["query_id"] for row in data.spans[part]} for part in PARTS}
    counts = {part: Counter(data.queries[q]["type"] for q in parts[part]) for part in PARTS}
    for kind in {row["type"] for row in data.queries.values()}:
        rows[f"`{kind}`"] = ("", *(f"{counts[part][kind] or '–'}" for part in PARTS))
    grades = {part: Counter(row["grade"] for row in data.spans[part]) for part in PARTS}
    rows |= {str(grade): [f"{grades[part][grade]:,}" for part in PARTS] for grade in range(4)}
    both = [{row["path"] for row in data.spans[part] if row["grade"]} for part in ("dev", "test")]
    split = (
        f"{len(data.shared)} of the {len(parts['test'])} test queries share a span of grade 2 or 3 "
        f"with a development query, and {len(both[0] & both[1])} of the {len(data.documents)} "
        "documents have relevant spans for both."
    )
    for name, block in (("facts", facts), ("split", split), ("reread", describe_reread(data))):
        text = fill_block(text, name, block)
    return fill_rows(text, rows)


def describe_reread(data: CollectionData) -> str:
    """Return how far the grades that were read again agree with those of the collection.

    A chunk's grade is the best of the spans that lie, for the most part, in it. The intervals are
    of RESAMPLES resamples within each grade, as the sample was drawn.
    """
    spans = defaultdict(list)
    for part in PARTS:
        for row in data.spans[part]:
            spans[row["query_id"], row["path"]].append(row)
    by_grade: dict[int, list[tuple[int, int]]] = {grade: [] for grade in range(4)}
    for row in data.read("reread.jsonl"):
        within = [
            span["grade"]
            for span in spans[row["query_id"], row["path"]]
            if row["start"] <= (span["start"] + span["end"]) / 2 < row["end"]
        ]
        by_grade[max(within)].append((max(within), row["grade"]))
    pairs = [pair for group in by_grade.values() for pair in group]
    drawn = random.Random(SEED)
    samples = (
        [pair for group in by_grade.values() for pair in drawn.choices(group, k=len(group))]
        for _ in range(RESAMPLES)
    )
    resampled = list(map(measure_agreement, samples))
    found = measure_agreement(pairs)

    def bound(figure: str) -> str:
        values = sorted(getattr(item, figure) for item in resampled)
        low, high = values[RESAMPLES // 40], values[-RESAMPLES // 40]
        return f"{getattr(found, figure):.2f} ({low:.2f} – {high:.2f})"

    equal = {grade: sum(a == b for a, b in group) for grade, group in by_grade.items()}
    far = sum(abs(a - b) > 1 for a, b in pairs)
    turned = sum((a >= ANSWER) != (b >= ANSWER) for a, b in pairs)
    return (
        f"{sum(equal.values())} of {len(pairs)} got the same grade "
        f"({100 * found.same:.1f} %); Cohen's κ is {bound('kappa')}, with quadratic weights "
        f"{bound('weighted')}. By present grade, the same grade was given to "
        + ", ".join(f"{equal[g]} of {len(by_grade[g])} of grade {g}" for g in range(4))
        + f". {far} differ by more than one grade, and {turned} cross the line between 1 and 2."
    )


def fill_block(text: str, name: str, block: str) -> str:
    """Return `text` with `block` between the marks of `name`. Raises ValueError without these."""
    pattern = rf"(?<=<!-- {name} -->\n).*?(?=<!-- /{name} -->)"
    if not re.search(pattern, text, re.DOTALL):
        raise ValueError(f"there is no <!-- {name} --> … <!-- /{name} -->")
    return re.sub(pattern, lambda _: f"{block}\n", text, flags=re.DOTALL)


def fill_rows(text: str, rows: Mapping[str, Sequence[str]]) -> str:
    """Return `text` with new cells, but empty ones, in the rows of tables that begin with a key.

    Raises ValueError where a row is missing.
    """
    for key, cells in rows.items():
        begin = re.compile(rf"^\| {re.escape(key)} \|.*\|$", re.MULTILINE)
        if (match := begin.search(text)) is None:
            raise ValueError(f"no table has a row {key}")
        old = [cell.strip() for cell in match[0].strip("|").split("|")][1:]
        new = [cell or old[i] for i, cell in enumerate(cells)] + old[len(cells) :]
        text = f"{text[: match.start()]}| {' | '.join([key, *new])} |{text[match.end() :]}"
    return text

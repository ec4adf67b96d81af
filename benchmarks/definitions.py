"""How well definitions and cross-references are found, against labels made by reading.

`python -m benchmarks.definitions` prints precision and recall on `dccode_t42`, and every miss.

`definitions.jsonl` holds 116 passages of that collection, mostly sections, drawn by the SHA-256
of their place, with all the definitions and references in them. The label is a span; that of a
reference also has the id it means, or `external` for what lies outside the collection's law. A
language model labelled them by reading the passages, without the extractor's output; nobody has
checked its work.

What counts as a definition: a statement that fixes the meaning of a term, be the term quoted
(“X” means), named in brackets (the Authority (“Authority”)), or neither (a reversion is …). A
law's short title and what takes something out of a definition given before are none. What counts
as a reference: a pointer to a numbered or lettered part of a law, each listed part by itself, a
range as one. “This section”, laws by name alone and their places of publication are none, nor is
“Section 8” as the name of a programme.

Splits: `development` was used to write the extractor; `first` comes from other chapters and was
labelled before the extractor saw it, which then found definitions with precision .976 and recall
.911 and was mended by what it had missed (its reading of references was left as it was); `second`
comes from the same chapters as `first` and was labelled, and measured once, after that.
Strata: `definitions` are sections so headed, `quoted` others with a quotation mark, `running`
any others.
"""

import json
import sys
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assay.eval.collections.loading import load
from assay.retrievers.base import AssayError
from assay.retrievers.documents.definitions import find_definitions
from assay.retrievers.documents.references.references import Reference, find_references
from assay.retrievers.documents.references.targets import Targets
from assay.retrievers.documents.structure.structure import Structure, parse_document

COLLECTION = "dccode_t42"
LABELS = Path(__file__).with_suffix(".jsonl")
KINDS = ("definition", "reference")


@dataclass(frozen=True, slots=True)
class Mention:
    """What was found, as a span that a label may share characters with."""

    start: int
    end: int
    reference: Reference | None = None


@dataclass(slots=True)
class Tally:
    """Counts over some labels; `right` are references whose target is right too."""

    found: int = 0
    missed: int = 0
    extra: int = 0
    right: int = 0
    lines: list[str] = field(default_factory=list)

    def add(self, other: "Tally") -> None:
        """Count the labels of `other` too."""
        self.found += other.found
        self.missed += other.missed
        self.extra += other.extra
        self.right += other.right


def main() -> None:
    structures = {item.id: parse_document(item) for item in load(COLLECTION).documents}
    targets = Targets(structures)
    mentions = {name: _read(structure) for name, structure in structures.items()}
    tallies: dict[tuple[str, str, str], Tally] = defaultdict(Tally)
    for line in LABELS.read_text(encoding="utf-8").splitlines():
        unit = json.loads(line)
        path = unit["path"]
        _check(unit, structures[path].text)
        for kind in KINDS:
            found = mentions[path][kind]
            within = [item for item in found if unit["start"] <= item.start < unit["end"]]
            tally = _compare(unit, kind, within, structures[path].text, targets)
            for stratum in (unit["stratum"], "all"):
                tallies[kind, unit["split"], stratum].add(tally)
            tallies[kind, unit["split"], "all"].lines += tally.lines
    _print(tallies)


def _read(structure: Structure) -> dict[str, list[Mention]]:
    return {
        "definition": [
            Mention(found.at, found.at + len(found.term) + 2)
            for found in find_definitions(structure)
        ],
        "reference": [
            Mention(found.start, found.end, found) for found in find_references(structure)
        ],
    }


def _check(unit: dict[str, Any], text: str) -> None:
    for label in unit["labels"]:
        if text[label["start"] : label["end"]] != label["text"]:
            raise AssayError(f"{LABELS.name}: {unit['path']} is not the text that was labelled")


def _compare(
    unit: dict[str, Any], kind: str, found: Sequence[Mention], text: str, targets: Targets
) -> Tally:
    """Match each label of `kind` with the first thing found that shares characters with it."""
    tally = Tally()
    left = list(found)
    for label in unit["labels"]:
        if label["kind"] != kind:
            continue
        match = next((i for i in left if i.start < label["end"] and label["start"] < i.end), None)
        if match is None:
            tally.missed += 1
            tally.lines.append(f"missed  {_excerpt(text, label['start'], label['end'])}")
            continue
        left.remove(match)
        tally.found += 1
        if match.reference and _is_right(match.reference, label["target"], unit["path"], targets):
            tally.right += 1
        elif match.reference:
            tally.lines.append(f"wrong   {label['text']}: {match.reference.target}")
    tally.extra = len(left)
    tally.lines += [f"extra   {_excerpt(text, item.start, item.end)}" for item in left]
    return tally


def _is_right(reference: Reference, target: str, path: str, targets: Targets) -> bool:
    """Say whether the id is the labelled one; what is external must lead nowhere."""
    if target == "external":
        return targets.find(reference, path) is None
    return reference.target == target


def _excerpt(text: str, start: int, end: int) -> str:
    around = f"{text[max(start - 50, 0) : start]}[{text[start:end]}]{text[end : end + 40]}"
    return " ".join(around.split())


def _print(tallies: dict[tuple[str, str, str], Tally]) -> None:
    row = "{:<12}{:<13}{:<13}{:>7}{:>11}{:>8}{:>14}"
    print(row.format("kind", "split", "stratum", "labels", "precision", "recall", "target right"))
    for key, tally in sorted(tallies.items()):
        if labels := tally.found + tally.missed:
            precision = tally.found / max(tally.found + tally.extra, 1)
            recall = tally.found / labels
            right = f"{tally.right / max(tally.found, 1):.3f}" if key[0] == "reference" else ""
            print(row.format(*key, labels, f"{precision:.3f}", f"{recall:.3f}", right))
    for (kind, split, stratum), tally in sorted(tallies.items()):
        if stratum == "all" and tally.lines:
            print(f"\n{kind}, {split}")
            print("\n".join(f"  {line}" for line in tally.lines))


if __name__ == "__main__":
    try:
        main()
    except AssayError as error:
        print(f"benchmarks.definitions: {error}", file=sys.stderr)
        sys.exit(2)

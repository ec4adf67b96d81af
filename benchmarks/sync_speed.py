"""How long a sync takes: `python -m benchmarks.sync_speed [--judgments 10000] [--documents 2000]`.

It makes a collection of invented documents, edits these as a year of a repository does (lines put
in before judged ones, sentences moved, reworded and deleted, documents renamed), and counts the
CPU seconds of the first sync and of that after the edits, and how many judgments are found where
they went.
"""

import argparse
import json
import random
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from assay.eval.collections.card_files import read_card
from assay.eval.collections.living.sync import sync

SECTIONS, PARAGRAPHS, SENTENCES, WORDS = 6, 3, 4, 12


def main() -> None:
    """Print the seconds and the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--judgments", type=int, default=10_000)
    parser.add_argument("--documents", type=int, default=2_000)
    options = parser.parse_args()
    with TemporaryDirectory() as folder:
        measure(Path(folder) / "living", options.documents, options.judgments)


def measure(folder: Path, documents: int, judgments: int) -> None:
    """Make the collection in `folder`, sync it, edit its documents, and sync it again."""
    chance = random.Random(20261126)
    words = [
        "".join(chance.choices("abcdefghijklmnoprstuvw", k=chance.randint(3, 9)))
        for _ in range(5000)
    ]
    texts = {f"part{i % 20}/{i:05}.md": make_document(i, words, chance) for i in range(documents)}
    rows: dict[tuple[str, str, int], dict[str, object]] = {}
    while len(rows) < judgments:
        path = chance.choice(list(texts))
        sentence = chance.choice([s for s in split(texts[path]) if not s.startswith("#")])
        start, query = texts[path].index(sentence), f"q{len(rows) % 1000:04}"
        span = {"start": start, "end": start + len(sentence), "text": sentence}
        rows[query, path, start] = {"query_id": query, "path": path, **span, "grade": 1}
    write(folder, texts, list(rows.values()))
    report("first sync", folder)
    expected = edit(folder, texts, list(rows.values()), chance, words)
    found = report("after edits", folder)
    print("made:        ", ", ".join(f"{n} {what}" for what, n in sorted(expected.items())))
    print("found:       ", ", ".join(f"{n} {what}" for what, n in sorted(found.items()) if n))


def make_document(number: int, words: list[str], chance: random.Random) -> str:
    """Return a document of some sections."""
    parts = [f"# Document {number}"]
    for section in range(SECTIONS):
        parts.append(f"## Section {section} {chance.choice(words)}")
        parts += [make_paragraph(words, chance) for _ in range(PARAGRAPHS)]
    return "\n\n".join(parts) + "\n"


def make_paragraph(words: list[str], chance: random.Random) -> str:
    """Return a paragraph, a sentence a line."""
    return "\n".join(make_sentence(words, chance) for _ in range(SENTENCES))


def make_sentence(words: list[str], chance: random.Random) -> str:
    """Return a sentence."""
    return " ".join(chance.choices(words, k=WORDS)).capitalize() + "."


def split(text: str) -> list[str]:
    """Return the lines that are not empty."""
    return [line for line in text.splitlines() if line]


def write(folder: Path, texts: dict[str, str], rows: list[dict[str, object]]) -> None:
    """Write a collection."""
    for path, text in texts.items():
        (folder / "docs" / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / "docs" / path).write_text(text)
    queries = sorted({str(row["query_id"]) for row in rows})
    lines = [json.dumps({"_id": i, "text": f"What of {i}?"}) for i in queries]
    (folder / "queries.jsonl").write_text("\n".join(lines) + "\n")
    (folder / "judgments.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    (folder / "dataset.yaml").write_text("name: living\ntitle: Living\nformat: native\n")


def edit(
    folder: Path,
    texts: dict[str, str],
    rows: list[dict[str, object]],
    chance: random.Random,
    words: list[str],
) -> dict[str, int]:
    """Edit the documents; return how many judgments are moved, reworded and gone by it."""
    judged: dict[str, dict[str, str]] = {}
    for row in rows:
        judged.setdefault(str(row["path"]), {})[str(row["text"])] = ""
    counts = {"moved": 0, "moved to another document": 0, "reworded": 0, "gone": 0, "in place": 0}
    for path, text in texts.items():
        fate = judged.get(path, {})
        lines = text.splitlines()
        for sentence in fate:
            draw = chance.random()
            if draw < 0.07:
                fate[sentence], i = "reworded", lines.index(sentence)
                parts = sentence.split()
                parts[chance.randrange(1, WORDS - 1)] = chance.choice(words)
                lines[i] = " ".join(parts)
            elif draw < 0.14:
                fate[sentence] = "gone"
                lines.remove(sentence)
        if chance.random() < 0.5:
            lines.insert(2, make_sentence(words, chance))
        new = path
        if chance.random() < 0.2:
            new = path.replace(".md", "-renamed.md")
            (folder / "docs" / path).unlink()
        content = "\n".join(lines) + "\n"
        (folder / "docs" / new).write_text(content)
        for row in rows:
            if row["path"] != path:
                continue
            gone = fate[str(row["text"])]
            place = content.find(str(row["text"]))
            stays = "in place" if place == row["start"] else "moved"
            counts[gone or ("moved to another document" if new != path else stays)] += 1
    return counts


def report(what: str, folder: Path) -> dict[str, int]:
    """Sync, print the CPU seconds, and return the counts."""
    begin = time.process_time()
    result = sync(read_card(folder / "dataset.yaml"))
    seconds = time.process_time() - begin
    total = result.statuses.total()
    print(
        f"{what + ':':13} {seconds:.1f} s of CPU, {total} judgments, {result.documents} documents"
    )
    return {status.value: n for status, n in result.statuses.items()}


if __name__ == "__main__":
    main()

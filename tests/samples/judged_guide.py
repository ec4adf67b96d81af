"""A small collection of one guide, and tables in which its pairs are judged."""

import csv
import io
import json

from click.testing import CliRunner

from assay.eval.cli.label import label
from assay.eval.collections.authoring.worksheet import Pair, render
from assay.eval.collections.loading import load

GUIDE = "# Guide\n\nInstall it.\n\nUse apt.\n\n=Ten a day.\n"
CARD = "# Mine.\nname: tiny\ntitle: Tiny set\nformat: native\nlicence: CC0\nsource: Me\n"
QUERIES = {"q": "how to install", "r": "what limits"}


def write_jsonl(path, *rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def spot(text):
    return GUIDE.index(text), GUIDE.index(text) + len(text)


def pair(query, text):
    return Pair(query, QUERIES[query], "", "guide.md", "", *spot(text), text)


def write_table(path, grades, named="tiny", **cells):
    """Write a filled-in table; `cells` replace those of the first row."""
    text = render(grades, named).decode("utf-8-sig")
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    for row, grade in zip(rows, grades.values(), strict=True):
        row["grade"] = grade
    rows[0] |= cells
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return path


def call(*arguments):
    return CliRunner().invoke(label, [str(argument) for argument in arguments])


def read_grades(reference):
    gold = load(reference).gold
    return {query: {item.id: item.grade for item in items} for query, items in gold.items()}


APT, TEN, BOTH = (
    pair("q", "Use apt."),
    pair("r", "=Ten a day."),
    pair("r", "Install it.\n\nUse apt."),
)

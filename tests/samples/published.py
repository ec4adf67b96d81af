"""A set of four queries whose scores are worked out by hand, and figures published on it."""

from samples.collection_folders import write_rows
from tools.processes import ROOT

from assay.eval.studies.reproduction.analysis import Reproduction, Row, SetResult
from assay.eval.studies.reproduction.settings import PublishedFigure, Tolerance

# Each query finds its passage first, but the last, whose words no passage has: nDCG@10 is .75. A
# passage that is called as a query, and repeats it, would come first: then it is less.
WORDS = ("apple", "banana", "cherry", "durian")
FILE = """
tolerance: {{ok: 0.005, close: 0.02}}
reasons: {{tokenizer: words are split otherwise}}
sources: {{paper: {{title: A paper, link: "https://example.org/paper"}}}}
systems:
  bm25: {{title: BM25, config: {configs}/bm25.yaml}}
  other: {{title: Another, config: {configs}/bm25.yaml, overrides: [retriever.legs.keyword.k1=2]}}
sets:
  fruit:
    title: Fruit
    collections: [nowhere, {folder}]
    drop_self_matches: {drop}
    figures:
{figures}
  away:
    title: Away
    collections: [nowhere]
    figures: [{{system: bm25, value: 0.5, source: paper}}]
"""
FIGURES = """
      - {system: bm25, value: 0.75, source: paper, reasons: [tokenizer]}
      - {system: bm25, measure: R@100, value: 0.7551, source: paper, reasons: [tokenizer]}
      - {system: bm25, value: 0.5, source: paper, reasons: [tokenizer]}
      - {system: bm25, value: 0.5, source: paper, other: of another model}
      - {system: other, value: 0.75, source: paper}
"""
UNEXPLAINED = "\n      - {system: bm25, value: 0.5, source: paper}\n"


def write_set(folder):
    """Write the set in BEIR's layout."""
    (folder / "qrels").mkdir(parents=True)
    passages = [{"_id": f"d{i}", "title": "", "text": word} for i, word in enumerate(WORDS[:3])]
    own = {"_id": "q0", "title": "", "text": "apple apple"}
    write_rows(folder / "corpus.jsonl", [own, *passages, {"_id": "d3", "title": "", "text": "fig"}])
    queries = [{"_id": f"q{i}", "text": word} for i, word in enumerate(WORDS)]
    write_rows(folder / "queries.jsonl", queries)
    judged = [f"q{i}\td{i}\t1\n" for i in range(len(WORDS))]
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(judged))


def write_file(path, figures=FIGURES, drop="true"):
    """Write the published figures, on the set in the folder `fruit` beside them."""
    values = {"configs": ROOT / "configs", "folder": path.parent / "fruit"}
    path.write_text(FILE.format(**values, drop=drop, figures=figures))
    return path


def read_facts(facts):
    """Return the reproduction that `published.json` holds."""
    told = {key: facts[key] for key in ("created", "command", "sources", "systems", "environment")}
    sets = [{**one, "rows": tuple(map(_read_row, one["rows"]))} for one in facts["sets"]]
    tolerance = Tolerance(**facts["tolerance"])
    return Reproduction(**told, tolerance=tolerance, sets=tuple(SetResult(**one) for one in sets))


def _read_row(row):
    figure = {key: row[key] for key in ("system", "measure", "value", "source", "other")}
    found = {key: row[key] for key in ("measured", "verdict", "why_not", "run")}
    return Row(PublishedFigure(**figure), reasons=tuple(row["reasons"]), **found)

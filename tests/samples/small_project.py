"""A folder as a user's: a collection, configs, a sweep, targets, rankings made elsewhere."""

from samples.collection_folders import write_rows

CARD = "name: mine\ntitle: Mine\nformat: native\ndocuments: docs\njudgments: {all: gold.jsonl}\n"
CONFIG = """
name: mine
dataset: mine
latency: {queries: 0}
retriever: {legs: {words: {type: bm25}}, stages: [{type: per_document}]}
"""
SWEEP = "base: mine.yaml\naxes: {retriever.legs.words.depth: [1, 2]}\ncollections: [mine]\n"
TARGETS = """
targets:
  T-1:
    criterion: found
    as_written: all is found
    measurements: [{type: score, pipeline: mine, dataset: mine, measure: Recall@20, at_least: 0.5}]
"""
SPAN = {"start": 0, "end": 13, "grade": 1}
QUERIES = {f"q{number}": f"word{number}" for number in range(6)}


def write_project(folder):
    """Write all of it into `folder`, where commands are then called."""
    home = folder / "datasets" / "mine"
    (home / "docs").mkdir(parents=True)
    (home / "dataset.yaml").write_text(CARD)
    for query, word in QUERIES.items():
        (home / "docs" / f"{query}.md").write_text(f"# About {word}\n\nThe {word} is here.\n")
    write_rows(
        home / "queries.jsonl", ({"_id": key, "text": word} for key, word in QUERIES.items())
    )
    spans = ({"query_id": key, "path": f"{key}.md", **SPAN} for key in QUERIES)
    write_rows(home / "gold.jsonl", spans)
    ranked = ({"query_id": key, "ranking": [f"{key}.md"]} for key in QUERIES)
    write_rows(folder / "other.jsonl", ranked)
    (folder / "mine.yaml").write_text(CONFIG)
    (folder / "second.yaml").write_text("base: mine.yaml\nname: second\ndepth: 3\n")
    (folder / "sweep.yaml").write_text(SWEEP)
    (folder / "targets.yaml").write_text(TARGETS)
    (folder / "questions.csv").write_text("question,quote\nWhat?,The word1 is here.\n")

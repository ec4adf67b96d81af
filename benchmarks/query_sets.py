"""`python -m benchmarks.query_sets`: what `assay run` costs by number of queries, beside bm25s.

Both go from the files of one synthetic collection to a TREC run of `--hits` a query, each in a
process of its own, with nothing cached. `assay run` also scores, explains and writes its report.
Ends with 1 where it takes more than the stated times the CPU of bm25s.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from assay.eval import no_telemetry
from benchmarks.consumption import consume
from benchmarks.latency import ending_in_one_line, positive
from benchmarks.scale import ASSAY, CONFIG
from benchmarks.synthetic_collection import write_collection

PASSAGES = 10_000
WORDS = 4, 12  # of a query, drawn from one passage, which answers it
STATED = 3.5
# In a process of its own: read, index, search all queries in one call, and write a TREC run.
REFERENCE = """
import json, sys, bm25s, Stemmer
folder, stemmer = sys.argv[1], Stemmer.Stemmer("english")
read = lambda name: [json.loads(line) for line in open(f"{folder}/{name}.jsonl")]
quiet = {"show_progress": False}
tokens = lambda rows: bm25s.tokenize([row["text"] for row in rows], stemmer=stemmer, **quiet)
passages, queries = read("corpus"), read("queries")
index = bm25s.BM25(k1=0.9, b=0.4)
index.index(tokens(passages), **quiet)
found, scores = index.retrieve(tokens(queries), k=int(sys.argv[3]), **quiet)
with open(sys.argv[2], "w") as run:
    for query, hits, values in zip(queries, found.tolist(), scores.tolist()):
        for rank, (hit, score) in enumerate(zip(hits, values), 1):
            run.write(f"{query['_id']} Q0 {passages[hit]['_id']} {rank} {score} bm25s\\n")
"""


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table; end the process with 0, 1, or 2 and one line on what to mend."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.query_sets", description=__doc__)
    parser.add_argument(
        "--queries",
        type=positive,
        nargs="+",
        default=[10_000],
        metavar="N",
        help="numbers of queries (default: %(default)s)",
    )
    parser.add_argument("--hits", type=positive, default=100, help="of a query (default: 100)")
    args = parser.parse_args(arguments)
    depths = [f"{key}={args.hits}" for key in ("depth", "retriever.legs.keyword.depth")]
    no_telemetry.disable()
    ratios = []
    print("  queries   assay run   bm25s   ratio   most memory   without mapped files")
    with ending_in_one_line(), tempfile.TemporaryDirectory() as name:
        folder = write_collection(Path(name), PASSAGES)
        for size in args.queries:
            write_queries(folder, size)
            rooms = {key: f"{name}/{key}{size}" for key in ("ASSAY_CACHE", "ASSAY_REPORTS")}
            command = [ASSAY, "run", CONFIG, "--dataset", folder, "--no-track"]
            ours = consume("assay run", [*command, "latency.queries=0", *depths], rooms, None)
            direct = [sys.executable, "-c", REFERENCE, folder, f"{name}/run.trec", str(args.hits)]
            theirs = consume("bm25s", direct, {}, None)
            ratios.append(ours.cpu / theirs.cpu)
            print(
                f"{size:9,} {ours.cpu:9.1f} s {theirs.cpu:5.1f} s {ratios[-1]:7.1f} "
                f"{ours.peak:10,.0f} MB {ours.own:19,.0f} MB"
            )
    print(f"stated: at most {STATED:g} times the CPU of bm25s")
    sys.exit(max(ratios) > STATED)


def write_queries(folder: Path, number: int) -> None:
    """Write so many queries in the place of the collection's, each of words of its one answer."""
    draw = np.random.default_rng([7, number])
    texts = [json.loads(line)["text"].split() for line in (folder / "corpus.jsonl").open()]
    answers = draw.integers(len(texts), size=number).tolist()
    with (folder / "queries.jsonl").open("w") as queries:
        for i, answer in enumerate(answers):
            most = len(texts[answer])
            words = draw.choice(texts[answer], min(int(draw.integers(*WORDS)), most)).tolist()
            queries.write(json.dumps({"_id": f"q{i}", "text": " ".join(words)}) + "\n")
    with (folder / "qrels" / "test.tsv").open("w") as judged:
        judged.write("query-id\tcorpus-id\tscore\n")
        judged.writelines(f"q{i}\tp{answer}\t1\n" for i, answer in enumerate(answers))


if __name__ == "__main__":
    main()

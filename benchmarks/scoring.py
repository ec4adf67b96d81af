"""What judging a large run costs, beside ir-measures given the same files.

`python -m benchmarks.scoring` makes a synthetic collection with a run in a temporary folder, and
has it read and scored by both, each in a process of its own. Then rankings that are in memory are
scored by both, in one process. CPU seconds are compared, which other processes disturb less than
time. It ends with 1 where the ratio of the latter lies above the stated one.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from assay.eval.collections.collection import GoldItem
from assay.eval.scoring import calculation, measures
from assay.eval.scoring.join import RetrievedChunk, join
from assay.retrievers.base import Chunk

CARD = """name: synthetic
title: Synthetic
description: Passages without meaning.
licence: none
source: benchmarks.scoring
language: en
format: beir
documents: corpus.jsonl
queries: queries.jsonl
judgments: {test: qrels/test.tsv}
"""
DOCUMENTS = 20_000
STATED = 0.3  # of ir-measures, which is given TREC run and qrels ready made
WORDS = 5_000
# In a process of its own: read run and judgments, and score.
REFERENCE = """
import sys, ir_measures
found = [ir_measures.parse_measure(name) for name in sys.argv[3:]]
rows = [line.split() for line in open(sys.argv[1]).readlines()[1:]]
qrels = [ir_measures.Qrel(query, doc, int(grade)) for query, doc, grade in rows]
print(ir_measures.calc_aggregate(found, qrels, ir_measures.read_trec_run(sys.argv[2])))
"""
ASSAY = str(Path(sys.executable).with_name("assay"))


def make_collection(folder: Path, queries: int, hits: int) -> None:
    """Write a collection and a run of `hits` hits a query, some of the first 40 of them judged."""
    rng = np.random.default_rng(7)
    weights = 1 / np.arange(1, WORDS + 1)
    weights /= weights.sum()
    (folder / "qrels").mkdir()
    (folder / "dataset.yaml").write_text(CARD)
    with (folder / "corpus.jsonl").open("w") as file:
        for i in range(DOCUMENTS):
            words = rng.choice(WORDS, 60, p=weights)
            text = f"Text {i} " + " ".join(f"w{word}" for word in words)
            print(json.dumps({"_id": f"d{i}", "title": f"Title {i}", "text": text}), file=file)
    with (
        (folder / "queries.jsonl").open("w") as asked,
        (folder / "qrels" / "test.tsv").open("w") as judged,
        (folder / "run.trec").open("w") as run,
    ):
        print("query-id\tcorpus-id\tscore", file=judged)
        for query in range(queries):
            print(json.dumps({"_id": f"q{query}", "text": f"question {query}"}), file=asked)
            ranking = rng.permutation(DOCUMENTS)[:hits]
            for i in rng.choice(min(40, hits), min(24, hits), replace=False):
                print(f"q{query}\td{ranking[i]}\t{rng.integers(0, 3)}", file=judged)
            for rank, i in enumerate(ranking, start=1):
                print(f"q{query} Q0 d{i} {rank} {hits - rank} other", file=run)


def spend(command: Sequence[str], **variables: str) -> float:
    """Return the CPU seconds of a command, which must succeed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    env = {**os.environ, **variables}
    subprocess.run(command, check=True, env=env, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def compare_scores(queries: int) -> tuple[float, float]:
    """Return the CPU seconds that ir-measures and we take for its measures of joined rankings.

    Raises AssertionError where the scores differ in any bit.
    """
    rng = np.random.default_rng(7)
    chunks = [RetrievedChunk(Chunk(f"d{i}", f"d{i}", 0, 9, "some text")) for i in range(2_000)]
    gold, joined = {}, {}
    for query in map(str, range(queries)):
        found = rng.choice(len(chunks), 50, replace=False)
        grades = rng.integers(0, 3, 20).tolist()
        gold[query] = [
            GoldItem(query, f"d{i}", f"d{i}", 0, 9, grade)
            for i, grade in zip(found, grades, strict=False)
        ]
        joined[query] = join([chunks[i] for i in found], gold[query])
    names = measures.list_standard(measures.DEFAULT)
    runs = calculation.qrels(joined, gold), calculation.run(joined)
    begin = time.process_time()
    expected = calculation.calculate(list(names.values()), *runs)
    middle = time.process_time()
    scores = measures.score(list(names), joined, gold)
    end = time.process_time()
    assert scores == {name: expected[standard] for name, standard in names.items()}
    return middle - begin, end - middle


def main() -> None:
    """Print CPU seconds and their ratios."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scoring", description=__doc__)
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--hits", type=int, default=1000)
    args = parser.parse_args()
    names = measures.list_standard(measures.DEFAULT)
    with TemporaryDirectory() as made:
        folder = Path(made)
        make_collection(folder, args.queries, args.hits)
        run = str(folder / "run.trec")
        qrels = str(folder / "qrels" / "test.tsv")
        options = ["--dataset", made, "--measures", ",".join(names), "--no-report", "--json"]
        command = [sys.executable, ASSAY, "import", run, *options]
        reports = str(folder / "reports")
        base = spend([sys.executable, "-c", REFERENCE, qrels, run, *names.values()])
        print(f"ir-measures            {base:6.1f} s CPU")
        for label in ("assay import", "assay import, again"):
            taken = spend(command, ASSAY_REPORTS=reports)
            print(f"{label:<22} {taken:6.1f} s CPU  ×{taken / base:.1f}")
    base, taken = compare_scores(5 * args.queries)
    print(f"ir-measures, in memory {base:6.1f} s CPU")
    print(f"scores, in memory      {taken:6.1f} s CPU  ×{taken / base:.1f}, stated: {STATED}")
    sys.exit(taken / base > STATED)


if __name__ == "__main__":
    main()

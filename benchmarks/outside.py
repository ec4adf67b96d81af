"""The measures beside the figures that trec_eval's own tests expect.

`python -m benchmarks.outside FOLDER`, where FOLDER is a checkout of trec_eval 9.0.8
(github.com/usnistgov/trec_eval). Each figure of its `make quicktest` whose measure has a name here
is computed and compared to the four decimals that stand there. The exit code is 1 where one
differs. Version 10 rounds the levels of IPrec otherwise.
"""

import argparse
import math
import re
from collections.abc import Iterator
from pathlib import Path

from assay.eval.scoring.measures import find
from assay.eval.studies.gate_files.files import (
    Judgments,
    Rankings,
    read_judgments,
    read_rankings,
    score_rankings,
)

# Names here, by trec_eval's. {} is a cutoff.
NAMES = {
    "num_ret": "NumRet",
    "num_rel": "NumRel",
    "num_rel_ret": "NumRet(rel=1)",
    "map": "AP",
    "Rprec": "Rprec",
    "bpref": "Bpref",
    "recip_rank": "RR",
    "infAP": "infAP",
    "ndcg": "nDCG",
    "set_P": "SetP",
    "set_recall": "SetR",
    "set_map": "SetAP",
    "set_F": "SetF",
    "P_{}": "P@{}",
    "recall_{}": "R@{}",
    "ndcg_cut_{}": "nDCG@{}",
    "map_cut_{}": "AP@{}",
    "success_{}": "Success@{}",
    "iprec_at_recall_{}": "IPrec@{}",
}
# Judgments, rankings, what is expected, and the least relevant grade (trec_eval -l).
TESTS = (
    ("qrels.test", "results.test", "out.test.aq", 1),
    ("qrels.test", "results.trunc", "out.test.aqc", 1),
    ("qrels.rel_level", "results.test", "out.test.aql", 2),
)
BY_GRADE = ("nDCG", "Num", "infAP", "Bpref")  # the least grade is no parameter of these here
HALF = 0.00005001  # what the fourth decimal can hide


def translate(name: str, least: int) -> str:
    """Return the name here of one of trec_eval's measures; "" where there is none."""
    stem, _, number = name.rpartition("_")
    pattern = NAMES.get(name) or NAMES.get(f"{stem}_{{}}")
    if not pattern or (least > 1 and pattern.startswith(BY_GRADE)):
        return ""
    kind, at, cutoff = pattern.format(number).partition("@")
    return find(f"{kind}(rel={least}){at}{cutoff}" if least > 1 else f"{kind}{at}{cutoff}").name


def read_expected(path: Path) -> Iterator[tuple[str, str, float]]:
    """Yield trec_eval's name, the query (or "all") and the value of each line with a number."""
    for line in path.read_text().splitlines():
        name, query, value = re.split(r"\s+", line.strip())
        if name != "runid" and not value.startswith("'"):
            yield name, query, float(value)


def compare(
    folder: Path, judged: str, ranked: str, expected: str, least: int
) -> tuple[int, int, list[str]]:
    """Return how many figures were compared, how many have no name here, and those that differ."""
    judgments: Judgments = read_judgments(folder / judged)
    rankings: Rankings = read_rankings(folder / ranked, "ids")[0]
    lines = list(read_expected(folder / expected))
    names = sorted({translate(name, least) for name, _, _ in lines} - {""})
    scores = score_rankings(rankings, judgments, names)
    whole = expected.endswith("c")  # trec_eval -c: queries without a ranking score 0
    queries = [query for query in judgments if whole or query in rankings]
    compared, differing = 0, []
    for name, query, value in lines:
        ours = translate(name, least)
        if not ours:
            continue
        counted = [scores[item][ours] for item in ([query] if query != "all" else queries)]
        mean = sum(counted) / (1 if ours.startswith("Num") else len(counted))
        compared += 1
        if not math.isclose(mean, value, abs_tol=HALF):
            differing.append(f"{expected}: {name} {query}: {mean:.4f}, not {value:.4f}")
    return compared, len(lines) - compared, differing


def main() -> int:
    """Compare, print, and return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, help="a checkout of trec_eval")
    tests = parser.parse_args().folder / "test"
    differing = []
    for judged, ranked, expected, least in TESTS:
        compared, unnamed, others = compare(tests, judged, ranked, expected, least)
        print(f"{expected}: {compared} figures compared, {len(others)} differ, {unnamed} not named")
        differing += others
    print("\n".join(differing))
    return bool(differing)


if __name__ == "__main__":
    raise SystemExit(main())

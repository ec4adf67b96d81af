"""`python -m benchmarks.synthetic_questions NAME…`: do written questions rank pipelines as real do?

For each collection a language model writes questions about its documents, as `assay questions`
does, types with an answer alone. The six pipelines of the README are run on these and on the
collection's own queries. Shown are the means of nDCG@10, and Kendall's τ-b of the two orders with a
95 % interval: percentile bootstrap, 2,000 resamples of the queries of each side by itself. Beside
it stands the median τ of two random halves of the real queries: no set of questions can be
expected to agree with them better than they do among themselves.
"""

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay import run
from assay.eval import no_telemetry
from assay.eval.collections.collection import Collection
from assay.eval.collections.loading import load
from assay.eval.configs.resources import make_resources
from assay.eval.statistics.estimates import SEED, TAIL, Estimate
from assay.eval.studies.questions.job import QuestionSpec, prepare_job
from assay.eval.studies.questions.kinds import KINDS
from assay.eval.studies.questions.running import QuestionsResult, write_questions
from assay.retrievers.base import AssayError

no_telemetry.disable()
Scores = NDArray[np.float64]  # a row a query, a column a pipeline
PIPELINES = ("semantic", "bm25", "hybrid_rrf", "native_hybrid", "contextual", "reranked")
MEASURE = "nDCG@10"
RESAMPLES = 2000
HALVES = 200


@dataclass(frozen=True)
class Agreement:
    """The means of each pipeline on either side, and how far their orders agree.

    `tau.n` is the number of written questions; `halves` is the median τ of two halves of the real
    queries, None where a half ties all pipelines.
    """

    collection: str
    model: str
    asked: int
    written: int
    real: int
    means: Mapping[str, tuple[float, float]]
    tau: Estimate
    halves: float | None


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("collections", nargs="+", metavar="NAME")
    parser.add_argument("--provider", required=True, choices=["anthropic", "openai"])
    parser.add_argument("--model")
    parser.add_argument("--base-url")
    parser.add_argument("--number", type=int, default=100, help="questions asked for")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--max-cost-usd", type=float, help="of each collection")
    parser.add_argument("--prices", metavar="IN,WRITE,READ,OUT")
    parser.add_argument("--limit", type=int, help="only so many real queries, evenly spaced")
    parser.add_argument("--pipelines", nargs="+", default=PIPELINES)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    options = {
        name: getattr(asked, name)
        for name in ("provider", "model", "base_url", "max_cost_usd", "prices")
    }
    found = []
    try:
        for name in asked.collections:
            real = load(name)
            written = write(real, asked.number, asked.seed, options)
            found.append(compare(real, written, asked.pipelines, asked.limit))
            if not asked.json:
                print(describe(found[-1]), flush=True)
    except AssayError as error:
        parser.exit(2, f"{error}\n")
    if asked.json:
        print(json.dumps([asdict(one) for one in found], indent=1))


def write(real: Collection, number: int, seed: int, options: Mapping[str, Any]) -> QuestionsResult:
    """Return the questions that a model writes about the documents of a collection."""
    documents = {document.id: document for document in real.documents}
    kinds = [kind for kind in KINDS.values() if kind.answered]
    spec = QuestionSpec(number, kinds, (), seed, max_overlap=0.5, max_similarity=0.92, review=0.1)
    job = prepare_job(documents, spec, "hybrid", (), options, make_resources())
    result = write_questions(job)
    if not result.made.kept:
        counts = {cause: n for cause, n in result.made.count_causes().items() if n}
        raise AssayError(f"{real.name}: no question passed the tests: {counts}")
    return result


def compare(
    real: Collection, result: QuestionsResult, pipelines: Sequence[str], limit: int | None
) -> Agreement:
    """Run the pipelines on both sides."""
    made = result.made
    questions = replace(
        real,
        name=f"{real.name}-written",
        queries=tuple(made.queries),
        gold={name: outcome.gold for name, outcome in made.kept.items()},
        drop_self_matches=False,
    )
    written = score(questions, pipelines, None)
    own = score(real, pipelines, limit)
    pairs = zip(written.mean(axis=0).tolist(), own.mean(axis=0).tolist(), strict=True)
    return Agreement(
        collection=real.name,
        model=result.job.model.name,
        asked=len(made.outcomes),
        written=len(written),
        real=len(own),
        means=dict(zip(pipelines, pairs, strict=True)),
        tau=estimate_tau(written, own),
        halves=halve(own),
    )


def score(collection: Collection, pipelines: Sequence[str], limit: int | None) -> Scores:
    """Return the scores of each query by each pipeline."""
    columns = []
    for name in pipelines:
        done = run(name, "latency.queries=0", collection=collection, limit=limit, track=False)
        columns.append(done.per_query[MEASURE].to_numpy(float))
    return np.column_stack(columns)


def estimate_tau(one: Scores, other: Scores) -> Estimate:
    """Return τ-b of the orders of the columns by their means, with its bootstrap interval.

    The rows of each side are resampled by themselves. Raises AssayError where all tie.
    """
    rng = np.random.default_rng(SEED)
    value = correlate(one.mean(axis=0), other.mean(axis=0))
    if np.isnan(value):
        raise AssayError("all pipelines score alike on one side, so their orders say nothing")
    drawn = np.array(
        [correlate(resample(one, rng), resample(other, rng)) for _ in range(RESAMPLES)]
    )
    low, high = np.nanquantile(drawn, (TAIL, 1 - TAIL))
    return Estimate(value, float(low), float(high), len(one))


def halve(scores: Scores) -> float | None:
    """Return the median τ-b of the orders by two random halves of the rows; None for too few."""
    rng = np.random.default_rng(SEED)
    found = []
    for _ in range(HALVES if len(scores) > 1 else 0):
        order = rng.permutation(len(scores))
        first, second = np.array_split(scores[order], 2)
        found.append(correlate(first.mean(axis=0), second.mean(axis=0)))
    kept = [value for value in found if not np.isnan(value)]
    return float(np.median(kept)) if kept else None


def resample(scores: Scores, rng: np.random.Generator) -> Scores:
    """Return the means of the columns over rows drawn with replacement."""
    means: Scores = scores[rng.integers(len(scores), size=len(scores))].mean(axis=0)
    return means


def correlate(one: Scores, other: Scores) -> float:
    """Return Kendall's τ-b of two lists, NaN where one of them ties all."""
    from scipy.stats import kendalltau

    return float(kendalltau(np.round(one, 12), np.round(other, 12)).statistic)


def describe(found: Agreement) -> str:
    """Return the figures as a table with a line below."""
    rows = [
        f"{found.collection}: {found.written} of {found.asked} questions by {found.model},"
        f" {found.real} real queries",
        f"{'pipeline':<16}{'written':>9}{'real':>9}   {MEASURE}",
    ]
    rows += [f"{name:<16}{one:>9.3f}{other:>9.3f}" for name, (one, other) in found.means.items()]
    tau = found.tau
    halves = "–" if found.halves is None else f"{found.halves:.2f}"
    rows.append(
        f"τ {tau.value:.2f} (95 % interval {tau.low:.2f} – {tau.high:.2f}); of two halves of the"
        f" real queries {halves}\n"
    )
    return "\n".join(rows)


if __name__ == "__main__":
    main()

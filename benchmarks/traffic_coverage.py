"""`python -m benchmarks.traffic_coverage RUN`: how often an interval holds the mean of the traffic.

The scores of a stored run stand for what each query would score. Its queries are asked as often as
Zipf's law says. Samples are drawn as `assay traces sample` draws them; the share of intervals that
hold the mean over all searches is printed, beside that of the plain mean over sampled queries.
"""

import argparse
import random
from collections.abc import Mapping, Sequence

from assay.eval import no_telemetry
from assay.eval.collections.collection import Query
from assay.eval.configs.locations import reports_folder
from assay.eval.runs import stored
from assay.eval.runs.summary.summary import summarise
from assay.eval.runs.summary.traffic import KEY, estimate_traffic
from assay.eval.scoring.measures import find
from assay.eval.statistics.estimates import estimate_mean
from assay.eval.studies.traces.sampling import TrafficQuery, draw
from assay.retrievers.base import AssayError

no_telemetry.disable()
MEASURES = ("nDCG@10", "Hit@5", "Recall@10")
SILENT = 0.03  # share of queries that found nothing in the traces


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", help="a stored run")
    parser.add_argument("--number", type=int, nargs="+", default=[60, 150, 300])
    parser.add_argument("--times", type=int, default=1000, help="samples of each size")
    asked = parser.parse_args(arguments)
    try:
        scores = summarise(stored.load(stored.find(reports_folder(), asked.run))).scores
    except AssayError as error:
        parser.error(str(error))
    scores = {name: scores[name] for name in MEASURES}
    print(
        f"{'sampled':>8} {'measure':<10} {'traffic':>8} {'holds it':>9} {'width':>6} {'plain':>6}"
    )
    for number in asked.number:
        for row in measure(scores, number, asked.times):
            print(row, flush=True)


def measure(scores: Mapping[str, Mapping[str, float]], number: int, times: int) -> list[str]:
    """Return a row for each measure."""
    rng = random.Random(0)
    names = rng.sample(list(scores[MEASURES[0]]), len(scores[MEASURES[0]]))
    traffic = [
        TrafficQuery(
            name,
            trace=name,
            time=rng.randrange(10**6),
            frequency=max(1, len(names) // i),
            found=rng.random() > SILENT,
            score=rng.random(),
        )
        for i, name in enumerate(names, start=1)
    ]
    searches = sum(query.frequency for query in traffic)
    truth = {
        name: sum(query.frequency * found[query.trace] for query in traffic) / searches
        for name, found in scores.items()
    }
    held = {name: [0.0, 0.0, 0.0] for name in MEASURES}
    for seed in range(times):
        queries = {
            of.trace: Query(of.trace, of.text, metadata={KEY: of.tell_chance(searches)})
            for of in draw(traffic, number, seed)
        }
        estimates = estimate_traffic(queries, scores)
        assert estimates is not None
        for name, weighted in estimates.measures.items():
            plain = estimate_mean([scores[name][query] for query in queries], find(name).within)
            held[name][0] += weighted.low <= truth[name] <= weighted.high
            held[name][1] += weighted.high - weighted.low
            held[name][2] += plain.low <= truth[name] <= plain.high
    return [
        f"{number:>7} {name:<10} {truth[name]:>8.3f} "
        f"{holds / times:>9.3f} {width / times:>6.3f} {plainly / times:>6.3f}"
        for name, (holds, width, plainly) in held.items()
    ]


if __name__ == "__main__":
    main()

"""A study that finds the best settings of a space, and their gain on unseen queries."""

from assay.eval.cluster.distribution import distribute
from assay.eval.configs.held_out import suggest_look
from assay.eval.report.blocks import Report
from assay.eval.running.study import Lab, Study, Written
from assay.eval.studies.tuning.tuning import TunedPipeline, TuningOptions, log_tuning, run_tuning


def find(asked: TuningOptions, lab: Lab) -> TunedPipeline:
    """Tune the settings of CONFIG on its collection; report the cross-validated gain.

    Tries every point of the space, or --trials of them. Without --space and --over the space fits
    the config: constant or normalisation and weights of its fusion; k1, b and variant of a single
    BM25 leg; depth of its reranking; without stages also contexts and chunks of 400 tokens, each
    under every fusion. More than 500 points are sampled unless --trials says more.

    The gain is cross-validated (held out): in each fold the point that is best on the other folds
    is scored on the queries left out. Folds are alike in query types. Take the settings only where
    six queries or more gain or lose, and p is at most .05: the chance of such a gain if no point
    were better.

    The best config is written in any case. Where that of another question is, or one that was
    changed since, it is kept, and this one gets a number; with --output it is refused without
    --force.
    """
    with distribute(asked.ray, lab.progress, asked.ray_gpus) as pool:
        return run_tuning(asked, pool.resources if pool else lab.resources, pool)


def write(found: TunedPipeline, _: Report, asked: TuningOptions, lab: Lab) -> Written:
    """Write the best config, and the report into the same folder."""
    path = asked.output or lab.reports / "tuned" / f"{found.id}.yaml"
    named = asked.output is not None
    files, said = found.write(path, named=named, force=asked.force)
    places = {"output": files[0], "report": files[-2]}
    look = suggest_look(asked.config, str(files[0])) if found.tuning.best is not None else []
    return Written(places, files, said, look)


STUDY = Study(
    "tune",
    TuningOptions,
    find,
    lambda found: found.report,
    write=write,
    places=("output", "report"),
    log=lambda *given: log_tuning(*given[:2]),
)

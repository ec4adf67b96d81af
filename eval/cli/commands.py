"""The commands of `assay`, in the groups and the order in which its help shows them."""

from typing import NamedTuple


class Entry(NamedTuple):
    """A command: the module and name to import it by, its purpose, and two example calls.

    A module with a dot is that of a study, from which the command is made.
    """

    place: str
    summary: str
    examples: tuple[str, str]


GROUPS = {
    "Start": {
        "demo": Entry(
            "demo:demo",
            "See a comparison and a miss explained, in seconds.",
            ("demo", "demo --output demo"),
        ),
        "init": Entry(
            "init:init",
            "Make a judged collection of your documents and questions.",
            (
                "init documents --questions questions.csv",
                "init documents --questions questions.csv --ci github",
            ),
        ),
        "run": Entry(
            "run:run",
            "Run a pipeline on a judged collection.",
            ("run hybrid", "run hybrid retriever.fusion.k=10 --dataset scifact"),
        ),
        "compare": Entry(
            "comparison.study:STUDY",
            "Compare runs with a baseline, query by query.",
            (
                "compare bm25 hybrid --dataset tarnwick",
                "compare bm25 hybrid --dataset tarnwick --dataset scifact --dataset cranfield",
            ),
        ),
        "choose": Entry(
            "tuning.choice_study:STUDY",
            "Find the pipeline to ship for a collection.",
            (
                "choose tarnwick:dev --budget 30m --max-latency 500",
                "choose --dataset tarnwick:dev --dataset scifact --dataset cranfield",
            ),
        ),
        "explain": Entry(
            "explanation.study:STUDY",
            "Show at which step correct passages were lost.",
            ("explain hybrid", "explain hybrid --query q12"),
        ),
        "search": Entry(
            "search:search",
            "Search for one query and explain every step.",
            (
                'search hybrid "How do I reset the meter?"',
                'search hybrid "How do I reset the meter?" -k 3 --context',
            ),
        ),
        "gate": Entry(
            "gate:gate",
            "Judge a pipeline against its committed baseline.",
            ("gate hybrid", "gate hybrid --base ../main --markdown gate.md"),
        ),
        "baseline": Entry(
            "gate:baseline",
            "Accept or show the baselines of the gate.",
            ("baseline accept hybrid", "baseline show hybrid"),
        ),
        "ui": Entry(
            "ui:ui",
            "Open the page of all runs and reports.",
            ("ui", "ui --no-browser"),
        ),
    },
    "Improve": {
        "ablate": Entry(
            "ablation.study:STUDY",
            "Measure what each part of a pipeline adds and costs.",
            ("ablate hybrid --dry-run", "ablate reranked --dataset tarnwick"),
        ),
        "tune": Entry(
            "tuning.tuning_study:STUDY",
            "Tune settings; report the cross-validated gain.",
            (
                "tune hybrid --dataset tarnwick:dev",
                "tune hybrid --over retriever.fusion.k=10,30,60",
            ),
        ),
        "sweep": Entry(
            "tuning.sweep_study:STUDY",
            "Run every combination of settings and collections.",
            (
                "sweep configs/sweeps/fusion.yaml --dry-run",
                "sweep configs/sweeps/fusion.yaml",
            ),
        ),
        "threshold": Entry(
            "threshold.study:STUDY",
            'Choose a score threshold for "no answer".',
            ("threshold hybrid --dataset tarnwick:dev_all", "threshold hybrid --false-empty 0.02"),
        ),
        "overlap": Entry(
            "overlap.study:STUDY",
            "Show how much the first hits of two pipelines agree.",
            ("overlap bm25 semantic", "overlap bm25 hybrid dataset=tarnwick --by documents"),
        ),
        "audit": Entry(
            "audit.study:STUDY",
            "Say what a published pair of means can and cannot show.",
            ("audit -n 250 --base .71 --new .74", "audit -n 250 --base .71 --new .74 --hits"),
        ),
        "report": Entry(
            "report:report",
            "Write the report of a stored run again.",
            ("report hybrid-tarnwick-20261125", "report hybrid-tarnwick-20261125 --json"),
        ),
    },
    "Judge": {
        "questions": Entry(
            "questions.study:STUDY",
            "Write questions with a language model.",
            (
                "questions documents --number 40 --provider anthropic",
                "questions documents --number 40 --dry-run --provider openai",
            ),
        ),
        "pool": Entry(
            "pool:pool",
            "Write a table of results that have no judgment.",
            (
                "pool bm25 hybrid --depth 10 --output pool.csv",
                "pool bm25 hybrid --limit 50 --output pool.csv",
            ),
        ),
        "label": Entry(
            "label:label",
            "Label a pool; add the judgments to the collection.",
            (
                "label pool.csv --serve --dataset documents",
                "label pool.csv --dataset documents --json",
            ),
        ),
        "judge": Entry(
            "judging.study:STUDY",
            "Judge with a language model; compare with people's labels.",
            (
                "judge pool.csv --provider anthropic",
                "judge tarnwick --queries 20 --provider openai --dry-run",
            ),
        ),
        "answer": Entry(
            "answers.study:STUDY",
            "Answer queries with a language model, from retrieved chunks.",
            (
                "answer hybrid --provider anthropic --limit 20",
                "answer hybrid --provider anthropic --dry-run",
            ),
        ),
        "ragas": Entry(
            "ragas.study:STUDY",
            "Score runs with ragas.",
            (
                "ragas hybrid --provider openai --limit 20",
                "ragas hybrid --provider openai --dry-run",
            ),
        ),
        "traces": Entry(
            "traces:traces",
            "Explain and sample the searches of your own system.",
            (
                "traces read spans.jsonl --dataset documents --output traced",
                "traces sample spans.jsonl --documents documents --consent",
            ),
        ),
        "dataset": Entry(
            "dataset:dataset",
            "List, show and check collections.",
            ("dataset list", "dataset check documents"),
        ),
    },
    "Keep": {
        "runs": Entry(
            "runs:runs",
            "List, show and delete stored runs.",
            (
                "runs list --dataset tarnwick --min nDCG@10=0.55",
                "runs delete --until 2026-01-01 --dry-run",
            ),
        ),
        "verify": Entry(
            "run.verifying:STUDY",
            "Recompute every measure of a run from its exports.",
            ("verify hybrid", "verify hybrid-tarnwick-20261125"),
        ),
        "mlflow": Entry(
            "mlflow_ui:mlflow",
            "Open the MLflow UI.",
            ("mlflow", "mlflow --port 5001 --no-browser"),
        ),
        "log": Entry(
            "log:log",
            "Send stored runs to MLflow.",
            ("log bm25-tarnwick-20261125", "log hybrid-tarnwick-20261125 --rerun"),
        ),
        "targets": Entry(
            "targets.study:STUDY",
            "Measure every success criterion; report a verdict.",
            ("targets", "targets SC-002 SC-003"),
        ),
        "reproduce": Entry(
            "reproduction.study:STUDY",
            "Measure systems beside the figures that others published.",
            ("reproduce scifact", "reproduce scifact --system bm25"),
        ),
    },
    "Extend": {
        "check": Entry(
            "check:check",
            "Check that your retriever follows the interface.",
            ("check examples.word_overlap:WordOverlap", "check configs/hybrid.yaml"),
        ),
        "components": Entry(
            "components:components",
            "List all components that a config can name.",
            ("components", "components --json"),
        ),
        "config": Entry(
            "config_command:config",
            "Show a resolved config, or the JSON Schema.",
            ("config show hybrid --dataset tarnwick", "config schema"),
        ),
        "import": Entry(
            "import_command:import_",
            "Judge rankings made elsewhere (TREC, JSONL).",
            (
                "import results.trec --dataset tarnwick",
                "import results.jsonl --dataset tarnwick --name mine",
            ),
        ),
        "ingest": Entry(
            "ingestion.study:STUDY",
            "Convert, chunk and index documents; report.",
            ("ingest documents", "ingest documents --config hybrid"),
        ),
        "contexts": Entry(
            "ingestion.contexts:STUDY",
            "Add context written by a language model to chunks.",
            (
                "contexts documents --provider anthropic --dry-run",
                "contexts documents --provider anthropic --output contexts.jsonl",
            ),
        ),
        "schema": Entry(
            "schema:schema",
            "Print the JSON Schema of a command's --json.",
            ("schema compare", "schema runs list"),
        ),
        "mcp": Entry(
            "mcp:mcp",
            "Serve the commands as tools for coding agents.",
            ("mcp", "mcp --list"),
        ),
        "models": Entry(
            "models:models",
            "List and fetch the pinned models.",
            ("models list", "models fetch"),
        ),
        "cache": Entry(
            "cache:cache",
            "Show or clear the cache.",
            ("cache info", "cache clear embeddings"),
        ),
    },
    "Engines": {
        "engines": Entry(
            "engines:engines",
            "List, check and clean up the engines.",
            ("engines list", "engines conformance qdrant-edge"),
        ),
        "parity": Entry(
            "stores.parity.study:STUDY",
            "Compare an engine's hybrid search with its formula.",
            ("parity sqlite", "parity qdrant-edge tarnwick fusion=dbsf"),
        ),
        "recall": Entry(
            "stores.recall.study:STUDY",
            "Recall and speed of approximate and filtered search.",
            (
                "recall lancedb tarnwick --sweep index.nprobes=1,5,20",
                "recall qdrant-edge tarnwick --filters .5,.1",
            ),
        ),
    },
}
COMMANDS = {name: entry for group in GROUPS.values() for name, entry in group.items()}

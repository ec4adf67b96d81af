"""Timing of a pipeline by another process: `python -m assay.eval.cli.timing CONFIG
[KEY.PATH=VALUE]...`.

It speaks the line protocol of `assay.eval.runs.execution.interleaved_timing`, and is started by
`assay gate --base`, also in a checkout of another version. So the protocol is an interface between
versions: do not change it.
"""

import json
import os
import sys
import time
from typing import IO


def serve(config: str, overrides: list[str], answers: IO[str]) -> None:
    """Answer the queries on standard input until it ends."""
    from assay.eval.collections.loading import load
    from assay.eval.configs.config import load_config
    from assay.eval.configs.locations import threads
    from assay.retrievers.settings import Resources
    from assay.retrievers.store.cache import Cache, default_root

    settings = load_config(config, overrides)
    collection = load(settings.dataset)
    with settings.build(Resources(Cache(default_root()), threads=threads())) as retriever:
        retriever.index(collection.documents)
        timed = retriever.without_query_cache()
        for query in collection.queries[: settings.latency.warm_up]:
            timed.search(query.text, settings.depth)
        _say(answers, {"ready": True, "asks_server": retriever.asks_server})
        for line in sys.stdin:
            query_text = json.loads(line)["query"]
            begin = time.perf_counter()
            ranking = timed.search(query_text, settings.depth)
            taken = (time.perf_counter() - begin) * 1000 - sum(i.waited for i in ranking.trace)
            _say(answers, {"milliseconds": taken})


def main() -> None:
    """Serve, with everything but answers kept off standard output."""
    from assay.eval import no_telemetry
    from assay.retrievers.base import AssayError

    no_telemetry.disable()
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    config, *overrides = sys.argv[1:]
    try:
        serve(config, overrides, answers)
    except AssayError as error:
        _say(answers, {"error": str(error)})


def _say(answers: IO[str], value: dict[str, object]) -> None:
    answers.write(json.dumps(value) + "\n")
    answers.flush()


if __name__ == "__main__":
    main()

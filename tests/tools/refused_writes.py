"""Calls every command that writes, in processes forked from this one: see test_refused_writes.

Usage: python -m refused_writes FOLDER EACH. Prints for each EACH-th command its exit code, its
errors, and the partial files it left in FOLDER.
"""

import contextlib
import io
import json
import os
import sys
import tempfile
from pathlib import Path

COMMANDS = {
    "run": ["run", "mine.yaml", "--rerun", "--no-track"],
    "log": ["log", "RUN"],
    "report": ["report", "RUN"],
    "compare": ["compare", "RUN", "OTHER", "--no-track"],
    "import": ["import", "third.jsonl", "--dataset", "mine", "--no-track"],
    "ingest": ["ingest", "datasets/mine/docs", "--config", "mine.yaml", "--no-track"],
    "pool": ["pool", "RUN", "--output", "made/pool.csv"],
    "label": ["label", "pool.csv"],
    "label, copy": ["label", "pool.csv", "--output", "made/copy"],
    "baseline accept": ["baseline", "accept", "RUN", "--baselines", "made/baselines"],
    "sweep": ["sweep", "sweep.yaml", "--no-track"],
    "ablate": ["ablate", "mine.yaml", "--timed", "0", "--no-track"],
    "tune": ["tune", "mine.yaml", "--over", "retriever.legs.words.k1=1.0,1.4", "--folds", "2",
             "--repeats", "1", "--output", "made/tuned.yaml", "--no-track"],
    "gate, JUnit": ["gate", "RUN", "--baselines", "accepted", "--junit", "made/gate.xml"],
    "gate, Markdown": ["gate", "RUN", "--baselines", "accepted", "--markdown", "made/gate.md"],
    "targets": ["targets", "--file", "targets.yaml", "--output", "made/told", "--no-track"],
    "dataset seal": ["dataset", "seal", "mine"],
    "init": ["init", "datasets/mine/docs", "--questions", "questions.csv", "--name", "made"],
    "init, templates": ["init", "datasets/mine/docs", "--name", "bare"],
}  # fmt: skip


def call(words):
    """Run `assay` in a process of its own that has all modules loaded already."""
    with tempfile.TemporaryFile("w+", dir=os.environ["ROOM"]) as errors:
        child = os.fork()
        if child == 0:
            os.dup2(errors.fileno(), 2)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            from assay.eval.cli.main import main

            status = 1
            try:
                main(words)
            except SystemExit as ended:
                status = int(ended.code or 0)
            finally:
                os._exit(status)
        _, status = os.waitpid(child, 0)
        errors.seek(0)
        return os.waitstatus_to_exitcode(status), errors.read()


def warm_up(words):
    """Load here what commands need, so that no forked process need do it again."""
    from assay.eval.cli.main import main

    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
        main(words)


def find_partial(folder):
    """Return the files and folders in the making."""
    found = [*folder.rglob(".*.[0-9]*"), *folder.rglob("*.partial")]
    return {str(path.relative_to(folder)) for path in found}


def main():
    """Call all commands in the folder, which holds the ids of its runs in `runs`."""
    folder = Path(sys.argv[1])
    os.chdir(folder)
    run, other = Path("runs").read_text().split()
    warm_up(["compare", run, other, "--no-report"])
    found = {}
    for name, words in list(COMMANDS.items())[:: int(sys.argv[2])]:
        before = find_partial(folder)
        code, errors = call([{"RUN": run, "OTHER": other}.get(word, word) for word in words])
        found[name] = (code, errors, sorted(find_partial(folder) - before))
    print(json.dumps(found))


if __name__ == "__main__":
    main()

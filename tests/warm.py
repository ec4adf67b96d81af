"""The command line in a process forked from one that has imported the heavy libraries already.

Every call has a process, environment and working directory of its own, and ends as a process of
its own would; what is saved are the seconds each would take to import MLflow, pandas and SciPy.
Run as a program, it serves calls from standard input, one JSON object a line.
"""

import atexit
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

HEAVY = ("mlflow", "mlflow.tracking", "mlflow.store.tracking.sqlalchemy_store", "pandas",
         "pyarrow.parquet", "scipy.stats", "ir_measures", "rich.table", "jinja2", "bm25s",
         "tokenizers", "eval.experiments.experiment", "eval.experiments.comparison")  # fmt: skip


class Warm:
    """A server of forked command lines; one call at a time."""

    def __init__(self, folder: Path, root: Path) -> None:
        self._folder = folder
        self._root = root
        self._server = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            cwd=root,
        )  # fmt: skip

    def call(
        self, arguments: tuple[str, ...], environment: dict[str, str]
    ) -> subprocess.CompletedProcess[str]:
        """Run `assay` with `arguments` and exactly this environment."""
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        output, errors = self._folder / "stdout", self._folder / "stderr"
        request = {
            "arguments": arguments, "environment": environment, "root": str(self._root),
            "stdout": str(output), "stderr": str(errors),
        }  # fmt: skip
        self._server.stdin.write(json.dumps(request) + "\n")
        self._server.stdin.flush()
        status = int(self._server.stdout.readline())
        printed = [path.read_text(encoding="utf-8") for path in (output, errors)]
        return subprocess.CompletedProcess(arguments, status, *printed)

    def close(self) -> None:
        """End the server."""
        self._server.communicate()


def serve() -> None:
    """Answer each request with the exit status of its process."""
    from eval import telemetry

    telemetry.disable()
    for name in HEAVY:
        __import__(name)
    assert threading.active_count() == 1, "a fork of several threads is not safe"
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            run(json.loads(line))
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def run(request: dict[str, object]) -> None:
    """Become the command line of a request, and end as it ends."""
    from eval.cli.main import main

    for number, name in ((1, "stdout"), (2, "stderr")):
        os.dup2(os.open(str(request[name]), os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.environ.clear()
    os.environ.update(request["environment"])  # type: ignore[call-overload]
    os.chdir(str(request["root"]))
    arguments = list(request["arguments"])  # type: ignore[call-overload]
    sys.argv = ["assay", *arguments]
    status = 1
    try:
        main(arguments)
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


if __name__ == "__main__":
    serve()

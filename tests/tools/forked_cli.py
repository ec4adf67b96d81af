"""The command line in a process forked from one that has imported the heavy libraries already.

Every call has a process, environment and working directory of its own, can be interrupted and
killed, and ends as a process of its own would; what is saved are the seconds each would take to
import MLflow, pandas and SciPy. Run as a program, it serves orders from standard input, one JSON
object a line.
"""

import atexit
import gc
import json
import os
import signal
import subprocess
import sys
import threading

HEAVY = ("mlflow", "mlflow.tracking", "mlflow.store.tracking.sqlalchemy_workspace_store", "pandas",
         "pyarrow.parquet", "pyarrow.json", "sqlalchemy.dialects.sqlite", "alembic.command",
         "scipy.stats", "ir_measures", "pytrec_eval", "rich.table", "jinja2", "bm25s", "Stemmer",
         "onnxruntime", "tokenizers", "assay.eval.cli.run",
         "assay.eval.cluster.worker", "assay.eval.running.experiment",
         "assay.eval.studies.comparison.running")  # fmt: skip

# How long a run looks at the machine that it is timed on; see assay.eval.runs.machine_load.
SECONDS = 0.02


class Warm:
    """A server of forked command lines."""

    def __init__(self, folder, root):
        self._folder = folder
        self._root = root
        self._server = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            cwd=root,
        )  # fmt: skip
        self._started = 0

    def start(self, arguments, environment, folder=None):
        """Start `assay` with `arguments` and exactly this environment, in a folder or the root."""
        self._started += 1
        printed = [self._folder / f"{name}{self._started}" for name in ("stdout", "stderr")]
        pid = self.ask(
            arguments=arguments, environment=dict(environment), root=str(folder or self._root),
            printed=[str(path) for path in printed],
        )  # fmt: skip
        assert pid is not None
        return Forked(self, pid, arguments, printed)

    def ask(self, **order):
        """Return the server's answer: the id of a process started, or the status of one that ended.

        None where it has not ended yet.
        """
        self._server.stdin.write(json.dumps(order) + "\n")
        self._server.stdin.flush()
        return json.loads(self._server.stdout.readline())

    def close(self):
        """End the server."""
        self._server.communicate()


class Forked:
    """A started command line; what `subprocess.Popen` has of the same names."""

    def __init__(self, warm, pid, arguments, printed):
        self.pid = pid
        self.args = arguments
        self.returncode = None
        self._warm = warm
        self._printed = printed

    def poll(self):
        if self.returncode is None:
            self.returncode = self._warm.ask(pid=self.pid, options=os.WNOHANG)
        return self.returncode

    def wait(self):
        if self.returncode is None:
            self.returncode = self._warm.ask(pid=self.pid, options=0)
        assert self.returncode is not None
        return self.returncode

    def send_signal(self, number):
        os.kill(self.pid, number)

    def terminate(self):
        self.send_signal(signal.SIGTERM)

    def communicate(self):
        self.wait()
        output, errors = (path.read_text(encoding="utf-8") for path in self._printed)
        return output, errors


def serve():
    """Start what each order asks for, or tell how it ended."""
    from assay.eval import no_telemetry
    from assay.eval.runs import machine_load

    no_telemetry.disable()
    machine_load.SECONDS = SECONDS
    for name in HEAVY:
        __import__(name)
    make_what_is_kept()
    assert threading.active_count() == 1, "a fork of several threads is not safe"
    gc.freeze()  # a collection in a child would copy every page it looks at
    for line in sys.stdin:
        order = json.loads(line)
        answer: int | None
        if "pid" in order:
            ended, status = os.waitpid(order["pid"], order["options"])
            answer = os.waitstatus_to_exitcode(status) if ended else None
        else:
            answer = os.fork()
            if answer == 0:
                run(**order)
        print(json.dumps(answer), flush=True)


def make_what_is_kept():
    """Make what a process makes at most once, of its code alone: schemas, templates, digests."""
    from sqlalchemy.orm import configure_mappers

    from assay.eval.configs.config import load_config
    from assay.eval.report.markdown import make_environment
    from assay.eval.runs import environment

    configure_mappers()
    load_config("configs/hybrid_rrf.yaml")
    for name in make_environment().list_templates(["j2"]):
        make_environment().get_template(name)
    environment.packages()
    environment.digest_code()
    environment.digest_code(*environment.EVERYTHING)


def run(arguments, environment, root, printed):
    """Become the command line of an order, and end as it ends."""
    from assay.eval.cli.main import main

    for number, name in enumerate(printed, start=1):
        os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), number)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.environ.clear()
    os.environ.update(environment)
    sys.path[:0] = filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))
    os.chdir(root)
    sys.argv = ["assay", *arguments]
    status = 1
    try:
        main(arguments)
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        threading._shutdown()
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


if __name__ == "__main__":
    serve()

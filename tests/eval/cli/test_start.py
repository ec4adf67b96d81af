"""Ctrl-C before the command line has been imported."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from assay import start

CODE = """
import os, signal, sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "assay.eval.cli.main":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Finder())
from assay.start import main
main()
"""


def test_it_ends_without_a_traceback():
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", "")


def test_a_warning_of_a_library_is_one_line():
    code = (
        "import warnings; from assay.eval.cli.main import main\n"
        "try: main(['--version'])\n"
        "except SystemExit: warnings.warn('take care')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == "warning: take care\n"


@pytest.mark.parametrize(
    ("files", "all_", "told"),
    [
        (
            ["__init__.py", "start.py", "__pycache__/", "eval/", "retrievers/", ".DS_Store"],
            True,
            "",
        ),
        (["__init__.py", "start.py", "eval/", "runner.py", "models/"], True, "(models, runner.py)"),
        (["__init__.py", "start.py", "eval/"], False, "(__init__.py)"),
    ],
)
def test_another_distribution_in_the_package_is_told(tmp_path, monkeypatch, files, all_, told):
    package = tmp_path / "assay"
    for name in files:
        path = package / name
        (path if name.endswith("/") else path.parent).mkdir(parents=True, exist_ok=True)
        if not name.endswith("/"):
            path.touch()
    if not all_:  # their __init__.py was installed over ours
        monkeypatch.delattr("assay.__all__")
    said = start.describe_others(package)
    assert told in said
    assert bool(said) == bool(told)
    assert "\n" not in said


def test_a_start_alone_reads_no_metadata():
    began = time.perf_counter()
    for _ in range(10):
        assert start.describe_others(Path(start.__file__).parent) == ""
    assert time.perf_counter() - began < 0.05  # 5 ms each

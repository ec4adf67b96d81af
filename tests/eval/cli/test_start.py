"""Ctrl-C before the command line has been imported."""

import signal
import subprocess
import sys

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

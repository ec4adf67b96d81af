"""Faults in a module: all that mutmut 2 can plant, and whether tests find one of them."""

import ast
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

# What the interpreter of mutmut runs: from a source to all that it can be changed to.
PLANT = """
import json, sys
from mutmut import Context, list_mutations, mutate
source = json.load(sys.stdin)
wanted = list_mutations(Context(source=source))
print(json.dumps([mutate(Context(source=source, mutation_id=one))[0] for one in wanted]))
"""


class Mutant(NamedTuple):
    """A line of a function, and what becomes of it; the first of those that change."""

    module: str
    function: str
    line: str
    mutated: str


def mutate(source: str) -> list[str]:
    """Return all that mutmut makes of a source. Its parser knows no `match`: it sees an `if`."""
    readable = re.sub(r"(?m)^( +)(match|case) (.+:)$", r"\1if \3  #\2", source)
    python = Path(shutil.which("mutmut") or "").resolve().with_name("python")
    call = [python, "-c", PLANT]
    done = subprocess.run(
        call, input=json.dumps(readable).encode(), capture_output=True, check=True
    )
    written = re.compile(r"(?m)^( +)if (.+:)  #(match|case)$")
    return [written.sub(r"\1\3 \2", mutated) for mutated in json.loads(done.stdout)]


def list_mutants(module: str, source: str) -> dict[Mutant, str]:
    """Return the mutants in the functions of a module, with their sources."""
    kinds = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    spans = [node for node in ast.walk(ast.parse(source)) if isinstance(node, kinds)]
    spans.sort(key=lambda node: node.lineno)
    mutants: dict[Mutant, str] = {}
    for mutated in mutate(source):
        pairs = enumerate(zip(source.splitlines(), mutated.splitlines(), strict=False), start=1)
        number, (old, new) = next((pair for pair in pairs if len(set(pair[1])) > 1), (0, ("", "")))
        around = [node for node in spans if node.lineno <= number <= (node.end_lineno or 0)]
        if around and not isinstance(around[-1], ast.ClassDef):
            function = ".".join(node.name for node in around)
            mutants.setdefault(Mutant(module, function, old.strip(), new.strip()), mutated)
    return mutants


class Copy:
    """A copy of the last commit of a repository, in which tests run, one process at a time."""

    def __init__(self, repository: Path, folder: Path) -> None:
        subprocess.run(["git", "clone", "-q", repository, folder], check=True)
        self.folder, self._limits, self._written = folder, dict[str, float](), 0

    def kills(self, module: str, mutated: str, beside: Path) -> bool:
        """Say whether tests find a mutant: those in the file `beside`, or others of its folder.

        Ends the process where they fail though nothing that counts is changed.
        """
        for tests in ([f"{beside}"], [f"--ignore={beside}", f"{beside.parent}"]):
            if tests[-1] not in self._limits:
                begin = time.monotonic()
                if self._fail(tests, module, f"{(self.folder / module).read_text()}# as it was\n"):
                    sys.exit(f"pytest {' '.join(tests)} fails where nothing is planted")
                self._limits[tests[-1]] = 5 * (time.monotonic() - begin) + 30
            if self._fail(tests, module, mutated, self._limits[tests[-1]]):
                return True
        return False

    def _fail(
        self, tests: Sequence[str], module: str, content: str, limit: float | None = None
    ) -> bool:
        """Say whether tests fail, or take more than `limit` seconds, with this in a module."""
        original = (self.folder / module).read_text()
        self._write(module, content)
        # What properties found before must not help, nor chance.
        shutil.rmtree(self.folder / ".hypothesis", ignore_errors=True)
        call = ["-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--hypothesis-seed=1"]
        process = subprocess.Popen(
            [sys.executable, *call, *tests],
            cwd=self.folder,
            env=os.environ | {"PYTHONPATH": str(self.folder)},
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            return process.wait(limit) != 0
        except subprocess.TimeoutExpired:
            return True
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            self._write(module, original)

    def _write(self, module: str, content: str) -> None:
        """Write a module; no two times are the same, by which Python knows its compiled code."""
        self._written += 1
        (self.folder / module).write_text(content)
        os.utime(self.folder / module, (self._written, self._written))

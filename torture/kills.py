"""Processes ended at random moments, by SIGKILL, SIGTERM and SIGINT.

Afterwards the same command gives the same result, and no process is left of them.
"""

import json
import os
import random
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torture.commands import Command, call, list_commands, prepare, start
from torture.paid import CountingModel

CHAIN = 4  # kills one after another before it is looked at what is left
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
SECONDS_TO_END = 20  # after a signal, with all that it started


@dataclass
class Outcome:
    """What a campaign did: cases tried, how many of them struck, and what went wrong."""

    name: str
    seed: int
    cases: int = 0
    struck: int = 0
    failures: list[str] = field(default_factory=list)


def torture_kills(
    kills: int, seed: int, deadline: float, say: Callable[[str], None], *, track: bool = True
) -> list[Outcome]:
    """Kill every command in turn, in a fresh and in a warm folder, until `deadline`."""
    if kills <= 0:
        return []
    with tempfile.TemporaryDirectory() as name, CountingModel() as model:
        origin = Path(name, "origin")
        origin.mkdir()
        prepare(origin)
        commands = list_commands(origin, track=track, model=model)
        outcomes = [
            Outcome(f"kill `{command.name}`, {state}", seed)
            for state in ("fresh", "warm")
            for command in commands
        ]
        expected: dict[str, tuple[Any, float]] = {}
        chance = random.Random(seed)
        while sum(outcome.cases for outcome in outcomes) < kills and time.monotonic() < deadline:
            for number, outcome in enumerate(outcomes):
                command = commands[number % len(commands)]
                state = "fresh" if number < len(commands) else "warm"
                if command.name not in expected:
                    expected[command.name] = _call_undisturbed(origin, command)
                _kill(origin, command, state, expected[command.name], chance, outcome)
                say(f"{outcome.name}: {outcome.cases} kills, {len(outcome.failures)} failures")
                if time.monotonic() >= deadline:
                    break
        return outcomes


def _call_undisturbed(origin: Path, command: Command) -> tuple[Any, float]:
    """Return what comes of a command, and the seconds it takes. Raises RuntimeError if it fails."""
    shown = []
    for state in ("fresh", "warm"):
        folder = _copy(origin, state)
        begin = time.monotonic()
        shown.append(_finish(folder, command))
        seconds = time.monotonic() - begin
        shutil.rmtree(folder)
        if isinstance(shown[-1], _Failed):
            raise RuntimeError(f"{command.name}, undisturbed: {shown[-1]}")
    return _agree(*shown), seconds


class _Any:
    """A value in which two undisturbed calls differ, as a time does."""


def _agree(one: Any, other: Any) -> Any:
    """Return the values in which two results agree, each at its place."""
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        return {key: _agree(one[key], other[key]) for key in one}
    if isinstance(one, list | tuple) and type(one) is type(other) and len(one) == len(other):
        return [_agree(*pair) for pair in zip(one, other, strict=True)]
    return one if one == other else _Any


def _differ(expected: Any, found: Any, place: str = "") -> str:
    """Return the place where a result is not as expected, "" where it is."""
    if expected is _Any:
        return ""
    if isinstance(expected, dict) and isinstance(found, dict) and expected.keys() == found.keys():
        pairs = [(key, expected[key], found[key]) for key in expected]
    elif isinstance(expected, list) and isinstance(found, list | tuple):
        if len(expected) != len(found):
            return f"{place}: {len(found)} instead of {len(expected)}"
        pairs = [(i, *pair) for i, pair in enumerate(zip(expected, found, strict=True))]
    else:
        return "" if expected == found else f"{place}: {found} instead of {expected}"
    told = (_differ(wanted, had, f"{place}/{key}") for key, wanted, had in pairs)
    return next(filter(None, told), "")


def _kill(
    origin: Path,
    command: Command,
    state: str,
    expected: tuple[Any, float],
    chance: random.Random,
    outcome: Outcome,
) -> None:
    shown, seconds = expected
    folder = _copy(origin, state)
    command.count_repeated()
    try:
        moments = [chance.uniform(0.1, 1.1) * seconds for _ in range(CHAIN)]
        for moment in moments:
            process = start(folder, [*command.arguments, "--json"])
            time.sleep(moment)
            outcome.struck += process.poll() is None
            if told := _end(process, chance.choice(SIGNALS)):
                outcome.failures.append(f"{command.name} ended at {moment}: {told}")
            outcome.cases += 1
        found = _finish(folder, command)
        if told := found if isinstance(found, _Failed) else _differ(shown, found):
            outcome.failures.append(f"{command.name} after kills at {moments}: {told[:300]}")
        if (repeated := command.count_repeated()) > CHAIN:
            outcome.failures.append(
                f"{command.name} after kills at {moments}: {repeated} questions were paid twice"
            )
    finally:
        shutil.rmtree(folder)


def _end(process: "subprocess.Popen[str]", sent: signal.Signals) -> str:
    """End a process by a signal; return what is wrong with how it ends, "" where nothing is."""
    process.send_signal(sent)
    try:
        errors = process.communicate(timeout=SECONDS_TO_END)[1]
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return f"still there {SECONDS_TO_END} s after {sent.name}, or what it started is"
    if "Traceback" in errors:
        return f"{sent.name}: {errors[-300:]}"
    until = time.monotonic() + SECONDS_TO_END
    while time.monotonic() < until:
        try:
            os.killpg(process.pid, 0)
        except ProcessLookupError:
            return ""
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    return f"{sent.name} leaves processes behind"


def _finish(folder: Path, command: Command) -> Any:
    """Return what comes of a command that nobody disturbs; else what it said."""
    done = call(folder, *command.arguments, "--json")
    if done.returncode or "Traceback" in done.stderr:
        return _Failed(f"exit code {done.returncode}: {done.stderr}")
    return command.show(folder, json.loads(done.stdout))


class _Failed(str):
    """What a command said that failed."""


def _copy(origin: Path, state: str) -> Path:
    """Return a copy of the folder; a fresh one has no cache."""
    folder = origin.with_name("work")
    shutil.copytree(origin, folder)
    if state == "fresh":
        shutil.rmtree(folder / "cache")
    return folder

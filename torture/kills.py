"""Processes ended at random moments and points, by SIGKILL, SIGTERM and SIGINT.

Afterwards the same command gives the same result, and no process is left of them.
"""

import itertools
import json
import os
import random
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torture.commands import Command, call, list_commands, prepare, start
from torture.points import count, wait_for

STATES = ("fresh", "warm")
CHAIN = 4  # kills one after another before it is looked at what is left
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
PAUSE = 0.05  # seconds after a point, at most
LATEST = 3  # times the seconds of a command, in which it gets to a point
SECONDS_TO_END = 20  # after a signal, with all that it started


@dataclass
class Outcome:
    """What a campaign did: cases tried, how many of them struck, and what went wrong."""

    name: str
    seed: int
    cases: int = 0
    struck: int = 0
    failures: list[str] = field(default_factory=list)


@dataclass
class Undisturbed:
    """What comes of a command; by state, the seconds it takes, and its points."""

    shown: Any
    seconds: dict[str, float]
    points: dict[str, int]


def torture_kills(
    kills: int,
    seed: int,
    deadline: float,
    say: Callable[[str], None],
    *,
    track: bool = True,
    only: Collection[str] = (),
    until_found: bool = False,
) -> list[Outcome]:
    """Kill every command in turn, in a fresh and in a warm folder, until `deadline`.

    With `only`, the commands of these names; `until_found`, until a first failure.
    """
    if kills <= 0:
        return []
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # commands would inherit it
        signal.signal(signal.SIGINT, signal.default_int_handler)
    with tempfile.TemporaryDirectory() as name:
        origin = Path(name, "origin")
        origin.mkdir()
        prepare(origin)
        commands = [
            command
            for command in list_commands(origin, track=track)
            if not only or command.name in only
        ]
        rounds = [
            (command, state, Outcome(f"kill `{command.name}`, {state}", seed))
            for state in STATES
            for command in commands
        ]
        outcomes = [outcome for *_, outcome in rounds]
        expected: dict[str, Undisturbed] = {}
        chance = random.Random(seed)
        for command, state, outcome in itertools.cycle(rounds):
            if sum(item.cases for item in outcomes) >= kills or time.monotonic() >= deadline:
                break
            if command.name not in expected:
                expected[command.name] = _call_undisturbed(origin, command)
            _kill(origin, command, state, expected[command.name], chance, outcome)
            say(f"{outcome.name}: {outcome.cases} kills, {len(outcome.failures)} failures")
            if until_found and outcome.failures:
                break
        return outcomes


def _call_undisturbed(origin: Path, command: Command) -> Undisturbed:
    """Return what comes of a command. Raises RuntimeError if it fails."""
    shown, seconds, points = [], {}, {}
    for state in STATES:
        folder = _copy(origin, state)
        begin = time.monotonic()
        with _pipe() as (reader, writer):
            shown.append(_finish(folder, command, writer))
            points[state] = count(reader)
        seconds[state] = time.monotonic() - begin
        shutil.rmtree(folder)
        if isinstance(shown[-1], _Failed):
            raise RuntimeError(f"{command.name}, undisturbed: {shown[-1]}")
    return Undisturbed(_agree(*shown), seconds, points)


@contextmanager
def _pipe() -> Iterator[tuple[int, int]]:
    reader, writer = os.pipe()
    try:
        yield reader, writer
    finally:
        os.close(reader)


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
    expected: Undisturbed,
    chance: random.Random,
    outcome: Outcome,
) -> None:
    folder = _copy(origin, state)
    kills = []
    try:
        for _ in range(CHAIN):
            point = chance.randint(0, 1) * chance.randint(0, expected.points[state])
            if point:
                moment = PAUSE * chance.random() ** 3  # mostly milliseconds, as a write takes
            else:
                moment = chance.uniform(0.1, 1.1) * expected.seconds[state]
            sent = chance.choice(SIGNALS)
            kills.append(f"{sent.name} {moment:.3f} s after point {point}")
            with _pipe() as (reader, writer):
                process = start(folder, [*command.arguments, "--json"], points=writer)
                try:
                    wait_for(reader, point, LATEST * expected.seconds[state])
                    time.sleep(moment)
                    outcome.struck += process.poll() is None
                finally:
                    told = _end(process, sent)
            outcome.cases += 1
            if told:
                outcome.failures.append(f"{command.name}, {kills[-1]}: {told}")
                break
        found = _finish(folder, command)
        after = f"{command.name} after {', '.join(kills)}"
        if told := found if isinstance(found, _Failed) else _differ(expected.shown, found):
            outcome.failures.append(f"{after}: {told[:300]}")
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


def _finish(folder: Path, command: Command, points: int | None = None) -> Any:
    """Return what comes of a command that nobody disturbs; else what it said."""
    done = call(folder, *command.arguments, "--json", points=points)
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

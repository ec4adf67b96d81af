"""Processes killed at random moments: afterwards the same command gives the same result."""

import json
import random
import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torture.commands import Command, call, list_commands, prepare, start

CHAIN = 4  # kills one after another before it is looked at what is left


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
    with tempfile.TemporaryDirectory() as name:
        origin = Path(name, "origin")
        origin.mkdir()
        prepare(origin)
        commands = list_commands(origin, track=track)
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
    folder = _copy(origin, "warm")
    begin = time.monotonic()
    shown = _finish(folder, command)
    seconds = time.monotonic() - begin
    shutil.rmtree(folder)
    if isinstance(shown, _Failed):
        raise RuntimeError(f"{command.name}, undisturbed: {shown}")
    return shown, seconds


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
    try:
        moments = [chance.uniform(0.1, 1.1) * seconds for _ in range(CHAIN)]
        for moment in moments:
            process = start(folder, [*command.arguments, "--json"])
            time.sleep(moment)
            outcome.struck += process.poll() is None
            process.kill()
            process.communicate()
            outcome.cases += 1
        found = _finish(folder, command)
        if found != shown:
            told = f"{found}"[:300]
            outcome.failures.append(f"{command.name} after kills at {moments}: {told}")
    finally:
        shutil.rmtree(folder)


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

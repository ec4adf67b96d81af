"""`make torture`: all campaigns, and their table in docs/reliability.md.

Long campaigns can be run in pieces, by seed: each with `--keep`, and then their table by `--of`.
"""

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from torture.commands import ROOT
from torture.fuzz import torture_readers
from torture.kills import Outcome, torture_kills

PAGE = ROOT / "docs" / "reliability.md"
BEGIN, END = "<!-- campaigns -->", "<!-- end of campaigns -->"


def main() -> int:
    """Run the campaigns; 1 where one of them found something."""
    parser = argparse.ArgumentParser(prog="torture", description=__doc__)
    parser.add_argument("--kills", type=int, default=160)
    parser.add_argument("--cases", type=int, default=3400, help="files given to readers")
    parser.add_argument("--seed", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=1800, help="in which all must be over")
    parser.add_argument("--write", action="store_true", help=f"the table into {PAGE.name}")
    parser.add_argument("--keep", type=Path, metavar="FILE", help="what was found, as JSON")
    parser.add_argument(
        "--of", type=Path, nargs="+", metavar="FILE", help="run nothing: join these"
    )
    given = parser.parse_args()
    outcomes, seconds = _join(given.of) if given.of else _run(given)
    if given.keep:
        found = [asdict(outcome) for outcome in outcomes]
        given.keep.write_text(json.dumps({"seconds": seconds, "outcomes": found}, indent=1))
    table = render(outcomes, seconds)
    print(table)
    for outcome in outcomes:
        for failure in outcome.failures:
            print(f"{outcome.name}, seed {outcome.seed}: {failure}")
    if given.write:
        _write(PAGE, table)
    return int(any(outcome.failures for outcome in outcomes))


def _run(given: argparse.Namespace) -> tuple[list[Outcome], float]:
    begin = time.monotonic()
    deadline = begin + given.seconds
    outcomes = torture_readers(given.cases, given.seed, deadline, _say)
    outcomes += torture_kills(given.kills, given.seed, deadline, _say)
    return outcomes, time.monotonic() - begin


def _join(files: Sequence[Path]) -> tuple[list[Outcome], float]:
    pieces = [json.loads(file.read_bytes()) for file in files]
    outcomes = [Outcome(**item) for piece in pieces for item in piece["outcomes"]]
    return outcomes, sum(piece["seconds"] for piece in pieces)


def render(outcomes: Sequence[Outcome], seconds: float) -> str:
    """Return the table of campaigns, a row for each kind, with when and where they were run."""
    python = platform.python_version()
    machine = f"{os.cpu_count()} processors, {platform.system()}, Python {python}"
    by_kind: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        by_kind.setdefault(outcome.name.split()[0], []).append(outcome)
    rows = [
        f"| {kind} | {', '.join(_list_subjects(kind, items))} "
        f"| {', '.join(map(str, sorted({item.seed for item in items})))} "
        f"| {sum(item.cases for item in items):,} | {sum(item.struck for item in items):,} "
        f"| {sum(len(item.failures) for item in items)} |"
        for kind, items in by_kind.items()
    ]
    total = sum(item.cases for item in outcomes)
    return "\n".join(
        [
            f"{datetime.now(UTC):%Y-%m-%d}, {machine}: {total:,} cases in {seconds:.0f} s.",
            "",
            "| campaign | of | seeds | cases | struck | failures |",
            "|---|---|---|--:|--:|--:|",
            *rows,
        ]
    )


def _list_subjects(kind: str, outcomes: Sequence[Outcome]) -> dict[str, None]:
    names = (outcome.name.removeprefix(kind).strip() for outcome in outcomes)
    return dict.fromkeys(name.removesuffix(", fresh").removesuffix(", warm") for name in names)


def _write(page: Path, table: str) -> None:
    before, _, rest = page.read_text("utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    page.write_text(f"{before}{BEGIN}\n{table}\n{END}{after}", "utf-8")


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())

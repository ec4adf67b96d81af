"""`python -m torture.mutants`: which faults, planted one at a time, the tests of their room find.

A sample of those that mutmut 2 (`uv tool install "mutmut<3"`) can plant in the functions of modules
that others trust is planted in a copy of the last commit, and looked for by the test file beside,
then by the others of its folder. The table says of each whether it was killed. A call goes on where
the table ends; `--check` plants again what is in it. Lines have no numbers, so that they may move.
"""

import argparse
import csv
import hashlib
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from torture.commands import ROOT
from torture.planting import Copy, Mutant, list_mutants

TABLE = Path(__file__).with_suffix(".csv")
TESTS = {
    "eval/collections/authoring/span_location.py": "eval/collections/test_init.py",
    "eval/scoring/calculation.py": "eval/scoring/test_scoring.py",
    "eval/scoring/join.py": "eval/scoring/test_join.py",
    "eval/scoring/joined.py": "eval/scoring/test_joined.py",
    "eval/scoring/measures.py": "eval/scoring/test_measures.py",
    "eval/statistics/estimates.py": "eval/statistics/test_statistics.py",
    "eval/statistics/max_t.py": "eval/statistics/test_max_t.py",
    "eval/statistics/significance.py": "eval/statistics/test_significance.py",
    "eval/studies/gate/baseline.py": "eval/studies/gate/test_baseline.py",
    "eval/studies/gate/rule.py": "eval/studies/gate/test_gate_rule.py",
    "eval/studies/judging/server.py": "eval/studies/judging/test_judging_server.py",
    "eval/tracking/delivery.py": "eval/tracking/test_tracking_store.py",
    "eval/tracking/record.py": "eval/tracking/test_tracking_record.py",
    "eval/tracking/server.py": "eval/tracking/test_mlflow_pages.py",
    "retrievers/base/quotes.py": "eval/collections/test_collections_quotes.py",
    "retrievers/fusion/fusion.py": "retrievers/fusion/test_fusion.py",
    "retrievers/fusion/ranking.py": "retrievers/fusion/test_ranking.py",
    "retrievers/pipeline/pipeline.py": "retrievers/pipeline/test_variants.py",
    "retrievers/pipeline/variants.py": "retrievers/pipeline/test_variants.py",
    "retrievers/settings/trust.py": "eval/configs/test_trust.py",
    "retrievers/store/files.py": "retrievers/store/test_store_files.py",
    "retrievers/store/locks.py": "retrievers/store/test_locks.py",
    "retrievers/store/paths.py": "eval/configs/test_paths.py",
}


def draw(mutants: Iterable[Mutant], seed: int, count: int) -> list[Mutant]:
    """Return a sample that hardly changes with the module: a mutant's lot depends on no other."""

    def lot(mutant: Mutant) -> bytes:
        return hashlib.sha256("\t".join((str(seed), *mutant)).encode()).digest()

    return sorted(mutants, key=lot)[:count]


def read_table() -> dict[Mutant, bool]:
    """Return whether each mutant of the table was killed; nothing where there is none."""
    if not TABLE.exists():
        return {}
    with TABLE.open(encoding="utf-8", newline="") as file:
        return {Mutant(*row[:-1]): row[-1] == "yes" for row in list(csv.reader(file))[1:]}


def write_table(killed: Mapping[Mutant, bool]) -> None:
    """Write the table, sorted."""
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*Mutant._fields, "killed"])
        writer.writerows([*mutant, "yes" if killed[mutant] else "no"] for mutant in sorted(killed))


def main(words: Sequence[str] | None = None) -> int:
    """Plant and look; with --check 1 where one survives that was killed."""
    parser = argparse.ArgumentParser(prog="python -m torture.mutants", description=__doc__)
    parser.add_argument("modules", nargs="*", default=list(TESTS), help=f"of {', '.join(TESTS)}")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=8, help="mutants of each module")
    parser.add_argument("--check", action="store_true", help="plant those of the table again")
    arguments, table = parser.parse_args(words), read_table()
    if unknown := {*arguments.modules, *(mutant.module for mutant in table)} - TESTS.keys():
        parser.error(f"{min(unknown)}: not among the modules that are tried: {', '.join(TESTS)}")
    if not shutil.which("mutmut"):
        parser.error('mutmut is not installed: uv tool install "mutmut<3"')
    counts = Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        copy = Copy(ROOT, Path(folder, "copy"))
        for module in arguments.modules:
            path = copy.folder / module
            mutants = list_mutants(module, path.read_text()) if path.exists() else {}
            wanted = [mutant for mutant in table if mutant.module == module]
            if not arguments.check:
                drawn = draw(mutants, arguments.seed, arguments.count)
                wanted = [mutant for mutant in drawn if mutant not in table]
            for mutant in wanted:
                said = "gone"
                if mutant in mutants:
                    killed = copy.kills(module, mutants[mutant], Path("tests", TESTS[module]))
                    said = "killed" if killed else "LOST" if table.get(mutant) else "survived"
                    if not arguments.check:
                        table[mutant] = killed
                        write_table(table)
                counts[said] += 1
                print(f"{said}: {' | '.join(mutant)}", flush=True)
    print(", ".join(f"{number} {said}" for said, number in sorted(counts.items())))
    return int(counts["LOST"] > 0)


if __name__ == "__main__":
    sys.exit(main())

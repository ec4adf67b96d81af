"""`python -m torture.mutants`: which faults, planted one at a time, the tests do not find.

Each is planted by mutmut 2 (`uv tool install "mutmut<3"`), in a copy of the last commit, in a
module that guards something, and looked for by the tests beside its name. Prints what was found of
all, and each that was not as a difference.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile

from torture.commands import ROOT

TESTS = {
    "retrievers/settings/trust.py": "eval/configs/test_trust.py",
    "retrievers/store/paths.py": "eval/configs/test_paths.py",
    "retrievers/store/files.py": "retrievers/store/test_store_files.py",
    "retrievers/store/locks.py": "retrievers/store/test_locks.py",
    "eval/studies/judging/server.py": "eval/studies/judging/test_judging_server.py",
    "eval/tracking/server.py": "eval/tracking/test_mlflow_pages.py",
}
FOUND, MISSED = ("killed", "timeout", "suspicious"), ("survived",)


def main() -> int:
    """Plant and look; 1 where something was not found."""
    parser = argparse.ArgumentParser(prog="python -m torture.mutants", description=__doc__)
    parser.add_argument("modules", nargs="*", default=list(TESTS), help=f"of {', '.join(TESTS)}")
    modules, left = parser.parse_args().modules, 0
    if unknown := [name for name in modules if name not in TESTS]:
        parser.error(f"{unknown[0]}: not among the modules that are tried: {', '.join(TESTS)}")
    if not (mutmut := shutil.which("mutmut")):
        parser.error('mutmut is not installed: uv tool install "mutmut<3"')
    for module in modules:
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(["git", "clone", "-q", ROOT, folder], check=True)

            def call(*arguments: str, folder: str = folder) -> str:
                environment = os.environ | {"PYTHONPATH": folder, "PYTHONDONTWRITEBYTECODE": "1"}
                done = subprocess.run(
                    [mutmut, *arguments], cwd=folder, env=environment, stdout=subprocess.PIPE
                )
                return done.stdout.decode()

            # To mutmut only 1 says that tests failed: it is 2 where a module cannot be imported.
            pytest = f"{sys.executable} -m pytest -x -q -p no:cacheprovider tests/{TESTS[module]}"
            runner = f"sh -c '{pytest} || exit 1'"
            call("run", "--paths-to-mutate", module, "--tests-dir", "tests", "--runner", runner)
            found, missed = (
                [id_ for kind in kinds for id_ in call("result-ids", kind).split()]
                for kinds in (FOUND, MISSED)
            )
            left += len(missed)
            print(f"{module}: {len(found)} of {len(found) + len(missed)}", flush=True)
            for id_ in missed:
                print(call("show", id_), flush=True)
    return int(left > 0)


if __name__ == "__main__":
    sys.exit(main())

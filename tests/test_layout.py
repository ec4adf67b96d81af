"""How the project is laid out: what ships, what imports what, and what no file may hold."""

import ast
import re
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PACKAGES = ("retrievers", "eval")
HEAVY = {
    "bm25s", "httpx", "ir_measures", "jinja2", "mlflow", "numpy", "onnxruntime", "pandas",
    "pyarrow", "pydantic", "qdrant_edge", "rich", "scipy", "sentence_transformers", "tokenizers",
    "torch", "yaml",
}  # fmt: skip
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_datasets_is_no_package() -> None:
    """It would shadow Hugging Face `datasets`."""
    assert (ROOT / "datasets").is_dir()
    assert not list((ROOT / "datasets").rglob("*.py"))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The names of the files in the wheel."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (path,) = folder.glob("*.whl")
    return zipfile.ZipFile(path).namelist()


def test_the_wheel_holds_the_two_packages_and_nothing_else(wheel: list[str]) -> None:
    folders = {name.partition("/")[0] for name in wheel}
    assert {folder for folder in folders if not folder.endswith(".dist-info")} == set(PACKAGES)


def test_the_wheel_holds_every_file_of_the_packages(wheel: list[str]) -> None:
    files = {
        path.relative_to(ROOT).as_posix()
        for package in PACKAGES
        for path in (ROOT / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {name for name in files if name.startswith("eval/report/templates/")}
    assert files <= set(wheel)


def read_imports(source: str, package: str) -> Iterator[str]:
    """Yield the dotted name of everything that a module of `package` imports, at any depth."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: -node.level + 1 or None] if node.level else []
            module = ".".join([*above, *filter(None, [node.module])])
            yield from (f"{module}.{name.name}" for name in node.names)


def is_forbidden(name: str, module: str) -> bool:
    """Return whether `module`, a path below the root, must not import `name`."""
    if module.startswith("retrievers/"):
        return f"{name}.".startswith("eval.")
    if module.startswith("eval/cli/"):
        return False
    if f"{name}.".startswith("eval.cli."):
        return module != "eval/api.py"
    return f"{name}.".startswith("retrievers.") and not f"{name}.".startswith("retrievers.base.")


def find_forbidden(source: str, module: str) -> list[str]:
    package = module.rpartition("/")[0].replace("/", ".")
    return [name for name in read_imports(source, package) if is_forbidden(name, module)]


def test_the_judge_knows_only_the_contract_and_the_retrievers_no_judge() -> None:
    modules = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    forbidden = {
        module: found
        for module in (path.relative_to(ROOT).as_posix() for path in modules)
        if (found := find_forbidden((ROOT / module).read_text(), module))
    }
    assert not forbidden


@pytest.mark.parametrize(
    ("module", "source", "forbidden"),
    [
        ("retrievers/legs/x.py", "from eval import runs", True),
        ("retrievers/legs/x.py", "def f():\n    import eval.runs", True),
        ("retrievers/legs/x.py", "import evaluation", False),
        ("retrievers/legs/x.py", "from retrievers.legs import base", False),
        ("eval/x.py", "from retrievers.base import Hit", False),
        ("eval/x.py", "from retrievers import base", False),
        ("eval/x.py", "import retrievers", True),
        ("eval/x.py", "from retrievers import config", True),
        ("eval/report/x.py", "from ...retrievers.store import cache", True),
        ("eval/report/x.py", "from ..runs import read", False),
        ("eval/x.py", "if True:\n    from retrievers.pipeline import Pipeline", True),
        ("eval/cli/x.py", "from retrievers.pipeline import Pipeline", False),
        ("eval/x.py", "from eval.cli.run import make_run", True),
        ("eval/api.py", "from eval.cli.run import make_run", False),
        ("eval/api.py", "from retrievers.pipeline import Pipeline", True),
    ],
)
def test_a_forbidden_import_is_found(module: str, source: str, forbidden: bool) -> None:
    assert bool(find_forbidden(source, module)) is forbidden


# Written so that no pattern matches itself.
NOWHERE = {
    "a registry's address": r"pypi\.org|pythonhosted\.[o]rg|download\.pytorch\.[o]rg",
    "a merge conflict": r"^(?:<{7}|>{7}) ",
}
NOT_IN_SOURCES = {
    "a path of one machine": r"/(?:root|work|Users)/\w|/home/[a-z]\w*/",
    "a mark of unfinished work": r"\b(?:TO[D]O|FIX[M]E|XX[X]|HAC[K])\b",
    "a debugger's call": r"\bbreakpoint[(]\)|\bset_trace[(]\)",
}


def find_leftovers(text: str, patterns: dict[str, str]) -> list[str]:
    return [
        f"line {text.count(chr(10), 0, match.start()) + 1}: {what}: {match.group()}"
        for what, pattern in patterns.items()
        for match in re.finditer(pattern, text, re.MULTILINE)
    ]


def test_no_file_holds_what_must_not_be_published() -> None:
    """A collection is prose and may speak of paths; addresses are wrong even there."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    found = {}
    for name in filter(None, listed.split("\0")):
        path = ROOT / name
        if not path.is_file() or b"\0" in (content := path.read_bytes()):
            continue
        in_sources = not name.startswith(("datasets/", "LICENSE"))
        patterns = NOWHERE | (NOT_IN_SOURCES if in_sources else {})
        if leftovers := find_leftovers(content.decode(), patterns):
            found[name] = leftovers
    assert not found


@pytest.mark.parametrize(
    "text",
    [
        "index = https://" + "pypi" + ".org/simple",
        "open('/" + "root/probe/x')",
        "cd /" + "home/anna/assay",
        "# TO" + "DO: later",
        "x\n" + "<" * 7 + " HEAD",
        "break" + "point()",
    ],
)
def test_a_leftover_is_found(text: str) -> None:
    assert find_leftovers(text, NOWHERE | NOT_IN_SOURCES)


def test_help_imports_no_heavy_library() -> None:
    code = (
        "import sys; from eval.cli.main import main; sys.argv = ['assay', '--help']\n"
        "try: main()\n"
        "finally: print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.startswith("Usage: assay")
    loaded = set(done.stderr.split())
    assert "click" in loaded
    assert not loaded & HEAVY


def read_lock(name: str) -> dict[str, list[Requirement]]:
    """Return the pins of a lock by package; one package may have a pin per Python version."""
    pins: dict[str, list[Requirement]] = {}
    for block in re.split(r"\n(?=\w)", (ROOT / f"requirements/{name}.txt").read_text()):
        if not block.startswith("#"):
            assert " --hash=sha256:" in block, block
            pin = Requirement(block.partition(" \\\n")[0])
            pins.setdefault(canonicalize_name(pin.name), []).append(pin)
    return pins


EXTRAS = PROJECT["project"]["optional-dependencies"]
GROUPS = PROJECT["dependency-groups"]
BASE = PROJECT["project"]["dependencies"] + GROUPS["build"]
LOCKS = {
    "base": BASE,
    "dev": BASE + GROUPS["dev"] + EXTRAS["irds"] + EXTRAS["notebooks"],
    "st": [*BASE, *(text for text in EXTRAS["st"] if not text.startswith("torch"))],
}


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_pins_what_the_project_asks_for(name: str) -> None:
    """`make lock` mends this."""
    pins = read_lock(name)
    for wanted in map(Requirement, LOCKS[name]):
        for pin in pins[canonicalize_name(wanted.name)]:
            (specifier,) = pin.specifier
            assert specifier.operator == "=="
            assert wanted.specifier.contains(specifier.version), f"{pin} is not {wanted}"
    assert "torch" not in pins


@pytest.mark.parametrize("name", ["dev", "st"])
def test_the_locks_agree(name: str) -> None:
    """On versions: an extra may need a package where the project itself does not."""
    base, other = read_lock("base"), read_lock(name)
    found = {package: list_versions(other.get(package, [])) for package in base}
    assert found == {package: list_versions(pins) for package, pins in base.items()}


def list_versions(pins: list[Requirement]) -> set[tuple[str, str]]:
    """Return the versions of a package, each with where it holds if there are several."""
    return {(str(pin.specifier), str(pin.marker) if len(pins) > 1 else "") for pin in pins}


def test_no_two_test_files_share_a_name() -> None:
    """Without packages in `tests`, pytest takes the second for the first."""
    names = [path.name for path in (ROOT / "tests").rglob("test_*.py")]
    assert sorted(names) == sorted(set(names))

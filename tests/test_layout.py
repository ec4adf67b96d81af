"""How the project is laid out: what ships, what imports what, and what no file may hold."""

import ast
import re
import subprocess
import sys
import zipfile
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("retrievers", "eval")
HEAVY = {
    "bm25s", "httpx", "ir_measures", "jinja2", "mlflow", "numpy", "onnxruntime", "pandas",
    "pyarrow", "pydantic", "qdrant_edge", "ray", "rich", "scipy", "sentence_transformers",
    "tokenizers", "torch", "yaml",
}  # fmt: skip


def test_datasets_is_no_package():
    """It would shadow Hugging Face `datasets`."""
    assert (ROOT / "datasets").is_dir()
    assert not list((ROOT / "datasets").rglob("*.py"))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The names of the files in the wheel."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (path,) = folder.glob("*.whl")
    return zipfile.ZipFile(path).namelist()


def test_the_wheel_holds_one_package_with_every_file_and_nothing_else(wheel):
    folders = {name.partition("/")[0] for name in wheel}
    assert {folder for folder in folders if not folder.endswith(".dist-info")} == {"assay"}
    files = {
        f"assay/{path.relative_to(ROOT).as_posix()}"
        for package in PACKAGES
        for path in (ROOT / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    files |= {path.relative_to(ROOT).as_posix() for path in (ROOT / "assay").glob("*.py")}
    assert {name for name in files if name.endswith(".j2")}
    assert files <= set(wheel)
    shipped = {name.removeprefix("assay/eval/shipped/datasets/") for name in wheel}
    assert {"tarnwick/dataset.yaml", "tarnwick/queries.jsonl"} <= shipped
    assert {name for name in shipped if name.startswith("scifact/")} == {"scifact/dataset.yaml"}


@cache
def read_imports(source, package):
    """Return the dotted name of everything that a module of `package` imports, at any depth."""
    names = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names += (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: -node.level + 1 or None] if node.level else []
            module = ".".join([*above, *filter(None, [node.module])])
            names += (f"{module}.{name.name}" for name in node.names)
    return names


# What the rest of the judge may know of `retrievers`: the contract, and how files become text.
KNOWN = (
    "assay.retrievers.base.", "assay.retrievers.documents.conversion.",
    "assay.retrievers.settings.", "assay.retrievers.store.",
)  # fmt: skip
# Rooms of the judge that may use all of `retrievers`.
JOINING = ("eval/configs/", "eval/running/", "eval/cluster/", "eval/llm/", "eval/studies/")
# It makes the pages of the commands from the commands themselves.
SHOWS_COMMANDS = "scripts/docs_site/command_pages.py"


def is_forbidden(name, module):
    """Return whether `module`, a path below the root, must not import `name`."""
    name = f"{name}."
    if name.startswith(("eval.", "retrievers.")):
        return True  # by their names in `assay` alone: a user may have packages of these names
    if module.startswith("retrievers/"):
        return name.startswith("assay.eval.")
    if name.startswith("assay.eval.cli."):
        return not module.startswith("eval/cli/") and module != SHOWS_COMMANDS
    if module.startswith(JOINING):
        return False
    return name.startswith("assay.retrievers.") and not name.startswith(KNOWN)


def name_package(path):
    """Return the package that the module at `path`, from the root, is imported in."""
    folder = path.rpartition("/")[0].replace("/", ".")
    return f"assay.{folder}" if folder.startswith(PACKAGES) else folder


def find_forbidden(source, module):
    package = name_package(module)
    return [name for name in read_imports(source, package) if is_forbidden(name, module)]


def test_the_judge_knows_only_the_contract_and_the_retrievers_no_judge():
    forbidden = {
        module: found
        for module in list_modules(*PACKAGES)
        if (found := find_forbidden((ROOT / module).read_text(), module))
    }
    assert not forbidden


def test_nobody_outside_imports_the_command_line():
    modules = list_modules("benchmarks", "scripts", "examples")
    assert len(modules) > 10
    found = {module: find_forbidden((ROOT / module).read_text(), module) for module in modules}
    assert not [name for names in found.values() for name in names if ".eval.cli." in f"{name}."]


def test_types_are_checked_in_every_file():
    """Where the links in `assay` are not followed, mypy checks one file and finds nothing wrong."""
    code = "from mypy.main import process_options; print(len(process_options([])[0]))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    files = len(list_modules(*PACKAGES)) + len(list((ROOT / "assay").glob("*.py")))
    assert int(done.stdout) >= files > 700, done.stderr


def list_modules(*folders):
    """Return the paths of all Python files in `folders`, from the root."""
    paths = (path for folder in folders for path in (ROOT / folder).rglob("*.py"))
    return sorted(path.relative_to(ROOT).as_posix() for path in paths)


def read_graph(sources):
    """Return, by module, the modules it imports; `sources` holds each one's text by its path."""
    names = {
        f"{name_package(path)}.{Path(path).stem}".removesuffix(".__init__"): path
        for path in sources
    }
    graph = {name: set() for name in names}
    for name, path in names.items():
        for imported in read_imports(sources[path], name_package(path)):
            parent = imported.rpartition(".")[0]
            target = imported if imported in names else parent
            if target in names and target != name:
                graph[name].add(target)
    return graph


def find_circles(graph):
    """Return the modules that import one another, directly or by way of others."""
    reached = {name: reach(graph, name) for name in graph}
    circles = {
        tuple(sorted(other for other in reached[name] if name in reached[other]))
        for name in graph
        if name in reached[name]
    }
    return [list(circle) for circle in sorted(circles)]


def reach(graph, start):
    found = set()
    ahead = list(graph[start])
    while ahead:
        if (name := ahead.pop()) not in found:
            found.add(name)
            ahead.extend(graph[name])
    return found


def test_no_modules_import_one_another():
    """Neither at the top, nor inside functions, nor for type checkers alone."""
    sources = {module: (ROOT / module).read_text() for module in list_modules(*PACKAGES)}
    assert find_circles(read_graph(sources)) == []


def test_a_circle_is_found():
    sources = {
        "eval/a.py": "from assay.eval import b",
        "eval/b.py": "def f():\n    from assay.eval.c import x",
        "eval/c.py": "if TYPE_CHECKING:\n    from assay.eval.a import y",
        "eval/d.py": "import assay.eval.a",
        "eval/__init__.py": "",
    }
    assert find_circles(read_graph(sources)) == [["assay.eval.a", "assay.eval.b", "assay.eval.c"]]


CORE = {
    "cluster", "collections", "configs", "llm", "no_telemetry", "progress", "report", "running",
    "runs", "scoring", "shipped", "statistics", "tracking", "tracking_failures",
}  # fmt: skip
FACES = {"api", "cli", "pytest_plugin"}
# The studies that a study builds on.
BUILDS_ON = {
    "ablation": {"comparison"},
    "gate": {"comparison"},
    "questions": {"comparison"},
    "gate_files": {"gate"},
    "run": {"comparison"},
    "stores": {"comparison"},
    "targets": {"ingestion"},
    "threshold": {"tuning"},
    "traces": {"questions"},
    "tuning": {"comparison"},
}


def find_wrong_arrows(graph):
    """Return the imports that run against faces → studies → core, or from study to study."""
    wrong = []
    for module, imported in graph.items():
        room, study = find_room(module)
        for name in imported:
            other, other_study = find_room(name)
            allowed = (
                room in FACES
                or other in CORE
                or (room == "studies" and other == "studies" and study == other_study)
                or (room == "studies" and other_study in BUILDS_ON.get(study, set()))
            )
            if not allowed:
                wrong.append(f"{module} imports {name}")
    return sorted(wrong)


def find_room(module):
    """Return the room of the judge that a module is in, and its study, if any."""
    _, _, room, study, *_ = [*module.split("."), "", "", ""]
    return room, study if room == "studies" else ""


def read_judge():
    """Return the imports within the judge, without its root."""
    graph = read_graph({path: (ROOT / path).read_text() for path in list_modules("eval")})
    return {name: found - {"assay.eval"} for name, found in graph.items() if name != "assay.eval"}


def test_the_core_knows_no_study_and_a_study_few_others():
    assert find_wrong_arrows(read_judge()) == []


def test_every_room_is_core_study_or_face_and_the_written_list_is_what_is_used():
    graph = read_judge()
    assert {find_room(name)[0] for name in graph} == CORE | FACES | {"studies"}
    used = {}
    for module, imported in graph.items():
        study = find_room(module)[1]
        for other in {find_room(name)[1] for name in imported} - {"", study}:
            if study:
                used.setdefault(study, set()).add(other)
    assert used == BUILDS_ON


def test_a_wrong_arrow_is_found():
    graph = {
        "assay.eval.runs.stored": {"assay.eval.studies.gate.rule", "assay.eval.scoring.join"},
        "assay.eval.studies.gate.rule": {
            "assay.eval.studies.tuning.tuning_report",
            "assay.eval.cli.main",
        },
        "assay.eval.cli.gate": {"assay.eval.studies.gate.rule"},
    }
    assert find_wrong_arrows(graph) == [
        "assay.eval.runs.stored imports assay.eval.studies.gate.rule",
        "assay.eval.studies.gate.rule imports assay.eval.cli.main",
        "assay.eval.studies.gate.rule imports assay.eval.studies.tuning.tuning_report",
    ]


MOST_FILES = 20  # in a folder; the command line has a file a command
MORE = {"eval/cli": 48}


def test_no_folder_is_a_drawer():
    counts = {}
    for module in list_modules(*PACKAGES):
        folder, _, name = module.rpartition("/")
        counts[folder] = counts.get(folder, 0) + (name != "__init__.py")
    assert not {name: n for name, n in counts.items() if n > MORE.get(name, MOST_FILES)}


# Studies with a template of their own. All others show reports of blocks; the list only shrinks.
WITH_TEMPLATES = {"comparison", "judging", "run"}
FACE_LIBRARIES = {"click", "jinja2", "rich"}


def test_a_study_shows_itself_by_blocks():
    templates = (ROOT / "eval").rglob("*.j2")
    rooms = {path.relative_to(ROOT / "eval").parts for path in templates}
    assert {parts[1] for parts in rooms if parts[0] == "studies"} == WITH_TEMPLATES
    assert {parts[0] for parts in rooms} == {"report", "studies"}
    imported = {
        name.partition(".")[0]
        for module in list_modules("eval/studies")
        for name in read_imports((ROOT / module).read_text(), name_package(module))
    }
    assert "scipy" in imported
    assert not imported & FACE_LIBRARIES


@pytest.mark.parametrize(
    ("module", "source", "forbidden"),
    [
        ("retrievers/legs/x.py", "from assay.eval import runs", True),
        ("retrievers/legs/x.py", "def f():\n    import assay.eval.runs", True),
        ("retrievers/legs/x.py", "import evaluation", False),
        ("eval/x.py", "from assay.retrievers import base", False),
        ("eval/x.py", "import assay.retrievers", True),
        ("eval/running/x.py", "from retrievers.pipeline import Pipeline", True),
        ("retrievers/legs/x.py", "import retrievers.base", True),
        ("benchmarks/x.py", "from eval.runs import stored", True),
        ("eval/x.py", "from assay.retrievers import config", True),
        ("eval/report/x.py", "from ...retrievers.engines import base", True),
        (
            "eval/x.py",
            "if True:\n    from assay.retrievers.pipeline.pipeline import Pipeline",
            True,
        ),
        ("eval/cli/x.py", "from assay.retrievers.pipeline.pipeline import Pipeline", True),
        ("eval/cli/x.py", "from assay.eval.cli.output import print_json", False),
        ("eval/running/x.py", "from assay.retrievers.pipeline.pipeline import Pipeline", False),
        ("eval/running/x.py", "from assay.eval.cli.run import run", True),
        ("benchmarks/x.py", "from assay.eval.cli.run import run", True),
        ("scripts/docs_site/x.py", "from assay.eval.cli.main import assay", True),
        ("scripts/docs_site/command_pages.py", "from assay.eval.cli.main import assay", False),
        ("eval/api/x.py", "from assay.retrievers.pipeline.pipeline import Pipeline", True),
    ],
)
def test_a_forbidden_import_is_found(module, source, forbidden):
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


def find_leftovers(text, patterns):
    return [
        f"line {text.count(chr(10), 0, match.start()) + 1}: {what}: {match.group()}"
        for what, pattern in patterns.items()
        for match in re.finditer(pattern, text, re.MULTILINE)
    ]


def test_no_file_holds_what_must_not_be_published():
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
def test_a_leftover_is_found(text):
    assert find_leftovers(text, NOWHERE | NOT_IN_SOURCES)


def test_help_imports_no_heavy_library():
    code = (
        "import sys; from assay.eval.cli.main import main; sys.argv = ['assay', '--help']\n"
        "try: main()\n"
        "finally: print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.startswith("Usage: assay")
    loaded = set(done.stderr.split())
    assert "click" in loaded
    assert not loaded & HEAVY


# What the clients of engines, services and frameworks are imported by.
CLIENTS = {
    "anthropic", "apsw", "azure", "chromadb", "elasticsearch", "faiss", "grpc", "lancedb",
    "langchain_core", "mssql_python", "neo4j", "openai", "opensearchpy", "pinecone", "psycopg",
    "pymilvus", "pymongo", "qdrant_client", "ragas", "ray", "redis",
    "sentence_transformers", "torch", "weaviate",
}  # fmt: skip


def test_a_config_imports_no_extra():
    """Where an extra is missing, pipelines without it work; where it is there, nothing waits."""
    code = (
        "import sys; from assay.eval.running.run import make_run\n"
        "from assay.eval.configs.config import load_config\n"
        "load_config('configs/hybrid_rrf.yaml')\n"
        "print(*{name.partition('.')[0] for name in sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    loaded = set(done.stdout.split())
    assert "pydantic" in loaded, done.stderr
    assert not loaded & CLIENTS


def test_no_two_test_files_share_a_name():
    """Without packages in `tests`, pytest takes the second for the first."""
    names = [path.name for path in (ROOT / "tests").rglob("test_*.py")]
    assert sorted(names) == sorted(set(names))


# What tests reach past a public name for; this only shrinks.
PRIVATE = {"assay.retrievers.documents.conversion.converter._convert"}


def find_private(source):
    """Return the private names of the project that a test imports."""
    return {
        name
        for name in read_imports(source, "tests")
        if name.startswith("assay.") and re.search(r"\._(?!_)", name)
    }


def test_no_test_imports_a_private_name():
    found = [find_private(path.read_text()) for path in (ROOT / "tests").rglob("*.py")]
    assert set().union(*found) == PRIVATE
    assert find_private("from assay.eval.runs import _x") == {"assay.eval.runs._x"}
    assert not find_private("from assay.eval import __main__\nfrom re import _parser")

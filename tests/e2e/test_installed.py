"""Assay as others have it: its wheel in an environment of its own, in a repository of theirs."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from zipfile import ZipFile

import pytest
import yaml
from test_requirements import UNLOCKED
from tools.processes import ROOT

pytestmark = pytest.mark.slow

Call = Callable[..., subprocess.CompletedProcess[str]]

DOCUMENTS = {
    "ferry": "# The ferry\n\nThe ferry sails twice a day, at nine and at five.\n",
    "dogs": "# Animals\n\nDogs stay on deck. Cats travel in a basket.\n",
    "bikes": "# Luggage\n\nBicycles travel free of charge. Trunks cost four crowns.\n",
    "weather": "# Storms\n\nIn a storm the ferry stays in the harbour of Brill.\n",
}
QUESTIONS = """\
question,quote
When does the ferry sail?,"at nine and at five"
Where do dogs stay?,Dogs stay on deck
What do bicycles cost?,Bicycles travel free of charge
Where is the ferry in a storm?,stays in the harbour of Brill
"""


def call(*command, cwd, **environment):
    """Return what a command printed; it must succeed."""
    done = subprocess.run(
        list(map(str, command)),
        cwd=cwd,
        env=os.environ | environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    call(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder, cwd=ROOT)
    (path,) = folder.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def environment(wheel, tmp_path_factory):
    """The programs of an environment that holds the wheel alone.

    What the wheel needs is linked from this one, where the locks put it.
    """
    folder = tmp_path_factory.mktemp("environment")
    call(sys.executable, "-m", "venv", "--without-pip", folder, cwd=folder)
    python = folder / "bin/python"
    pip = (sys.executable, "-m", "pip", "--python", python)
    call(*pip, "install", "--quiet", "--no-deps", "--no-index", wheel, cwd=folder)
    (packages,) = folder.glob("lib/python*/site-packages")
    (shared,) = {path for path in sys.path if path.endswith("site-packages")}
    (packages / "shared.pth").write_text(f"{shared}\n")
    return folder / "bin"


@pytest.fixture
def installed(environment, tmp_path):
    """Call a program of that environment in a repository of its own; PYTHONPATH names nothing."""
    here = tmp_path / "theirs"
    here.mkdir()
    keep = {"PYTHONPATH": "", "ASSAY_REPORTS": "", "ASSAY_DATASET": "", "ASSAY_TRUST": ""}
    tracking = {"MLFLOW_TRACKING_URI": f"sqlite:///{tmp_path}/mlflow.db", "GITHUB_ACTIONS": ""}

    def run(program, *arguments, **more):
        found = environment / program
        return call(
            found if found.exists() else program,
            *arguments,
            cwd=here,
            **{**keep, **tracking, **more},
        )

    return run


def write_documents(folder):
    """Write documents and the questions on them into `folder`, and return it."""
    (folder / "docs").mkdir()
    for name, text in DOCUMENTS.items():
        (folder / f"docs/{name}.md").write_text(text)
    (folder / "questions.csv").write_text(QUESTIONS)
    return folder


def test_from_a_folder_of_documents_to_the_gate(installed, tmp_path):
    here = write_documents(tmp_path / "theirs")
    installed("git", "init", "--quiet")

    init = ("init", "docs", "--questions", "questions.csv", "--output", "judged")
    made = json.loads(installed("assay", *init, "--ci", "github", "--json"))
    assert (made["documents"], made["queries"], made["unlocated"]) == (4, 4, [])
    assert made["package"] == "", "no other machine has the wheel that was installed"
    (here / "mine.yaml").write_text("base: bm25\nname: mine\ndataset: judged\n")

    run = json.loads(installed("assay", "run", "mine.yaml", "--no-track", "--json"))
    compare = ("compare", "bm25", "mine.yaml", "--dataset", "judged", "--no-track")
    compared = installed("assay", *compare)
    assert "mine and bm25 could be equally good" in compared
    installed("assay", "baseline", "accept", "mine")
    code = "from assay import run; print(run('bm25', collection='./judged', track=False).id)"
    again = installed("python", "-c", code).split()[-1]
    assert again.startswith("bm25-judged-")

    identity = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    installed("git", "add", ".")
    installed("git", *identity, "commit", "--quiet", "--message", "Judge our documents")
    kept = set(installed("git", "ls-files").split())
    assert {"reports/baselines/mine@judged.json", ".github/workflows/assay.yml"} <= kept
    assert not {name for name in kept if name.startswith(f"reports/{run['run']}")}

    # What CI has: the repository as committed, in another place.
    clone = tmp_path / "clone"
    call("git", "clone", "--quiet", here, clone, cwd=tmp_path)
    here.rename(tmp_path / "moved")
    clone.rename(here)
    gated = json.loads(installed("assay", "gate", "mine.yaml", "--json"))
    assert gated["verdict"] in ("pass", "cannot tell")
    manifest = json.loads(next(here.glob("reports/mine-*/manifest.json")).read_text())
    assert manifest["environment"]["git"] == {}
    head = installed("git", "rev-parse", "HEAD").strip()
    assert manifest["environment"]["repository"] == head


@pytest.mark.parametrize("ci", ["github", "gitlab"])
def test_the_job_moves_the_baseline_of_edited_documents(ci, installed, environment, tmp_path):
    """The commands of the job, in clones of a real repository that takes its push."""
    here = write_documents(tmp_path / "theirs")
    (here / "mine.yaml").write_text("base: bm25\nname: mine\ndataset: judged\n")
    origin = tmp_path / "origin.git"
    installed("git", "init", "--quiet", "--initial-branch=main")
    installed("git", "init", "--quiet", "--bare", "--initial-branch=main", str(origin))
    installed("git", "-C", str(origin), "config", "receive.advertisePushOptions", "true")
    init = ("init", "docs", "--questions", "questions.csv", "--output", "judged", "--ci", ci)
    installed("assay", *init)
    job_file = here / {"github": ".github/workflows/assay.yml", "gitlab": ".gitlab/assay.yml"}[ci]
    job_file.write_text(job_file.read_text().replace("judged/pipeline.yaml", "mine.yaml"))
    installed("assay", "run", "mine.yaml", "--no-track")
    installed("assay", "baseline", "accept", "mine")

    def push(message):
        installed("git", "add", "--all")
        identity = ("-c", "user.name=A", "-c", "user.email=a@example.org")
        installed("git", *identity, "commit", "--quiet", "--message", message)
        installed("git", "push", "--quiet", str(origin), "HEAD:main")

    push("Judge our documents")
    dogs = here / "docs/dogs.md"
    dogs.write_text(dogs.read_text().replace("# Animals\n", "# Animals\n\nHorses stay ashore.\n"))
    (here / "docs/bikes.md").rename(here / "docs/luggage.md")
    push("Edit them")

    address = "https://gate:t@forge.example/ours/docs.git"  # that of GitLab's job
    variables = {
        "PATH": f"{environment}:{os.environ['PATH']}",
        "PYTHONPATH": "", "ASSAY_REPORTS": "", "ASSAY_DATASET": "", "ASSAY_TRUST": "",
        "ACCEPT": "--accept-corpus", "GATE_TOKEN": "t", "CI_DEFAULT_BRANCH": "main",
        "CI_SERVER_HOST": "forge.example", "CI_PROJECT_PATH": "ours/docs",
        "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": f"url.{origin}.insteadOf",
        "GIT_CONFIG_VALUE_0": address,
    }  # fmt: skip

    def execute(commands, checkout):
        call("git", "clone", "--quiet", origin, checkout, cwd=tmp_path)
        for command in commands:
            call("bash", "-e", "-c", command, cwd=checkout, **variables)

    def play(checkout):
        """Do what the forge does after a push; installing is another test's."""
        job = yaml.safe_load(job_file.read_text())
        if ci == "gitlab":
            execute(job["assay-gate"]["script"][1:], checkout)
            return
        steps = {name: [step.get("run") for step in part["steps"]]
                 for name, part in job["jobs"].items()}  # fmt: skip
        gate = [command for command in steps["gate"] if command and "pip install" not in command]
        execute(gate, checkout)
        apart = checkout.with_name(f"{checkout.name}-accept")
        (command,) = filter(None, steps["accept"])
        patch = checkout / "assay-accepted.patch"
        execute([f"cp {shlex.quote(str(patch))} .", command], apart)

    def read(*arguments):
        return call("git", "-C", origin, *arguments, cwd=tmp_path)

    play(tmp_path / "first")
    assert read("log", "--format=%s", "main").splitlines() == [
        "Baselines of the changed collection", "Edit them", "Judge our documents"
    ]  # fmt: skip
    changed = read("diff", "--name-only", "main~1", "main").split()
    assert changed == ["reports/baselines/mine@judged.json"]
    play(tmp_path / "second")
    assert read("rev-list", "--count", "main").strip() == "3", "nothing is left to accept"


def test_packages_of_the_users_own_hide_nothing(installed, tmp_path):
    """Beside `eval`, `retrievers` and `tests` of theirs; `datasets` is that of Hugging Face."""
    here = tmp_path / "theirs"
    for name in ("eval", "retrievers", "tests"):
        (here / name).mkdir()
        (here / name / "__init__.py").write_text("WHOSE = 'theirs'\n")
    (here / "docs").mkdir()
    (here / "docs/dogs.md").write_text(DOCUMENTS["dogs"])
    (here / "questions.csv").write_text("question,quote\nWhere do dogs stay?,Dogs stay on deck\n")
    installed("assay", "init", "docs", "--questions", "questions.csv", "--output", "judged")
    code = """
import eval, retrievers, tests, datasets
from assay import compare, run
from assay.retrievers.base import Retriever
from eval import WHOSE
print(WHOSE, retrievers.WHOSE, tests.WHOSE, datasets.__name__, hasattr(datasets, "Dataset"))
print(run("bm25", collection="./judged", track=False).id)
"""
    first, second = installed("python", "-c", code).splitlines()[-2:]
    assert first == "theirs theirs theirs datasets True"
    assert second.startswith("bm25-judged-")


def test_the_job_installs_a_wheel_that_lies_in_the_repository(
    installed, environment, wheel, tmp_path
):
    here = tmp_path / "theirs"
    (here / "docs").mkdir()
    (here / "docs/dogs.md").write_text(DOCUMENTS["dogs"])
    (here / "vendor").mkdir()
    vendored = Path(shutil.copy(wheel, here / "vendor"))
    pip = (sys.executable, "-m", "pip", "--python", str(environment / "python"), "install")
    offline = ("--quiet", "--no-deps", "--no-index")
    call(*pip, *offline, "--force-reinstall", vendored, cwd=here)
    installed("git", "init", "--quiet")
    said = installed("assay", "init", "docs", "--output", "judged", "--ci", "github")
    assert f"the job installs Assay from: ./vendor/{wheel.name}" in said
    gate = yaml.safe_load((here / ".github/workflows/assay.yml").read_text())["jobs"]["gate"]
    (step,) = (step["run"] for step in gate["steps"] if step.get("run", "").startswith("pip "))
    package = gate["env"]["ASSAY_PACKAGE"]
    command = step.replace("pip install", shlex.join([*pip, *offline, "--force-reinstall"]))
    call("bash", "-c", command, cwd=here, ASSAY_PACKAGE=package)
    refused = subprocess.run(["bash", "-c", command], cwd=here, capture_output=True, text=True)
    assert refused.returncode


def test_a_path_of_the_documents_is_answered_with_the_name(environment, tmp_path):
    done = subprocess.run(
        [environment / "assay", "run", "configs/bm25.yaml"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": "", "ASSAY_REPORTS": ""},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert done.stderr.startswith(
        "assay: configs/bm25.yaml: there is no such file here; say `bm25` for "
    )
    assert not list(tmp_path.iterdir())


def test_what_ships_is_there(installed):
    demo = installed("assay", "demo", "--output", "demo").splitlines()
    assert demo[0].startswith("hybrid is better than bm25 for new questions ")
    assert demo[-2] == "next    assay explain demo/hybrid"
    listed = json.loads(installed("assay", "dataset", "list", "--json", ASSAY_DATA=""))["datasets"]
    there = [(entry["name"], entry["available"]) for entry in listed]
    assert there == [("scifact", False), ("tarnwick", True)]
    assert "or take irds:beir/scifact/test" in listed[0]["why_not"]
    shown = json.loads(installed("assay", "config", "show", "hybrid_rrf", "--json"))
    assert (shown["name"], shown["dataset"]) == ("hybrid_rrf", "tarnwick")
    assert installed("assay", "--version").startswith("assay, version ")


def read_extras():
    """Return the extras that hints name: in the sources, of engines and of SDKs."""
    from assay.eval.configs.engine_settings import list_engines

    files = [path for room in ("eval", "retrievers") for path in ROOT.glob(f"{room}/**/*.py")]
    hint = re.compile(r"hint_extra\([\"']([\w-]+)")
    literal = {name for path in files for name in hint.findall(path.read_text())}
    engines = {engine.settings.capabilities.extra for engine in list_engines()}
    return sorted({*literal, *engines, "anthropic", "openai"} - {""})


def test_no_hint_is_written_by_hand():
    for room in ("eval", "retrievers"):
        for path in ROOT.glob(f"{room}/**/*.py"):
            if path.name not in ("installation.py", "workflows.py"):
                assert "pip install" not in path.read_text(), path


def test_every_hint_of_a_wheel_can_be_followed(installed, environment, wheel, tmp_path):
    """By pip, from the wheel and what is installed here: all extras but two, see UNLOCKED."""
    extras = read_extras()
    assert {"ragas", "st", "irds", "redis", "weaviate", "otel"} <= set(extras)
    code = "import sys; from assay.retrievers.base.installation import hint_extra\n"
    code += "for extra in sys.argv[1:]: print(hint_extra(extra))"
    lines = installed("python", "-c", code, *extras).splitlines()
    commands = [shlex.split(line.partition(": ")[2]) for line in lines]
    assert commands == [["pip", "install", f"retrieval-assay[{extra}]"] for extra in extras]
    pip = (sys.executable, "-m", "pip", "--python", str(environment / "python"), "install")
    options = ("--dry-run", "--no-index", "--find-links", str(wheel.parent))
    left_out = {f"retrieval-assay[{extra}]" for extra in UNLOCKED}
    named = [name for *_, name in commands if name not in left_out]
    done = subprocess.run([*pip, *options, *named], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "does not provide the extra" not in done.stderr
    with ZipFile(wheel) as packed:
        (about,) = (name for name in packed.namelist() if name.endswith("/METADATA"))
        assert "\nProvides-Extra: st\n" in packed.read(about).decode()


def test_every_hint_of_a_checkout_can_be_followed(tmp_path):
    for name in (
        "pyproject.toml",
        "Makefile",
        "README.md",
        "requirements",
        "scripts",
        "eval",
        "retrievers",
    ):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / ".venv").symlink_to(sys.prefix)
    follow = {"PIP_DRY_RUN": "1", "PIP_NO_INDEX": "1"}
    said = call("scripts/extra.sh", "ragas", cwd=tmp_path, **follow)
    assert "retrieval-assay" in said
    refused = subprocess.run(
        ["scripts/extra.sh", "rags"], cwd=tmp_path, capture_output=True, text=True
    )
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    assert refused.returncode == 2
    assert refused.stderr.strip() == f"NAME=rags: no extra; there are: {' '.join(extras)}"

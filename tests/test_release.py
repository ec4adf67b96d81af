"""What a release holds: versions, archives, licences, the image, and what publishes it."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest
import yaml
from tools.processes import ROOT

from scripts import licences, release

DOCKERFILE = (ROOT / "docker/Dockerfile").read_text()


@pytest.fixture(scope="module")
def archives(tmp_path_factory):
    """The folder of an sdist, and of the wheel that is built from it, without git, alone."""
    folder = tmp_path_factory.mktemp("archives")
    build("sdist", folder, ROOT)
    shutil.unpack_archive(next(folder.glob("*.tar.gz")), folder)
    (source,) = (path for path in folder.iterdir() if path.is_dir())
    assert not (source / ".git").exists()
    build("wheel", folder, source)
    shutil.rmtree(source)
    return folder


def build(kind, folder, source):
    command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(folder)]
    done = subprocess.run(command, cwd=source, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def list_wheel(folder):
    with ZipFile(next(folder.glob("*.whl"))) as packed:
        return set(packed.namelist())


def test_versions_agree():
    assert release.check_versions(ROOT)


@pytest.mark.slow
def test_archives_are_whole(archives):
    version = release.check_versions(ROOT)
    for path in release.find_archives(archives, version):
        release.check_archive(path, version)


def test_without_links_the_folders_are_found(tmp_path):
    """As Git writes them on Windows: files that hold where they lead."""
    (tmp_path / "assay").mkdir()
    for name in ("__init__.py", "start.py"):
        (tmp_path / "assay" / name).write_text((ROOT / "assay" / name).read_text())
    for name in ("eval", "retrievers"):
        (tmp_path / "assay" / name).write_text(f"../{name}")
        (tmp_path / name).symlink_to(ROOT / name)
    code = "import assay, assay.retrievers.base as base; print(base.__file__); assay.run"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.stdout == f"{tmp_path}/retrievers/base/__init__.py\n", done.stderr


@pytest.mark.slow
def test_the_image_copies_what_the_wheel_is_made_of(archives, tmp_path):
    """The wheel that is built of it holds what the wheel of the sdist does."""
    context = tmp_path / "context"
    for line in re.findall(r"^COPY (?!--)(.+)$", DOCKERFILE, re.MULTILINE):
        *sources, target = line.split()
        for name in sources:
            i = context / target / (Path(name).name if target == "./" else "")
            i.parent.mkdir(parents=True, exist_ok=True)
            copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
            copy(ROOT / name, i)
            assert f"!{name}" in (ROOT / ".dockerignore").read_text().splitlines(), name
    made = tmp_path / "made"
    build("wheel", made, context)
    assert {name for name in list_wheel(made) if "__pycache__" not in name} == list_wheel(archives)


def test_the_image_runs_as_a_user_without_rights():
    stages = re.split(r"^FROM ", DOCKERFILE, flags=re.MULTILINE)[1:]
    assert [stage.split()[0] for stage in stages] == ["${BASE}"] * 2
    assert "\nARG BASE=python:3.13-slim-bookworm\n" in DOCKERFILE
    last = re.findall(r"^([A-Z]+) (.+)$", stages[-1], re.MULTILINE)
    user = last.index(("USER", "assay"))
    assert not [word for word, _ in last[user:] if word in ("RUN", "COPY")]
    assert ("ENTRYPOINT", '["assay"]') in last
    assert "--require-hashes" in stages[0]


PROJECT = '[project]\nversion = "1.2.0"\n'


@pytest.mark.parametrize(
    ("changed", "tag", "line"),
    [
        ({"CITATION.cff": "version: 1.1.0\n"}, None, "CITATION.cff: version 1.1.0; pyproject.toml"),
        ({"CITATION.cff": "title: x\n"}, None, "CITATION.cff: version None"),
        ({"CHANGELOG.md": "## 1.1.0\n"}, None, "CHANGELOG.md: newest is 1.1.0"),
        ({"CHANGELOG.md": "## Unreleased\n"}, "v1.2.0", "CHANGELOG.md: has no heading `## 1.2.0`"),
        ({}, "v1.3.0", "tag v1.3.0: pyproject.toml has 1.2.0, whose tag is v1.2.0"),
    ],
)
def test_versions_that_differ_are_refused(changed, tag, line, tmp_path):
    files = {"pyproject.toml": PROJECT, "CITATION.cff": "version: 1.2.0\n"}
    files["CHANGELOG.md"] = "## Unreleased\n\n## 1.2.0 (2026-11-22)\n\n## 1.1.0\n"
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    assert release.check_versions(tmp_path, "v1.2.0") == "1.2.0"
    for name, text in changed.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(release.ReleaseError, match=re.escape(line)):
        release.check_versions(tmp_path, tag)


def change(path, changed):
    """Write a wheel anew with some of its files as given."""
    files = {**release.read_archive(path), **changed}
    with ZipFile(path, "w") as packed:
        for name, content in files.items():
            packed.writestr(name, content)


@pytest.mark.slow
def test_a_wheel_that_is_not_whole_is_refused(archives, tmp_path):
    version = release.check_versions(ROOT)
    made = next(archives.glob("*.whl"))
    files = release.read_archive(made)
    (about,) = (name for name in files if name.endswith("/METADATA"))
    bare = re.sub(rb"\n\n.*", b"\n\n", files[about], count=1, flags=re.DOTALL)
    wrong = {
        "RECORD is wrong of assay/eval/api/runs.py": {"assay/eval/api/runs.py": b"x"},
        "holds assay/eval/mlflow.db": {"assay/eval/mlflow.db": b"x"},
        "no description": {about: bare},
        "unrecognized field: 'nam'": {about: files[about].replace(b"\nName: ", b"\nNam: ")},
    }
    for line, changed in wrong.items():
        path = tmp_path / made.name
        shutil.copy(made, path)
        change(path, changed)
        with pytest.raises(release.ReleaseError, match=line):
            release.check_archive(path, version)
    (tmp_path / "other-1.0.tar.gz").touch()
    with pytest.raises(release.ReleaseError, match="needs just the wheel and sdist"):
        release.find_archives(tmp_path, version)


@pytest.mark.slow
def test_every_licence_is_known_and_fit():
    pytest.importorskip("cyclonedx", reason="the group `release` is not installed")
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    tables = {lock: licences.list_licences(licences.read_lock(lock)) for lock in licences.LOCKS}
    listed = licences.render(tables)
    assert "| numpy | " in listed.partition("dev.txt")[0]
    assert "| ragas | " in listed.partition("dev.txt")[2]
    bill = json.loads(licences.make_sbom(tables["base"]))
    named = {item["name"]: item for item in bill["components"]}
    assert set(named) == set(tables["base"])
    assert named["pydantic"]["licenses"] == [{"expression": "MIT"}]
    # To validate all of them takes half a minute.
    bill["components"] = [named["pydantic"], named["tqdm"]]
    kept = {item["bom-ref"] for item in [*bill["components"], bill["metadata"]["component"]]}
    bill["dependencies"] = [item for item in bill["dependencies"] if item["ref"] in kept]
    for item in bill["dependencies"]:
        item["dependsOn"] = [ref for ref in item.get("dependsOn", ()) if ref in kept]
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(json.dumps(bill)) is None


@pytest.mark.parametrize(
    ("name", "licence", "fit"),
    [
        ("x", "MIT", True),
        ("x", "(GPL-3.0-only OR MIT) AND Zlib", True),
        ("x", "Apache-2.0 WITH LLVM-exception", True),
        ("x", "MIT AND GPL-3.0-only", False),
        ("x", "LGPL-3.0-only", False),
        ("psycopg", "LGPL-3.0-only", True),
        ("x", "SSPL-1.0", False),
    ],
)
def test_an_unfit_licence_is_refused(name, licence, fit):
    if fit:
        licences.check_licence(name, licence)
    else:
        with pytest.raises(licences.LicenceError, match="is not fit"):
            licences.check_licence(name, licence)


def test_an_unknown_licence_is_refused():
    with pytest.raises(licences.LicenceError, match="is not installed here"):
        licences.list_licences({"no-such-package": "1"})
    assert licences.translate("Proprietary") == []
    assert licences.translate("Apache Software License") == ["Apache-2.0"]


def test_only_a_tag_is_published_and_no_secret_is_needed():
    text = (ROOT / ".github/workflows/release.yml").read_text()
    workflow = yaml.safe_load(text)
    assert workflow[True] == {"push": {"tags": ["v*"]}}
    jobs = workflow["jobs"]
    assert workflow["permissions"] == {"contents": "read"}
    assert jobs["publish"]["needs"] == "build"
    assert jobs["publish"]["permissions"] == {
        "contents": "read",
        "id-token": "write",
        "attestations": "write",
    }
    assert "permissions" not in jobs["build"]
    assert "secrets." not in text
    targets = re.findall(r"make ([a-z-]+)", text)
    makefile = (ROOT / "Makefile").read_text()
    assert targets
    assert all(f"\n{target}:" in makefile for target in targets)


def test_actions_of_others_are_pinned_by_commit():
    ours = [*(ROOT / ".github/workflows").glob("*.yml"), ROOT / "action.yml"]
    texts = [path.read_text() for path in (*ours, ROOT / "eval/studies/gate/workflows.py")]
    used = [name for text in texts for name in re.findall(r"uses: (\S+)", text)]
    others = [name for name in used if name != "./"]
    assert len(others) > 15
    assert [name for name in others if not re.search("@[0-9a-f]{40}$", name)] == []


def test_workflows_hold_nothing_that_zizmor_finds_unsafe():
    zizmor = Path(sys.executable).with_name("zizmor")
    command = [
        str(zizmor),
        "--offline",
        "--min-severity",
        "medium",
        ".github/workflows",
        "action.yml",
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr

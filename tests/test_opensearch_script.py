"""scripts/opensearch.sh as far as nothing is downloaded: what it refuses, what it would take."""

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / "scripts" / "opensearch.sh"
TABLES = sorted((ROOT / "scripts" / "opensearch").iterdir())
JAVA = """#!/bin/sh
echo "    java.home = /nowhere"
echo "    java.specification.version = {version}"
"""
# Instead of Maven: every file that the table names, with nothing of theirs in it.
MAVEN = """#!/bin/sh
cd "$(dirname "$4")"
name='.*<artifactId>\\(.*\\)</artifactId> <version>\\(.*\\)</version><type>\\(.*\\)</type>.*'
sed -n "s|$name|\\1-\\2.\\3|p" pom.xml | while read -r name; do echo other > "$name"; done
"""


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """A folder of programs without Java and Maven."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for tool in (
        "bash", "cat", "dirname", "grep", "head", "id", "kill", "mkdir", "mktemp", "ps", "python3",
        "rm", "sed", "sha256sum", "tail", "tr",
    ):  # fmt: skip
        found = next(Path(part) / tool for part in os.environ["PATH"].split(":")
                     if (Path(part) / tool).exists())  # fmt: skip
        (folder / tool).symlink_to(found)
    return folder


def put(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)


def call(tools: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    home = tools.parent / "home"
    environment = {"PATH": str(tools), "HOME": str(tools), "OPENSEARCH_HOME": str(home),
                   "OPENSEARCH_PORT": "1"}  # fmt: skip
    return subprocess.run(
        ["bash", str(SCRIPT), *arguments], env=environment, capture_output=True, text=True,
        check=False,
    )  # fmt: skip


def refuse(tools: Path, *arguments: str) -> str:
    done = call(tools, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    return done.stderr.splitlines()[-1]


def test_what_is_to_be_mended(tools: Path) -> None:
    assert refuse(tools) == "usage: scripts/opensearch.sh up|down [VERSION]"
    assert refuse(tools, "up", "1.0") == "1.0: no such version; there are: 2.19.1"
    assert refuse(tools, "up") == "java is not installed: OpenSearch 2.19.1 needs Java 17"
    for version in ("1.8", "11", "25"):
        put(tools / "java", JAVA.format(version=version))
        assert refuse(tools, "up").startswith(f"java: version {version}; OpenSearch 2.19.1 needs")
    put(tools / "java", JAVA.format(version="17"))
    assert refuse(tools, "up") == "mvn is not installed: Maven downloads OpenSearch 2.19.1"
    assert call(tools, "down").returncode == 0


def test_what_has_another_digest_is_not_installed(tools: Path) -> None:
    put(tools / "java", JAVA.format(version="17"))
    put(tools / "mvn", MAVEN)
    problem = refuse(tools, "up")
    assert "what was downloaded has another digest: opensearch-2.19.1.zip: FAILED" in problem
    assert list((tools.parent / "home").iterdir()) == []


@pytest.mark.parametrize("table", TABLES, ids=lambda path: path.name)
def test_every_artifact_has_its_digest_and_its_place(table: Path) -> None:
    lines = table.read_text().splitlines()[1:]
    for line in lines:
        assert re.fullmatch(r"[0-9a-f]{64} [\w.-]+(:[\w.-]+){2}:(zip|jar) [\w./-]+", line), line
    assert sum(line.endswith(" .") for line in lines) == 1

"""The scripts of search servers as far as nothing is downloaded: what each refuses, and takes."""

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# The server by its program, with the version that is taken.
SERVERS = {
    "opensearch": ("OpenSearch", "2.19.1"),
    "elasticsearch": ("Elasticsearch", "8.19.21"),
    "neo4j": ("Neo4j", "5.26.0"),
}
NEWEST_JAVA = {"neo4j": "21"}
TABLES = [path for name in ("opensearch", "elasticsearch")
          for path in sorted((ROOT / "scripts" / name).iterdir())]  # fmt: skip
JAVA = """#!/bin/sh
echo "    java.home = /nowhere"
echo "    java.specification.version = {version}"
"""
# Instead of Maven: every file that the table names, with nothing of theirs in it.
MAVEN = """#!/bin/sh
cd "$(dirname "$4")"
name='.*<artifactId>\\(.*\\)</artifactId> <version>\\(.*\\)</version><type>\\(.*\\)</type>.*'
sed -n "s|$name|\\1-\\2.\\3|p" pom.xml | while read -r name; do echo other > "$name"; done
# One that names what it needs gets every file of the list.
folder=$(sed -n 's|.*<outputDirectory>${project.basedir}/\\(.*\\)</outputDirectory>|\\1|p' pom.xml)
if [ -n "$folder" ]; then
    mkdir "$folder"
    while read -r _ name; do echo other > "$folder/$name"; done < "$TABLES/neo4j/$folder"
fi
"""


@pytest.fixture
def tools(tmp_path):
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


def put(path, text):
    path.write_text(text)
    path.chmod(0o755)


def call(tools, name, *arguments):
    home = tools.parent / "home"
    environment = {"PATH": str(tools), "HOME": str(tools), f"{name.upper()}_HOME": str(home),
                   f"{name.upper()}_PORT": "1", "TABLES": str(ROOT / "scripts")}  # fmt: skip
    return subprocess.run(
        ["bash", str(ROOT / "scripts" / f"{name}.sh"), *arguments], env=environment,
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def refuse(tools, name, *arguments):
    done = call(tools, name, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    return done.stderr.splitlines()[-1]


@pytest.mark.parametrize("name", SERVERS)
def test_what_is_to_be_mended(tools, name):
    server, version = SERVERS[name]
    assert refuse(tools, name) == f"usage: scripts/{name}.sh up|down [VERSION]"
    assert refuse(tools, name, "up", "1.0") == f"1.0: no such version; there are: {version}"
    said = refuse(tools, name, "up")
    assert said == f"java is not installed: {server} {version} needs Java 17"
    newest = NEWEST_JAVA.get(name, "23")
    for java in ("1.8", "11", "25"):
        put(tools / "java", JAVA.format(version=java))
        said = refuse(tools, name, "up")
        assert said.startswith(
            f"java: version {java}; {server} {version} needs 17 to {newest} (see "
        )
    put(tools / "java", JAVA.format(version="17"))
    said = refuse(tools, name, "up")
    assert said == f"mvn is not installed: Maven downloads {server} {version}"
    assert call(tools, name, "down").returncode == 0


@pytest.mark.parametrize("name", SERVERS)
def test_what_has_another_digest_is_not_installed(tools, name):
    put(tools / "java", JAVA.format(version="17"))
    put(tools / "mvn", MAVEN)
    problem = refuse(tools, name, "up")
    server, version = SERVERS[name]
    file = r"\S+\.jar" if name == "neo4j" else rf"{name}-{version}\.zip"
    told = rf"{server} {version}: what was downloaded has another digest: {file}: FAILED"
    assert re.search(told, problem)
    assert list((tools.parent / "home").iterdir()) == []


@pytest.mark.parametrize("table", TABLES, ids=lambda path: f"{path.parent.name} {path.name}")
def test_every_artifact_has_its_digest_and_its_place(table):
    lines = table.read_text().splitlines()[1:]
    for line in lines:
        assert re.fullmatch(r"[0-9a-f]{64} [\w.-]+(:[\w.-]+){2}:(zip|jar) [\w./-]+", line), line
    assert sum(line.endswith(" .") for line in lines) == 1


def test_every_file_of_neo4j_has_its_digest():
    for table in (ROOT / "scripts" / "neo4j").iterdir():
        lines = table.read_text().splitlines()[1:]
        for line in lines:
            assert re.fullmatch(r"[0-9a-f]{64}  [\w.-]+\.jar", line), line
        assert sum(f"  neo4j-{table.name}.jar" in line for line in lines) == 1

"""The documents: their links, and the commands in them, as far as they can be told without running.

The README's commands and those of the page Start are run, by tests of their own.
"""

import inspect
import re
import shlex
import subprocess
from urllib.parse import unquote

import click
import pytest
from tools.processes import ROOT

import assay as package
from assay.eval.cli.main import assay

LISTED = subprocess.run(
    ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "*.md"],
    cwd=ROOT,
    check=True,
    capture_output=True,
    text=True,
)
# A collection's documents are data.
PAGES = sorted(
    {
        name
        for name in filter(None, LISTED.stdout.split("\0"))
        if not re.match(r"(datasets/\w+|examples/\w+)/(?!README|GUIDELINES)", name)
        and (ROOT / name).exists()
    }
)
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?![a-z]+:|#)([^)#\s]+)")
PLACE = re.compile(r"`((?:eval|retrievers|tests|scripts|configs|docs|benchmarks|torture)/[\w./]*)`")
SPAN = re.compile(r"`(?:\.venv/bin/)?assay\s([^`]+)`")
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def find_broken_links(text, page):
    links = LINK.findall(FENCE.sub("", text))
    return [link for link in links if not (page.parent / unquote(link)).exists()]


def find_command(words):
    """Return the command that words after `assay` name, and the words that follow its name.

    Raises UsageError where there is no such command.
    """
    context = click.Context(assay, info_name="assay")
    command = assay
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        found = command.get_command(context, words[0])
        if found is None:
            raise click.UsageError(f"no command {words[0]}")
        command, words = found, words[1:]
    return command, words


def check_command(line):
    """Raise UsageError where a line of a shell calls `assay` or `make` as neither can be called."""
    words = shlex.split(line, comments=True)
    for i, word in enumerate(words):
        if word.removeprefix(".venv/bin/") == "assay":
            command, given = find_command(words[i + 1 :])
            context = click.Context(command)
            _, left, _ = command.make_parser(context).parse_args(given)
            if left:
                raise click.UsageError(f"too many arguments: {left}")
            return
        if word == "make":
            wanted = {name for name in words[i + 1 :] if re.fullmatch("[a-z-]+", name)}
            if unknown := wanted - TARGETS:
                raise click.UsageError(f"no target {unknown}")
            return


def check_span(text):
    """Raise UsageError where code in a sentence names a command or option that there is not."""
    words = [word for word in text.split() if re.fullmatch(r"[a-z][a-z_]+", word)]
    command, _ = find_command(words[:2] if text.split()[0] in words else [])
    known = {name for option in command.params for name in option.opts + option.secondary_opts}
    if unknown := set(re.findall(r"(?<=\s)--[a-z-]+", f" {text}")) - known - {"--help", "--debug"}:
        raise click.UsageError(f"no option {unknown}")


def read_commands(text):
    """Yield the command lines of a page: of a `console` block those after `$`, of `sh` all."""
    for language, block in FENCE.findall(text):
        lines = re.sub(r"\\\n\s*", "", block).splitlines()
        if language == "console":
            yield from (line.removeprefix("$ ") for line in lines if line.startswith("$ "))
        elif language in ("sh", "bash"):
            yield from lines


def test_the_pages_are_found():
    assert {"README.md", "docs/start.md", "docs/gate.md", "datasets/README.md"} <= set(PAGES)
    assert sum(len(list(read_commands((ROOT / page).read_text()))) for page in PAGES) > 60


@pytest.mark.parametrize("page", PAGES)
def test_links_and_commands(page):
    text = (ROOT / page).read_text()
    assert find_broken_links(text, ROOT / page) == []
    spans = SPAN.findall(FENCE.sub("", text))
    for check, told in ((check_command, read_commands(text)), (check_span, spans)):
        for line in told:
            try:
                check(line)
            except click.UsageError as error:
                pytest.fail(f"{line}: {error.message}")


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "docs/architecture.md"])
def test_the_map_names_what_there_is(page):
    found = PLACE.findall((ROOT / page).read_text())
    places = [place for place in found if "NAME" not in place]
    assert len(places) > 8
    assert [place for place in places if not (ROOT / place).exists()] == []


@pytest.mark.parametrize(
    "line",
    [
        "assay rum hybrid",
        "assay run hybrid --no-trak",
        ".venv/bin/assay dataset chek tarnwick",
        "assay models list tarnwick",
        "make evil CONFIG=hybrid",
    ],
)
def test_a_wrong_command_is_found(line):
    with pytest.raises(click.UsageError):
        check_command(line)


@pytest.mark.parametrize("text", ["rum hybrid", "run hybrid --no-trak", "dataset chek NAME"])
def test_a_wrong_command_in_a_sentence_is_found(text):
    with pytest.raises(click.UsageError):
        check_span(text)


def test_a_broken_link_is_found():
    text = "[a](gate.md#x) [b](nowhere.md) [c](https://example.org) `x`\n```\n[d](no.md)\n```\n"
    assert find_broken_links(text, ROOT / "docs/x.md") == ["nowhere.md"]


@pytest.mark.parametrize("name", package.__all__)
def test_a_function_of_the_python_api_says_all_of_itself(name):
    assert name in dir(package)
    function = getattr(package, name)
    text = inspect.getdoc(function) or ""
    for section in ("Args", "Returns", "Raises", "Examples"):
        assert f"\n{section}:\n" in text, section
    for parameter in inspect.signature(function).parameters:
        assert f"\n    {parameter}: " in text, parameter


def test_the_pages_stay_few_and_short():
    pages = [ROOT / page for page in PAGES if page.startswith("docs/")]
    assert len(pages) <= 20
    assert sum(len(page.read_text().split()) for page in pages) <= 22_000
    assert len((ROOT / "README.md").read_text().split()) <= 700


def test_the_list_for_language_models_has_every_page():
    pages = re.findall(r"(?:docs|datasets)/[\w/]+\.md", (ROOT / "mkdocs.yml").read_text())
    written = [page for page in pages if (ROOT / page).is_file()]  # others are made of the code
    assert len(written) > 15
    listed = LINK.findall((ROOT / "llms.txt").read_text())
    assert [page for page in listed if page.startswith(("docs/", "datasets/"))] == written

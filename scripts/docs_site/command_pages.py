"""A page a command of the command line, from the help that the command itself prints."""

import re
from collections.abc import Iterator

import click

from assay.eval.cli.commands import COMMANDS
from assay.eval.cli.main import assay

COMMAND_FOLDER = "docs/commands"
HEAD = """\
---
title: All commands
---
# Commands

These pages are what `assay COMMAND --help` prints.
"""
EXIT_CODES = """\
Every command ends with 0 where it did its work, with 2 where something is to be mended, told in
one line, with 3 where it did its work and a tracking store failed, and with 130 where it was
interrupted. `assay gate` ends with 1 for a regression; any other 1 is a defect of Assay.
`--debug`, anywhere, shows where an error was raised.
"""


def render_commands() -> dict[str, str]:
    """Return the pages by their paths: a list of all, and one for each command."""
    context = click.Context(assay, info_name="assay")
    pages = {f"{COMMAND_FOLDER}/index.md": _render_list()}
    for name in COMMANDS:
        command = assay.get_command(context, name)
        assert command is not None
        text = "\n".join(_render(command, name, context, "#"))
        pages[f"{COMMAND_FOLDER}/{name}.md"] = text
    return pages


def _render_list() -> str:
    rows = [
        f"| [`assay {name}`]({name}.md) | {escape(text)} |"
        for name, (_, text, _) in COMMANDS.items()
    ]
    return "\n".join([HEAD, "| command | |\n|---|---|", *rows, "", EXIT_CODES])


def _render(command: click.Command, name: str, parent: click.Context, level: str) -> Iterator[str]:
    context = click.Context(command, info_name=name, parent=parent)
    path = context.command_path
    yield f"{level} `{path}`\n"
    yield f"```text\n{path} {' '.join(command.collect_usage_pieces(context))}\n```\n"
    yield from (f"{paragraph}\n" for paragraph in read_paragraphs(command.help or ""))
    records = (option.get_help_record(context) for option in command.get_params(context))
    rows = [
        f"| {escape_code(names)} | {escape(text)} |"
        for names, text in filter(None, records)
        if text and names != "--help"
    ]
    if rows:
        yield "\n".join(["| option | |\n|---|---|", *rows, ""])
    if isinstance(command, click.Group):
        for inner, found in command.commands.items():
            yield from _render(found, inner, context, f"{level}#")


def read_paragraphs(text: str) -> Iterator[str]:
    """Yield the paragraphs of a help text as Markdown; what click does not wrap, as code."""
    for paragraph in re.split(r"\n\s*\n", text.split("\f")[0].strip()):
        if paragraph.startswith("\b"):
            yield "```text\n" + paragraph.removeprefix("\b").strip("\n") + "\n```"
        else:
            yield escape(" ".join(paragraph.split()))


def escape(text: str) -> str:
    """Return plain text as Markdown that shows the same; what stands in backticks stays.

    Python-Markdown knows no escape of `<`: before that a backslash would be shown.
    """
    parts = re.split(r"(`[^`]*`)", " ".join(text.split()))
    return "".join(
        part.replace("|", "\\|")
        if i % 2
        else re.sub(r"([\\*_>\[\]|#])", r"\\\1", part).replace("<", "&lt;")
        for i, part in enumerate(parts)
    )


def escape_code(text: str) -> str:
    """Return text as code in a cell of a table."""
    return f"`{text}`".replace("|", "\\|")

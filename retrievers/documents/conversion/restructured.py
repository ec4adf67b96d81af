"""reStructuredText as docutils reads it, with the additions of Sphinx as Sphinx shows them.

One file is read at a time: parts that a page gets from others, such as the titles of `toctree`, are
missing. Nothing is included, run or imported.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

# Directives that show nothing on a page; a list of contents repeats headings.
UNSEEN = {
    "codeauthor", "contents", "currentmodule", "default-domain", "default-role", "highlight",
    "include", "index", "literalinclude", "meta", "module", "program", "py:currentmodule",
    "py:module", "sectionauthor", "sectnum", "tabularcolumns", "toctree",
}  # fmt: skip
# Those whose argument is for the builder.
BARE = {"container", "cssclass", "glossary", "grid", "hlist", "ifconfig", "only", "rst-class"}
CODE = {
    "code", "code-block", "console", "digraph", "doctest", "graphviz", "ipython", "mermaid",
    "plantuml", "productionlist", "prompt", "sourcecode", "testcode", "testoutput", "uml",
}  # fmt: skip
OBJECTS = {
    "attribute", "class", "classmethod", "confval", "data", "decorator", "describe", "envvar",
    "exception", "function", "method", "object", "option", "property", "staticmethod",
}  # fmt: skip
HEADED = {"seealso": "See also", "todo": "Todo"}
VERSIONS = {
    "deprecated": "Deprecated since version",
    "deprecated-removed": "Deprecated since version",
    "versionadded": "Added in version",
    "versionchanged": "Changed in version",
    "versionremoved": "Removed in version",
}
UNSEEN_FIELDS = {"nocomments", "no-search", "nosearch", "orphan", "tocdepth"}
# Roles of names, which a page sets as code.
NAMES = {
    "any", "attr", "class", "cls", "command", "confval", "const", "data", "envvar", "exc", "file",
    "func", "kbd", "keyword", "makevar", "meth", "mod", "module", "obj", "option", "program",
    "regexp", "samp", "token", "type",
}  # fmt: skip
CALLED = {"func", "meth"}
ACCELERATOR = re.compile(r"&(?=\S)")
SETTINGS = {
    "docinfo_xform": False,
    "doctitle_xform": False,
    "embed_stylesheet": False,
    "file_insertion_enabled": False,
    "halt_level": 5,
    "initial_header_level": 1,
    "math_output": "LaTeX",
    "report_level": 5,
    "section_self_link": False,
    "stylesheet_path": "",
    "syntax_highlight": "none",
    "table_style": "",
    "warning_stream": False,
    "_disable_config": True,
}


def read_restructured(text: str) -> str:
    """Return the page of `text`, as HTML."""
    from docutils import core, nodes

    with _sphinx():
        tree = core.publish_doctree(text, settings_overrides=SETTINGS)
    titles = {
        name: section[0].astext()
        for section in tree.findall(nodes.section)
        for name in section["names"]
    }
    for item in list(tree.findall(nodes.inline)):
        if (label := item.get("label", "")) in titles:
            item.replace_self(nodes.inline("", titles[label]))
    for literal in tree.findall(nodes.literal):
        literal["classes"] = ["code"]
    for field in list(tree.findall(nodes.field)):
        if field[0].astext() in UNSEEN_FIELDS:
            field.parent.remove(field)
    for message in list(tree.findall(nodes.system_message)):
        # Text that docutils cannot read stays as written.
        kept = message.findall(nodes.literal_block) if message["level"] > 2 else ()
        message.parent.replace(message, list(kept))
    page: str = core.publish_from_doctree(
        tree, writer="html5", settings_overrides=SETTINGS | {"output_encoding": "unicode"}
    )
    return page


@contextmanager
def _sphinx() -> Iterator[None]:
    """Make docutils accept any directive, option and role."""
    from docutils.parsers.rst import directives, roles

    find_directive, find_role = directives.directive, roles.role

    def directive(name: str, *context: Any) -> tuple[Any, list[Any]]:
        found, _ = find_directive(name, *context)
        return _make_directive(name.lower(), found), []

    def role(name: str, *context: Any) -> tuple[Any, list[Any]]:
        found, _ = find_role(name, *context)
        return found or _show_role, []

    directives.directive, roles.role = directive, role
    try:
        yield
    finally:
        directives.directive, roles.role = find_directive, find_role


class _AnyOption(dict[str, Callable[[str], Any]]):
    """The options of a directive, and any other as it is written."""

    def __missing__(self, name: str) -> Callable[[str], Any]:
        return lambda value: value

    def __bool__(self) -> bool:
        return True


def _make_directive(name: str, known: Any) -> Any:
    from docutils.parsers.rst import Directive

    if known and name not in UNSEEN | CODE:
        options = _AnyOption(getattr(known, "option_spec", None) or {})
        return type(name, (known,), {"option_spec": options}) if isinstance(known, type) else known
    members = {
        "has_content": True,
        "optional_arguments": 1,
        "final_argument_whitespace": True,
        "option_spec": _AnyOption(),
        "run": _run_directive,
    }
    return type("Shown", (Directive,), members)


def _run_directive(directive: Any) -> list[Any]:
    """Return the parts that a page shows of a directive unknown to docutils."""
    from docutils import nodes

    name = directive.name.lower()
    argument = "".join(directive.arguments)
    if name in UNSEEN:
        return []
    if name in CODE:
        text = "\n".join(directive.content)
        caption = directive.options.get("caption") or ""
        shown = _parse(directive, caption) if caption else []
        return [*shown, *([nodes.literal_block(text, text)] if text else [])]
    content = _parse(directive, directive.content)
    if name in BARE:
        return content
    if name in VERSIONS:
        version, _, text = argument.replace("\n", " ").partition(" ")
        if name == "deprecated-removed":
            removed, _, text = text.partition(" ")
            version = f"{version}, will be removed in version {removed}"
        label = f"{VERSIONS[name]} {version}"
        told = _parse(directive, text) + content
        if told and isinstance(told[0], nodes.paragraph):
            told[0].insert(0, nodes.Text(f"{label}: "))
            return told
        return [nodes.paragraph("", f"{label}."), *told]
    if name in OBJECTS or ":" in name or name.startswith("auto"):
        signatures = filter(None, map(str.strip, argument.splitlines()))
        named = [nodes.paragraph("", "", nodes.literal("", line)) for line in signatures]
        return [*named, *content]
    head = [nodes.paragraph("", HEADED[name])] if name in HEADED else []
    return [*head, *_parse(directive, argument), *content]


def _parse(directive: Any, text: Any) -> list[Any]:
    from docutils import nodes, statemachine

    if isinstance(text, str):
        text = statemachine.StringList(text.splitlines(), source="")
    part = nodes.container()
    directive.state.nested_parse(text, directive.content_offset, part, match_titles=True)
    return list(part.children)


def _show_role(name: str, rawtext: str, text: str, *_: Any) -> tuple[list[Any], list[Any]]:
    """Return the parts that a page shows of a role unknown to docutils."""
    from docutils import nodes, utils

    kind = name.lower().rpartition(":")[2]
    shown = utils.unescape(text)
    title, mark, _ = shown.rpartition("<")
    if mark and title.strip() and shown.endswith(">"):
        return [nodes.inline(rawtext, title.rstrip())], []
    if kind in ("ref", "numref"):
        return [nodes.inline(rawtext, shown, label=" ".join(shown.lower().split()))], []
    short, mark, _ = shown.partition("(")
    if kind == "abbr" and mark and short.strip() and shown.endswith(")"):
        return [nodes.inline(rawtext, short.rstrip())], []
    if kind in ("guilabel", "menuselection"):
        return [nodes.inline(rawtext, ACCELERATOR.sub("", shown).replace("-->", "‣"))], []
    if kind in ("file", "samp"):
        shown = shown.replace("{", "").replace("}", "")
    elif kind in NAMES or ":" in name:
        shown = shown.rpartition(".")[2] if shown.startswith("~") else shown.lstrip("!")
        shown += "()" if kind in CALLED and not shown.endswith(")") else ""
    elif kind not in NAMES:
        return [nodes.inline(rawtext, shown.removeprefix("!"))], []
    return [nodes.literal(rawtext, shown)], []

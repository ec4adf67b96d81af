"""Sources that the pages link to, shown as pages of code; a folder as the list of its files."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import unquote

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, InclusionLevel

LINK = re.compile(r"\]\((?![a-z]+:|#)([^)#\s]+)")
FENCED = re.compile(r"^(`{3,})[^`\n]*\n.*?^\1$", re.MULTILINE | re.DOTALL)
LANGUAGES = {".py": "python", ".yaml": "yaml", ".yml": "yaml", ".json": "json", ".sh": "bash"}
# Copied as they are.
RAW = {".ipynb", ".png", ".svg"}
HEAD = "---\nsearch:\n  exclude: true\nhide: [navigation, toc]\n---\n"


class SourceFile(File):
    """A page whose source is no Markdown."""

    def is_documentation_page(self) -> bool:
        """Return whether it is rendered, not copied."""
        return Path(self.src_uri).suffix not in RAW

    @classmethod
    def of(cls, path: Path, name: str, config: MkDocsConfig) -> "SourceFile":
        """Return the page of a file or folder, of which `name` is the path in the repository."""
        place = f"source/{name.lstrip('.')}"
        file = cls(name, None, config.site_dir, config.use_directory_urls)
        file.inclusion = InclusionLevel.NOT_IN_NAV
        file.generated_by = cls.__name__
        if file.is_documentation_page():
            file.dest_uri = f"{place}.html"
            file.content_string = f"{HEAD}# `{name}`\n\n{_show(path)}"
        else:
            file.dest_uri = place
            file.content_bytes = path.read_bytes()
        return file


def collect_linked(root: Path, files: Iterable[File]) -> list[Path]:
    """Return what exists below `root` and is linked to by pages, or by pages so found."""
    known = {root / file.src_uri for file in files}
    found: dict[Path, None] = {}
    ahead = [target for file in files if file.is_documentation_page()
             for target in _find(file.content_string, root / file.src_uri)]  # fmt: skip
    while ahead:
        path = ahead.pop()
        if path in known or path in found or not path.is_relative_to(root) or not path.exists():
            continue
        found[path] = None
        if path.is_dir():
            ahead.extend(_list(path))
        elif path.suffix == ".md":
            ahead.extend(_find(path.read_text(), path))
    return list(found)


def _find(text: str, page: Path) -> Iterator[Path]:
    for link in LINK.findall(FENCED.sub("", text)):
        yield (page.parent / unquote(link)).resolve()


def _list(folder: Path) -> list[Path]:
    paths = [path for path in folder.iterdir() if not path.name.startswith((".", "__pycache__"))]
    return sorted(paths, key=lambda path: (path.is_dir(), path.name))


def _show(path: Path) -> str:
    if path.is_dir():
        names = (f"{item.name}/" if item.is_dir() else item.name for item in _list(path))
        return "".join(f"- [{name}]({path.name}/{name.rstrip('/')})\n" for name in names)
    text = path.read_text()
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence}{LANGUAGES.get(path.suffix, 'text')}\n{text.rstrip()}\n{fence}\n"

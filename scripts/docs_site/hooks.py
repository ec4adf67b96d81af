"""Hooks of MkDocs: a page lies where its source lies in the repository, so links hold in both.

Pages are the files of `docs/`, the Markdown elsewhere that they link to, sources that they link to,
and what is generated: a page a command, the keys of configs and cards, the Python API.
"""

from pathlib import Path
from typing import Any

from api_page import render_api
from card_page import render_cards
from command_pages import COMMAND_FOLDER, render_commands
from config_page import render_configs
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files, InclusionLevel
from source_pages import SourceFile, collect_linked

ROOT = Path(__file__).parents[2]
DOCS = "docs/"
HOME = "README.md"
ASSETS = ("iframe-worker.js", "site.css")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the commands into the navigation, at the entry that names their first page."""
    index = f"{COMMAND_FOLDER}/index.md"
    pages = [index, *(name for name in render_commands() if name != index)]
    config.nav = _replace(config.nav, index, pages)
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Return the files of the site by their paths in the repository."""
    theme = [file for file in files if file.src_dir != config.docs_dir]
    own = [_place(DOCS + file.src_uri, config) for file in files if file not in theme]
    own += [_place(name, config) for name in (HOME, "CHANGELOG.md", "CONTRIBUTING.md")]
    made = {**render_commands(), **render_configs(), **render_cards(), **render_api()}
    own += [_generate(name, text, config) for name, text in made.items()]
    for name in ASSETS:
        text = Path(__file__).with_name(name).read_text()
        own.append(File.generated(config, f"assets/{name}", content=text))
    linked = collect_linked(ROOT, own)
    return Files([*theme, *own, *(_show(path, config) for path in linked)])


def _replace(nav: Any, page: str, pages: list[str]) -> Any:
    if isinstance(nav, list):
        return [_replace(item, page, pages) for item in nav]
    if isinstance(nav, dict):
        return {title: _replace(item, page, pages) for title, item in nav.items()}
    return pages if nav == page else nav


def _place(name: str, config: MkDocsConfig) -> File:
    """Return a file of the repository; pages of `docs/` are at the root of the site."""
    file = File(name, str(ROOT), config.site_dir, config.use_directory_urls)
    file.inclusion = InclusionLevel.INCLUDED
    if file.src_uri == HOME:
        file.dest_uri = "index.html"
    elif file.src_uri.startswith(DOCS):
        file.dest_uri = file.dest_uri.removeprefix(DOCS)
    return file


def _generate(name: str, text: str, config: MkDocsConfig) -> File:
    file = File.generated(config, name, content=text)
    file.dest_uri = file.dest_uri.removeprefix(DOCS)
    return file


def _show(path: Path, config: MkDocsConfig) -> File:
    name = path.relative_to(ROOT).as_posix()
    if path.suffix == ".md":
        file = _place(name, config)
        file.inclusion = InclusionLevel.NOT_IN_NAV
        return file
    return SourceFile.of(path, name, config)

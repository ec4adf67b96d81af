"""`make notebooks`: make the runs that the notebooks read, execute them, and render what they show.

Executed copies go to `notebooks/` below the folder of reports, each one HTML file that needs no
network. The notebooks themselves stay as they are, without outputs.
"""

import re
import sys
from pathlib import Path
from typing import Any

# Makes the cache of fonts on a new machine, which else complains of the wait within a page.
import matplotlib.font_manager  # noqa: F401
import nbformat
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbconvert import HTMLExporter

from assay import run
from assay.eval.configs.locations import reports_folder
from assay.retrievers.base import AssayError
from assay.retrievers.store.files import write_atomically

ROOT = Path(__file__).resolve().parents[1]
CONFIGS = ("bm25", "semantic", "hybrid_rrf")
SECONDS_A_CELL = 600
# The exporter's own page without what it fetches from elsewhere; no script may run in it.
PAGE = """{%- extends "lab/index.html.j2" -%}
{%- block html_head_js -%}
<meta http-equiv="Content-Security-Policy"
  content="default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:">
{%- endblock -%}
{%- block html_head_js_mathjax -%}{%- endblock -%}
{%- block html_head_js_mermaidjs -%}{%- endblock -%}
"""


def main() -> None:
    """Make the runs and both pages; end with 1 where a cell fails, 2 where a run cannot be made."""
    try:
        for config in CONFIGS:
            print(run(config))
    except AssayError as error:
        print(f"notebooks: {error}", file=sys.stderr)
        sys.exit(2)
    folder = reports_folder() / "notebooks"
    folder.mkdir(parents=True, exist_ok=True)
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        page = folder / f"{path.stem}.html"
        write_atomically(page, render(execute(path), path.stem).encode())
        print(page)


def execute(path: Path) -> Any:
    """Return the notebook at `path` with its outputs, run by this very interpreter."""
    notebook = nbformat.read(path, as_version=4)
    # Without folders to look in, the manager knows but the kernel of the running interpreter.
    kernel = AsyncKernelManager(kernel_spec_manager=KernelSpecManager(kernel_dirs=[]))
    client = NotebookClient(
        notebook,
        km=kernel,
        timeout=SECONDS_A_CELL,
        extra_arguments=["--log-level=ERROR"],
        resources={"metadata": {"path": str(path.parent)}},
    )
    try:
        return client.execute()
    except CellExecutionError as error:
        sys.exit(f"{path.name}: {error.ename}: {error.evalue}")


def render(notebook: Any, name: str) -> str:
    """Return an executed notebook as one page of HTML."""
    exporter = HTMLExporter(raw_template=PAGE, embed_images=True)
    page, _ = exporter.from_notebook_node(notebook, {"metadata": {"name": name}})
    return re.sub(r'href="(\w+)\.ipynb"', r'href="\1.html"', page)


if __name__ == "__main__":
    main()

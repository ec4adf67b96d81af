"""`python -m benchmarks.converters`: what converters of files are worth, on one judged collection.

The Markdown documents of a collection are laid out as web pages and printed as PDF by Chromium.
Each converter reads these files anew, BM25 searches what it made of them, and its measures stand
beside those of the collection's own text, paired by query. Hits are placed in that text, on which
its judgments are (docs/converters.md).
"""

import argparse
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from assay.eval import no_telemetry
from assay.retrievers.base import Document
from benchmarks.experiment import CONFIGS
from benchmarks.latency import ending_in_one_line

MEASURES = ("nDCG@10", "Recall@2000tok")
FORMATS = ("html", "pdf")
PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title></head>
<body><nav><a href="/">All documents</a></nav><main>{body}</main></body></html>"""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark; end the process with 0, or with 2 and one line on what to mend."""
    options = _read_options(arguments)
    no_telemetry.disable()
    with ending_in_one_line():
        _measure(options)


def _read_options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--collection", default="tarnwick:dev", metavar="NAME")
    parser.add_argument("--formats", nargs="+", default=FORMATS, choices=FORMATS)
    parser.add_argument(
        "--command",
        nargs="+",
        action="append",
        default=[],
        metavar="WORD",
        help="a name and a command line, put beside markitdown; repeatable",
    )
    return parser.parse_args(arguments)


def _measure(options: argparse.Namespace) -> None:
    import numpy as np

    from assay.eval.collections.loading import load
    from assay.eval.configs.config import load_config
    from assay.eval.configs.resources import make_resources
    from assay.eval.runs.execution.unstored import score_queries
    from assay.eval.statistics.estimates import estimate_mean
    from assay.retrievers.documents.conversion.reconversion import convert_anew

    collection, resources = load(options.collection), make_resources()
    converters: dict[str, Mapping[str, Any]] = {"markitdown": {"type": "markitdown"}}
    converters |= {name: {"type": "command", "command": words} for name, *words in options.command}
    config = load_config(CONFIGS / "bm25.yaml")

    def score(
        documents: Sequence[Document], converter: Mapping[str, Any] | None
    ) -> tuple[int, list[list[float]]]:
        """Return the number of chunks, and the scores by measure and query."""
        settings = config.documents.model_validate(
            {**config.documents.model_dump(), "converter": converter}
        )
        made = config.model_copy(update={"documents": settings})
        with made.build(resources) as retriever:
            chunks = retriever.index(documents).chunks
            found = [
                score_queries(retriever, collection, collection.queries, measure, config.depth)
                for measure in MEASURES
            ]
        return chunks, [[each[query.id] for query in collection.queries] for each in found]

    chunks, base = score(collection.documents, None)
    headings = sum(map(_count_headings, collection.texts.values()))
    print(f"{options.collection}, n = {len(base[0])}: {', '.join(MEASURES)}")
    means = "  ".join(f"{np.mean(scores):.3f}" for scores in base)
    print(f"as it is: {means}  {headings} headings, {chunks} chunks")
    with tempfile.TemporaryDirectory(prefix="assay-converters-") as folder:
        for format_ in options.formats:
            files = dict(_write_files(collection.documents, Path(folder), format_))
            given = [replace(item, origin=files[item.id]) for item in collection.documents]
            for name, converter in converters.items():
                chunks, scores = score(given, converter)
                settings = config.documents.model_validate({"converter": converter}).converter
                assert settings
                read, _ = convert_anew(given, settings, resources)
                found = sum(_count_headings(item.text) for item in read)
                gains = [
                    estimate_mean(np.subtract(mine, as_is).tolist())
                    for mine, as_is in zip(scores, base, strict=True)
                ]
                told = "  ".join(
                    f"{np.mean(mine):.3f} {gain.value:+.3f} ({gain.low:+.3f} … {gain.high:+.3f})"
                    for mine, gain in zip(scores, gains, strict=True)
                )
                print(
                    f"{format_} by {name}: {told}  {found} headings, {chunks} chunks, "
                    f"{len(given) - len(read)} documents lost",
                    flush=True,
                )


def _count_headings(text: str) -> int:
    from assay.retrievers.base.markdown import read_headings

    return len(read_headings(text))


def _write_files(
    documents: Sequence[Document], folder: Path, format_: str
) -> Iterator[tuple[str, str]]:
    """Write each document as a file of the format; yield its id and the path of the file."""
    from markdown_it import MarkdownIt
    from playwright.sync_api import sync_playwright

    from assay.retrievers.base.frontmatter import frontmatter_end

    render = MarkdownIt("commonmark").enable("table").render
    browser = next(filter(None, map(shutil.which, ("chromium", "google-chrome"))), None)
    with sync_playwright() as started:
        chromium = started.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        page = chromium.new_page()
        for number, document in enumerate(documents):
            body = render(document.text[frontmatter_end(document.text) :])
            html = PAGE.format(title=document.title, body=body)
            file = folder / f"{number}.{format_}"
            if format_ == "html":
                file.write_text(html, encoding="utf-8")
            else:
                page.set_content(html)
                page.emulate_media(media="print")
                page.pdf(path=str(file))
            yield document.id, str(file)
        chromium.close()


if __name__ == "__main__":
    main()

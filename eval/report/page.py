"""`report.html`: one file that needs nothing else, neither network nor server."""

import base64
import hashlib
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any

from assay.eval.report.markdown import make_environment

STYLE = "report/templates/report.css"


def dump(value: Mapping[str, Any]) -> str:
    """Return `value` as JSON that is safe anywhere in a page."""
    from jinja2.utils import htmlsafe_json_dumps

    return htmlsafe_json_dumps(value, ensure_ascii=False, separators=(",", ":"))


def render_page(
    template: str,
    scripts: Sequence[str] = (),
    styles: Sequence[str] = (),
    requests: str = "'none'",
    **values: Any,
) -> str:
    """Return a page of `template` with the `values` it names, its `scripts` and its own `styles`.

    Files are named by their paths below `eval`.

    Whatever comes from documents and queries is escaped. The policy lets no other script or
    style through, and requests only to `requests`, a source expression.
    """
    from markupsafe import Markup

    style, script = ("\n".join(map(_read, names)) for names in ((STYLE, *styles), scripts))
    return (
        make_environment()
        .get_template(template)
        .render(
            **values,
            style=Markup(style),
            script=Markup(script),
            policy=f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; "
            f"connect-src {requests}; base-uri 'none'; form-action 'none'",
        )
    )


def _read(name: str) -> str:
    return resources.files("assay.eval").joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """Return `text` as a source expression of a Content Security Policy."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

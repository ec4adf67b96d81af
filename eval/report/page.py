"""`report.html`: one file that needs nothing else, neither network nor server."""

import base64
import hashlib
from importlib import resources

from eval.report.view import View


def render(view: View) -> str:
    """Return the page.

    Whatever comes from documents and queries is escaped, by Jinja in the markup and as JSON in the
    data; the script only ever sets text. The policy lets no other script, style or request through.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from jinja2.utils import htmlsafe_json_dumps
    from markupsafe import Markup

    environment = Environment(
        loader=PackageLoader("eval.report"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    style, script = _read("report.css"), _read("report.js")
    data = htmlsafe_json_dumps(view.details, ensure_ascii=False, separators=(",", ":"))
    return environment.get_template("run.html.j2").render(
        view=view,
        style=Markup(style),
        script=Markup(script),
        data=data,
        policy=f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; "
        "base-uri 'none'; form-action 'none'",
    )


def _read(name: str) -> str:
    return resources.files("eval.report").joinpath("templates", name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """Return `text` as a source expression of a Content Security Policy."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

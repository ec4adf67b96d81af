"""Approved outputs: what of an output is compared, and how near it must be."""

import json
import math
import re
from html.parser import HTMLParser

# Keys whose values depend on the machine, the moment or the version installed.
CHANGING = re.compile(
    r"(^|_)(ms|milliseconds|seconds|s|at|bytes|mb|digest|fingerprint|load|throughput|versions?|python|platform|"
    r"environment|packages|commit|code|date|time|when|duration|latency|speed|port|pid)($|_)"
    r"|^(mlflow_run|mlflow_parent|p50|p95|p99|created|ended|started|size|user_ms|cached|"
    r"cache_hit_rate|fresh_documents)$"
)
DATE = r"\b\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})?)?\b"
UNITS = "ms|s|min|MB|KB|GB|bytes|seconds|minutes"
MASKS = (
    (re.compile(r"-\d{8}-\d{6}-[0-9a-f]{8}|-\d{8}T\d{6}\.\d{3}"), "-<run>"),
    (re.compile(DATE), "<date>"),
    (re.compile(r"\b(?=[0-9a-f]*\d)[0-9a-f]{8,64}\b"), "<digest>"),
    (re.compile(rf"(?<![\w.])\d[\d,]*(\.\d+)? ?({UNITS})\b"), r"<n> \2"),
)
FIGURE = re.compile(r"(?<![\w.])-?\d+\.\d+(?![\w.])")

RULE = "───"  # below the head of a table
BUSY = "Times are unreliable"

# Encoders differ in the third digit from processor to processor.
ABSOLUTE, RELATIVE = 0.002, 0.005


def mask(value, places, keys=()):
    """Return `value` without what changes from machine to machine; figures have four digits.

    The values of `keys` and of those in `CHANGING` are masked, the names of `places` replaced.
    """
    if isinstance(value, dict):
        return {
            mask_text(name, places): "<changes>"
            if item is not None and (name in keys or CHANGING.search(name))
            else mask(item, places, keys)
            for name, item in value.items()
        }
    if isinstance(value, list):
        told = [item for item in value if not str(item).startswith(BUSY)]
        return [mask(item, places, keys) for item in told]
    if isinstance(value, str):
        return mask_text(value, places)
    if isinstance(value, float):
        return float(f"{value:.4f}") if math.isfinite(value) else repr(value)
    return value


def mask_text(text, places):
    """Return `text` with names for paths, runs, dates, digests and times."""
    for place, name in places.items():
        text = text.replace(place, name)
    for pattern, name in MASKS:
        text = pattern.sub(name, text)
    return text


def find_differences(approved, value, where="$"):
    """List where a masked value is not the approved one, a line each."""
    if isinstance(approved, dict) and isinstance(value, dict):
        lines = [f"{where}.{name}: gone" for name in approved if name not in value]
        lines += [f"{where}.{name}: new" for name in value if name not in approved]
        for name in approved.keys() & value.keys():
            lines += find_differences(approved[name], value[name], f"{where}.{name}")
        return lines
    if isinstance(approved, list) and isinstance(value, list):
        lines = []
        if len(approved) != len(value):
            lines.append(f"{where}: {len(value)} items; approved are {len(approved)}")
        for i, (old, new) in enumerate(zip(approved, value, strict=False)):
            lines += find_differences(old, new, f"{where}[{i}]")
        return lines
    return [] if are_near(approved, value) else [f"{where}: {value!r}; approved is {approved!r}"]


def are_near(approved, value):
    """Whether two values say the same: figures, also those in a text, to about the third digit."""
    if isinstance(approved, bool) or isinstance(value, bool):
        return approved is value
    if isinstance(approved, float) and isinstance(value, int | float):
        return math.isclose(approved, value, abs_tol=ABSOLUTE, rel_tol=RELATIVE)
    if isinstance(approved, str) and isinstance(value, str):
        if FIGURE.sub("#", approved) != FIGURE.sub("#", value):
            return False
        figures = zip(FIGURE.findall(approved), FIGURE.findall(value), strict=True)
        return all(are_near(float(old), float(new)) for old, new in figures)
    return bool(approved == value)


class Lead(HTMLParser):
    """The title and the leading sentences of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self._open: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self._open is None and (tag == "h1" or "lede" in (dict(attrs).get("class") or "")):
            self._open = tag
            self.lines.append("")

    def handle_endtag(self, tag: str) -> None:
        if tag == self._open:
            self._open = None

    def handle_data(self, data: str) -> None:
        if self._open is not None:
            self.lines[-1] += data


def read_lead(page):
    """Return the title and the verdict of a page, a line each."""
    lead = Lead()
    lead.feed(page.read_text(encoding="utf-8"))
    return [" ".join(line.split()) for line in lead.lines]


def read_verdict(screen):
    """Return the lines of a screen before its first table or blank line."""
    lines = screen.strip().splitlines()
    for i, line in enumerate(lines):
        if not line.strip() or RULE in "".join(lines[i + 1 : i + 2]):
            return lines[:i]
    return lines


def write(path, value):
    """Approve a value: a key a line, sorted as the command gives them."""
    text = json.dumps(value, ensure_ascii=False, indent=1) + "\n"
    path.write_text(text, encoding="utf-8")

"""Lists the licences of what is installed with Assay, and refuses unknown and unfit ones.

`python scripts/licences.py` writes `dist/licences.md` of two locks, and `dist/sbom.json`, the bill
of materials of `requirements/base.txt` in CycloneDX's format, with the licences in it.
"""

import json
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
# That of sentence-transformers is not installed with the others.
LOCKS = ("base", "dev")
# May be used, changed and passed on by anybody, with notices kept. MPL asks to publish changes of
# its own files, of which there are none.
FIT = {
    "0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "CNRI-Python", "ISC", "MIT",
    "MIT-0", "MIT-CMU", "MPL-2.0", "PSF-2.0", "Python-2.0", "Unlicense", "ZPL-2.1", "Zlib",
}  # fmt: skip
# Weak copyleft, of extras and tests alone, used unchanged through its interface.
FIT_OF = {
    "psycopg": "LGPL-3.0-only",
    "psycopg-binary": "LGPL-3.0-only",
    "pyte": "LGPL-3.0-only",
    "python-stdnum": "LGPL-2.1-or-later",
}
# Read by hand: what the metadata does not say in words that can be told, or what is installed on
# other systems alone.
READ = {
    "appnope": "BSD-2-Clause",
    "apsw": "Zlib",
    "async-timeout": "Apache-2.0",
    "docutils": "BSD-2-Clause AND 0BSD",  # most is in the public domain, none under the GPL
    "httpx2-jsfetch": "BSD-3-Clause",
    "huey": "MIT",
    "pyte": "LGPL-3.0-only",
    "python-stdnum": "LGPL-2.1-or-later",
    "pypdfium2": "BSD-3-Clause AND Apache-2.0",
    "skops": "MIT",
    "pywin32": "PSF-2.0",
    "pywinpty": "MIT",
    "waitress": "ZPL-2.1",
}
HEAD = "| package | version | licence |\n|---|---|---|"
# Old names of licences. The classifier "BSD License" does not say which; both are fit.
WORDS = (
    (r"\bmit\b", "MIT"),
    (r"apache", "Apache-2.0"),
    (r"2.clause", "BSD-2-Clause"),
    (r"\bbsd\b", "BSD-3-Clause"),
    (r"mozilla|\bmpl\b", "MPL-2.0"),
    (r"python software foundation|\bpsf\b", "PSF-2.0"),
    (r"\bisc\b", "ISC"),
    (r"unlicense", "Unlicense"),
)


class LicenceError(Exception):
    """A licence that is unknown or unfit, in one line."""


def main() -> None:
    """Write both files; end with 2 and one line where a licence is unknown or unfit."""
    folder = ROOT / "dist"
    folder.mkdir(exist_ok=True)
    try:
        tables = {lock: list_licences(read_lock(lock)) for lock in LOCKS}
    except LicenceError as error:
        print(f"licences: {error}", file=sys.stderr)
        sys.exit(2)
    (folder / "licences.md").write_text(render(tables))
    (folder / "sbom.json").write_text(make_sbom(tables["base"]))
    print(folder / "licences.md", folder / "sbom.json", sep="\n")


def read_lock(name: str) -> dict[str, str]:
    """Return the pinned versions of a lock by package; of several, the first."""
    pins: dict[str, str] = {}
    text = (ROOT / f"requirements/{name}.txt").read_text()
    for line in re.findall(r"^\w[^\\\n]*", text, re.MULTILINE):
        pin = Requirement(line)
        pins.setdefault(pin.name, str(pin.specifier).removeprefix("=="))
    return pins


def list_licences(pins: dict[str, str]) -> dict[str, tuple[str, str]]:
    """Return version and licence by package. Raises LicenceError for the first that is not fit."""
    found = {}
    for name, version in pins.items():
        licence = READ.get(name) or find_licence(name)
        check_licence(name, licence)
        found[name] = (version, licence)
    return found


def find_licence(name: str) -> str:
    """Return the licence of an installed package as an SPDX expression. Raises LicenceError."""
    try:
        about = metadata.metadata(name)
    except metadata.PackageNotFoundError:
        raise LicenceError(f"{name}: is not installed here, and not in READ") from None
    if expression := about.get("License-Expression"):
        return expression
    stated = (about.get("License") or "").strip()
    try:
        return str(canonicalize_license_expression(stated))
    except InvalidLicenseExpression:
        pass
    classifiers = about.get_all("Classifier") or ()
    texts = [text.rpartition(" :: ")[2] for text in classifiers if text.startswith("License ::")]
    texts = texts or [stated.partition("\n")[0]]
    found = sorted({spdx for text in texts for spdx in translate(text)})
    if not found:
        raise LicenceError(f"{name}: its metadata name no licence that is known: {texts}")
    return " AND ".join(found)


def translate(text: str) -> list[str]:
    """Return the SPDX id of a licence by one of its older names; none where it is not known."""
    return [spdx for pattern, spdx in WORDS if re.search(pattern, text.lower())][:1]


def check_licence(name: str, expression: str) -> None:
    """Raise LicenceError unless one may choose, of an SPDX expression, fit licences alone."""
    fit = FIT | {FIT_OF.get(name, "MIT")}
    parts = re.sub(r"[()]", " ", expression).split(" AND ")
    for part in parts:
        if not any(choice.split(" WITH ")[0].strip() in fit for choice in part.split(" OR ")):
            raise LicenceError(f"{name}: {expression} is not fit; fit are {', '.join(sorted(FIT))}")


def render(tables: dict[str, dict[str, tuple[str, str]]]) -> str:
    """Return the list as Markdown, a section a lock, without what an earlier one has."""
    lines: list[str] = ["# Licences of what is installed"]
    seen: set[str] = set()
    for lock, table in tables.items():
        lines.append(f"\n## requirements/{lock}.txt\n\n{HEAD}")
        rows = [(name, *found) for name, found in sorted(table.items()) if name not in seen]
        lines += [f"| {name} | {version} | {licence} |" for name, version, licence in rows]
        seen |= set(table)
    return "\n".join(lines) + "\n"


def make_sbom(licences: dict[str, tuple[str, str]]) -> str:
    """Return the bill of materials of what every installation has, as JSON."""
    command = [sys.executable, "-m", "cyclonedx_py", "requirements", "requirements/base.txt"]
    options = ["--pyproject", "pyproject.toml", "--output-reproducible", "--no-validate"]
    done = subprocess.run([*command, *options], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    bill = json.loads(done.stdout)
    for component in bill["components"]:
        _, licence = licences[component["name"]]
        del component["description"]
        component["licenses"] = [{"expression": licence}]
    return json.dumps(bill, indent=1)


if __name__ == "__main__":
    main()

"""The locks: they pin what the project asks for, and agree."""

import re
import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from tools.processes import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def read_lock(name):
    """Return the pins of a lock by package; one package may have a pin per Python version."""
    pins = {}
    for block in re.split(r"\n(?=\w)", (ROOT / f"requirements/{name}.txt").read_text()):
        if not block.startswith("#"):
            assert " --hash=sha256:" in block, block
            pin = Requirement(block.partition(" \\\n")[0])
            pins.setdefault(canonicalize_name(pin.name), []).append(pin)
    return pins


EXTRAS = PROJECT["project"]["optional-dependencies"]
GROUPS = PROJECT["dependency-groups"]
BASE = PROJECT["project"]["dependencies"] + GROUPS["build"]
# torch is apart; the driver of SQL Server brings a part that is not free software.
UNLOCKED = ("st", "sql-server")
LOCKS = {
    "base": BASE,
    "dev": [
        *BASE,
        *(text for name in ("dev", "docs", "release") for text in GROUPS[name]),
        *(text for name in EXTRAS if name not in UNLOCKED for text in EXTRAS[name]),
    ],
    "docs": BASE + GROUPS["docs"],
    "release": BASE + GROUPS["release"],
    "sql-server": BASE + EXTRAS["sql-server"],
    "st": [*BASE, *(text for text in EXTRAS["st"] if not text.startswith("torch"))],
}


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_pins_what_the_project_asks_for(name):
    """`make lock` mends this."""
    pins = read_lock(name)
    for wanted in map(Requirement, LOCKS[name]):
        for pin in pins[canonicalize_name(wanted.name)]:
            (specifier,) = pin.specifier
            assert specifier.operator == "=="
            assert wanted.specifier.contains(specifier.version), f"{pin} is not {wanted}"
    assert "torch" not in pins


@pytest.mark.parametrize("name", ["dev", "st", "docs", "release"])
def test_the_locks_agree(name):
    """On versions: an extra may need a package where the project itself does not."""
    base, other = read_lock("base"), read_lock(name)
    found = {package: list_versions(other.get(package, [])) for package in base}
    assert found == {package: list_versions(pins) for package, pins in base.items()}


def list_versions(pins):
    """Return the versions of a package, each with where it holds if there are several."""
    return {(str(pin.specifier), str(pin.marker) if len(pins) > 1 else "") for pin in pins}

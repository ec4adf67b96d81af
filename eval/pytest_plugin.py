"""The pytest plug-in: the fixture `retrieval`, and a marker of that name.

pytest imports this module in every session if Assay is installed, used or not. So it imports
only pytest at first, and the rest of Assay when the fixture is first called.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from assay.eval.api.assertions import CheckedRun
    from assay.eval.api.systems import Judged, System

MARKER = "retrieval"
KEYS = ("collection", "measures", "depth", "limit", "baselines")
HELP = (
    f"{MARKER}({', '.join(KEYS)}): defaults of the fixture of this name; every test that uses the "
    "fixture has the marker"
)


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker, as --strict-markers requires."""
    config.addinivalue_line("markers", HELP)


def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    """Mark every test that uses the fixture, so that `-m "not retrieval"` leaves it out."""
    for item in items:
        if MARKER in getattr(item, "fixturenames", ()):
            item.add_marker(MARKER)


@pytest.fixture
def retrieval(request: pytest.FixtureRequest) -> "Callable[..., CheckedRun]":
    """Run a retriever on judged questions and assert its figures.

    It is called as `assay.run` is, with the collection second, and returns an object whose methods
    `at_least`, `at_most` and `no_worse_than_baseline` assert and can be chained. Its means are
    properties of the test in JUnit's XML.
    """
    from assay.retrievers.base import AssayError

    defaults: dict[str, Any] = {}
    for marker in reversed(list(request.node.iter_markers(MARKER))):
        defaults |= marker.kwargs
    if unknown := defaults.keys() - set(KEYS):
        pytest.fail(
            f"pytest.mark.{MARKER}: {sorted(unknown)[0]}: unknown; allowed: {', '.join(KEYS)}",
            pytrace=False,
        )

    def check(
        what: "System",
        collection: "Judged | None" = None,
        *overrides: str,
        measures: Sequence[str] | None = None,
        name: str | None = None,
        depth: int | None = None,
        limit: int | None = None,
        baselines: str | Path | None = None,
    ) -> "CheckedRun":
        from assay.eval.api.assertions import CheckedRun
        from assay.eval.api.runs import run

        __tracebackhide__ = True
        given = (collection, measures, depth, limit, baselines)
        asked = defaults | {
            key: value for key, value in zip(KEYS, given, strict=True) if value is not None
        }
        folder = asked.pop("baselines", None)
        try:
            result = run(what, *overrides, name=name, track=False, **asked)
            means = result.found.means
        except AssayError as error:
            pytest.fail(str(error), pytrace=False)
        for measure, mean in means.items():
            request.node.user_properties.append((f"{result.name} {measure}", mean.value))
        return CheckedRun(result, Path(folder) if folder else None)

    return check

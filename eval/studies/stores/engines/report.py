"""The report of the engines: those usable here, and the place of their fusion."""

from collections.abc import Sequence

from assay.eval.report.blocks import Cell, Column, Facts, Report, Table
from assay.eval.studies.stores.engines.inventory import EngineState, ProviderState

LEGEND = (
    (
        "native",
        "the store fuses its dense and its keyword list itself: a leg of type native_hybrid",
    ),
    (
        "fallback",
        "the lists that the store has are legs, fused here: its vectors with a keyword leg, its "
        "words with a dense one, and neo4j's two with each other: assay run "
        "configs/hybrid_rrf.yaml --engine NAME",
    ),
    ("refused", "neither"),
    ("installed", "what its extra brings is there"),
    ("answers", "the server whose address is set; – where none is, or none is needed"),
    ("dense", "exact: compared with every vector, unless a setting says otherwise"),
    (
        "met",
        "versions of the server that the live tests have met; here: it runs in this process; "
        "never met: tested only against a double written from the vendor's reference",
    ),
)


def _tell_answer(engine: EngineState) -> Cell:
    return "–" if engine.answers is None else engine.answers


def _tell_dense(engine: EngineState) -> Cell:
    if "dense" not in engine.searches:
        return "–"
    return "exact" if engine.exact else "approx."


ENGINES = (
    Column("type", "Engine"),
    Column("installed", "Installed"),
    Column("answers", "Answers", value=_tell_answer),
    Column("version", "Version", value=lambda engine: engine.version or "–"),
    Column("hybrid", "Hybrid"),
    Column("dense", "Dense", value=_tell_dense),
    # An embedded engine is tested wherever it runs.
    Column(
        "met", "Met", value=lambda i: i.met or ("here" if i.where == "embedded" else "never met")
    ),
)
PROVIDERS = (
    Column("provider", "Provider"),
    Column("strategy", "Hybrid"),
    Column("note", "Here"),
)


def report(engines: Sequence[EngineState], providers: Sequence[ProviderState]) -> Report:
    """Return the report of the engines and of the stores whose hybrid search is known."""
    told = [(item.type, item.state) for item in engines if not item.ready or item.answers]
    ready = sum(item.ready for item in engines)
    return Report(
        id="",
        kind="engines",
        title="Engines",
        verdict=[f"{ready} of {len(engines)} can be used here"],
        blocks=[
            Table("engines", "What each can do", ENGINES, engines),
            Facts("Not as they are, or on a server", told),
            Table("providers", "Stores", PROVIDERS, providers),
            Facts("Words", LEGEND, brief=False),
        ],
    )

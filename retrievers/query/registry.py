"""Every query step that a config can name."""

from typing import Annotated

from assay.retrievers.query.base import QueryStepSettings
from assay.retrievers.settings.parts import Part

QUERY_STEPS = Part(
    "assay.query_steps",
    QueryStepSettings,
    __package__,
    {
        "filter": "filter:FilterSettings",
        "classify": "classify:ClassifySettings",
        "expand": "expand:ExpandSettings",
        "synonyms": "synonyms:SynonymsSettings",
        "hyde": "hyde:HydeSettings",
        "multi_query": "multi_query:MultiQuerySettings",
    },
)
AnyQueryStep = Annotated[QueryStepSettings, QUERY_STEPS]

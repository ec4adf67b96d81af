"""Every query step that a config can name."""

from typing import Annotated

from pydantic import Field

from retrievers.query.base import QueryStepSettings
from retrievers.query.classify import ClassifySettings
from retrievers.query.expand import ExpandSettings
from retrievers.query.filter import FilterSettings
from retrievers.query.hyde import HydeSettings
from retrievers.query.multi_query import MultiQuerySettings
from retrievers.query.synonyms import SynonymsSettings
from retrievers.settings.parts import Part

_Own = Annotated[
    FilterSettings
    | ClassifySettings
    | ExpandSettings
    | SynonymsSettings
    | HydeSettings
    | MultiQuerySettings,
    Field(discriminator="type"),
]
AnyQueryStep = Annotated[QueryStepSettings, Part("assay.query_steps", QueryStepSettings, _Own)]

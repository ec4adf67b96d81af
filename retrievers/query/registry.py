"""Every query step that a config can name."""

from typing import Annotated

from pydantic import Field

from assay.retrievers.query.base import QueryStepSettings
from assay.retrievers.query.classify import ClassifySettings
from assay.retrievers.query.expand import ExpandSettings
from assay.retrievers.query.filter import FilterSettings
from assay.retrievers.query.hyde import HydeSettings
from assay.retrievers.query.multi_query import MultiQuerySettings
from assay.retrievers.query.synonyms import SynonymsSettings
from assay.retrievers.settings.parts import Part

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

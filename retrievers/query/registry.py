"""Every query step that a config can name."""

from typing import Annotated

from pydantic import Field

from retrievers.query.classify import ClassifySettings
from retrievers.query.expand import ExpandSettings
from retrievers.query.filter import FilterSettings
from retrievers.query.synonyms import SynonymsSettings

QuerySettings = Annotated[
    FilterSettings | ClassifySettings | ExpandSettings | SynonymsSettings,
    Field(discriminator="type"),
]

"""Every query step that a config can name."""

from typing import Annotated

from pydantic import Field

from retrievers.query.classify import ClassifySettings

QuerySettings = Annotated[
    ClassifySettings,
    Field(),
]

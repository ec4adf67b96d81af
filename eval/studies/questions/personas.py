"""Who asks, and in what situation: a file of the user's."""

from pathlib import Path
from typing import Annotated

from pydantic import Field, StringConstraints, ValidationError

from assay.retrievers.base import AssayError
from assay.retrievers.settings import Settings, explain_error
from assay.retrievers.settings.files import read_mapping

Persona = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=1000)]


class _Personas(Settings):
    """What such a file may say."""

    personas: list[Persona] = Field(
        min_length=1, description="people or situations, such as: a tenant who has lost the key"
    )


def read_personas(path: Path) -> list[str]:
    """Return the personas in a YAML file. Raises AssayError naming the file and the entry."""
    try:
        return _Personas.model_validate(read_mapping(path)).personas
    except ValidationError as error:
        raise AssayError(f"{path}: {explain_error(error)}") from None

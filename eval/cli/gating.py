"""What the commands `gate` and `baseline` share."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from eval.gate.settings import GateSettings

DEFAULT_SETTINGS = Path("configs/gate.yaml")
BASELINES = click.option(
    "--baselines",
    type=click.Path(path_type=Path),
    help="Folder of the baselines.  [default: baselines below the reports]",
)
SETTINGS = click.option(
    "--settings",
    type=click.Path(path_type=Path),
    help="Settings of the gate.  [default: configs/gate.yaml]",
)
JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON object, nothing else.")


def baselines_folder(chosen: Path | None) -> Path:
    """Return the folder of the baselines: the one chosen, or `baselines` below the reports."""
    from eval.experiments.locations import reports_folder

    return chosen or reports_folder() / "baselines"


def load_settings(path: Path | None) -> "GateSettings":
    """Read the settings at `path`; where it is None, `configs/gate.yaml`, or defaults without it.

    Raises AssayError naming the file, the key and what is wrong.
    """
    from eval.gate.settings import GateSettings
    from retrievers.base import AssayError
    from retrievers.settings import validate
    from retrievers.settings.files import parse_yaml, read_text

    if path is None and not DEFAULT_SETTINGS.exists():
        return GateSettings()
    path = path or DEFAULT_SETTINGS
    values = parse_yaml(read_text(path), str(path)) or {}
    try:
        return validate(GateSettings, values, str(path))
    except AssayError as error:
        raise AssayError(f"{path}: {str(error).removeprefix(f'{path}: ')}") from None

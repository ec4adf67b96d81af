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


def baselines_folder(chosen: Path | None) -> Path:
    """Return the folder of the baselines: the one chosen, or `baselines` below the reports."""
    from eval.experiments.locations import reports_folder

    return chosen or reports_folder() / "baselines"


def load_settings(path: Path | None) -> "GateSettings":
    """Read the settings at `path`; where it is None, `configs/gate.yaml`, or defaults without it.

    Raises AssayError naming the file, the key and what is wrong.
    """
    import yaml
    from pydantic import ValidationError

    from eval.gate.settings import GateSettings
    from eval.scoring.measures import check_names
    from retrievers.base import AssayError

    if path is None and not DEFAULT_SETTINGS.exists():
        return GateSettings()
    path = path or DEFAULT_SETTINGS
    try:
        settings = GateSettings.model_validate(yaml.safe_load(path.read_text("utf-8")) or {})
        check_names(settings.scored)
    except (OSError, UnicodeDecodeError) as error:
        raise AssayError(f"{path}: cannot be read: {error}") from None
    except yaml.YAMLError as error:
        raise AssayError(f"{path}: not YAML: {' '.join(str(error).split())}") from None
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"]))
        reason = first["msg"].removeprefix("Value error, ")
        raise AssayError(f"{path}: {key or 'the file'}: {reason}") from None
    except AssayError as error:
        raise AssayError(f"{path}: {error}") from None
    return settings

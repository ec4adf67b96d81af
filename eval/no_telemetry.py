"""Environment variables that keep libraries from reporting on their user."""

import os

VARIABLES = {
    "DO_NOT_TRACK": "1",
    "ORT_DISABLE_TELEMETRY": "1",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "ANONYMIZED_TELEMETRY": "False",
    "RAGAS_DO_NOT_TRACK": "true",
}


def disable() -> None:
    """Set the variables that are not set: before any library is imported that reads them."""
    os.environ.update({key: os.environ.get(key, value) for key, value in VARIABLES.items()})

"""Files that are made of a stored run and stand in its folder, and JSON for people."""

import json
from typing import Any

MARKDOWN, PAGE = "report.md", "report.html"
LOGGED = "mlflow.json"  # the run's place in MLflow


def encode_json(value: Any) -> bytes:
    """Return JSON values as a file that people can read too."""
    return f"{json.dumps(value, ensure_ascii=False, indent=1)}\n".encode()

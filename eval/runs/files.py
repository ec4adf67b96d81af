"""JSON files that people can read too."""

import json
from typing import Any


def encode_json(value: Any) -> bytes:
    """Return JSON values as a file that people can read too."""
    return f"{json.dumps(value, ensure_ascii=False, indent=1)}\n".encode()

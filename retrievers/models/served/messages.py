"""Parts of requests and replies common to all services: texts, rows in order, errors."""

import json
from typing import Any

BLANK = "."  # what stands for a blank text


class WrongFormError(ValueError):
    """A reply in the wrong form; the message says why."""


def clean(text: str) -> str:
    """Return `text` as it can be sent: not blank, which most services refuse, and in UTF-8."""
    return text.encode("utf-8", "replace").decode() if text.strip() else BLANK


def order(rows: Any, wanted: int, what: str) -> list[Any]:
    """Return `rows`, each with its `index`, in the order of the texts that were sent.

    Raises ValueError unless each text has exactly one.
    """
    by_index = {row["index"]: row for row in rows}
    if len(rows) != wanted or by_index.keys() != set(range(wanted)):
        raise WrongFormError(f"{len(rows)} {what} of {wanted} texts")
    return [by_index[i] for i in range(wanted)]


def check_number(rows: Any, wanted: int, what: str) -> list[Any]:
    """Return `rows`. Raises ValueError unless there is one a text."""
    if not isinstance(rows, list) or len(rows) != wanted:
        number = len(rows) if isinstance(rows, list) else "no"
        raise WrongFormError(f"{number} {what} of {wanted} texts")
    return rows


def find_billed(reply: Any, unit: str) -> Any:
    """Return the amount that a reply says was billed, in tokens or searches as `unit` says.

    None if it says nothing. The number is not checked.
    """
    billed = (reply.get("meta") or {}).get("billed_units") or {}  # Cohere's
    if unit == "searches":
        found = billed.get("search_units")
    else:
        usage = reply.get("usage") or {}
        found = usage.get("total_tokens") or usage.get("prompt_tokens")
        found = found or billed.get("input_tokens")
    return int(found) if isinstance(found, float) else found


def find_message(body: Any) -> str:
    """Return a service's message about an error, from whichever of the usual places."""
    for key in ("error", "message", "detail"):
        if isinstance(body, dict) and key in body:
            return find_message(body[key])
    if isinstance(body, list) and body:
        return find_message(body[0])
    return body if isinstance(body, str) else json.dumps(body) if body else ""

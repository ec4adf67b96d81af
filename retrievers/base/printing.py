"""Foreign texts as they are printed: no escapes, and no commands to readers of logs."""

import re

# The one escape that a terminal gets with texts. Those that move the cursor are rich's alone.
COLOUR = r"\x1b\[[0-9;]*m"
CONTROL = r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]|\r(?!\n)"
COMMAND = re.compile(r"^([^\S\n]*):(?=:)", re.MULTILINE)


def replace_controls(text: str, allowed: str = "") -> str:
    """Return `text` with control characters shown as U+FFFD, except what `allowed` matches."""
    pattern = f"({allowed})|{CONTROL}" if allowed else CONTROL
    return re.sub(pattern, lambda i: (i[1] if allowed else "") or "\ufffd", text)


def neutralise(text: str, allowed: str = "", begun: str = "") -> str:
    """Return `text` with control characters shown as U+FFFD and no command to GitHub's runners.

    `allowed` is a pattern of characters that stay. `begun` is the beginning of the line that
    `text` continues.
    """
    lines = replace_controls(text, allowed).replace("##[", "## [")
    first, end, rest = lines.partition("\n")
    if not begun.strip():
        first = COMMAND.sub(r"\1: ", first)
    elif (begun.strip() == ":" and first[:1] == ":") or (begun[-2:] == "##" and first[:1] == "["):
        first = f" {first}"
    return first + end + COMMAND.sub(r"\1: ", rest)

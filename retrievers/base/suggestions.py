"""Suggestions of messages for names that are nearly right."""

from collections.abc import Iterable
from difflib import get_close_matches


def suggest(name: str, allowed: Iterable[str], ending: str = "") -> str:
    """Return `; did you mean …?` if one of `allowed` is nearly `name`, else "".

    Case does not count, and a name that is right gives nothing. `ending` is what follows the name
    that is meant.
    """
    known = {each.casefold(): each for each in allowed}
    near = [known[match] for match in get_close_matches(name.casefold(), list(known), n=1)]
    return f"; did you mean {near[0]}{ending}?" if near and near[0] != name else ""

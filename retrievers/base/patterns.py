"""Regular expressions that are compiled when they are first used."""

import re
from typing import Any, cast


def compile_late(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Return a regular expression that is compiled when it is first used, not when it is imported.

    Long ones take milliseconds to compile, and most commands use few of those that they import.
    """
    return cast("re.Pattern[str]", _LatePattern(pattern, flags))


class _LatePattern:
    """The attributes of a regular expression, each looked up once."""

    def __init__(self, pattern: str, flags: int) -> None:
        self.pattern = pattern
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        found = getattr(re.compile(self.pattern, self._flags), name)
        setattr(self, name, found)
        return found

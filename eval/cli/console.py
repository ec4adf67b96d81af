"""The console of the commands: lines break between words, and no word is ever cut."""

import re
from typing import Any

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

WORD = re.compile(r"\S+\s*")


class WholeWordConsole(Console):
    """A console that breaks text between words alone, where rich cuts words that are too long."""

    def print(self, *objects: Any, **options: Any) -> None:
        """Print as rich does; break text that is printed alone."""
        if len(objects) != 1 or not isinstance(objects[0], str | Text) or "soft_wrap" in options:
            super().print(*objects, **options)
            return
        text = objects[0]
        if isinstance(text, str):
            given = {
                key: options[key] for key in ("markup", "emoji", "highlight") if key in options
            }
            text = self.render_str(text, **given)
        lines = [part for line in text.split(allow_blank=True) for part in self._break(line)]
        super().print(Text("\n").join(lines), soft_wrap=True, **options)

    def _break(self, line: Text) -> list[Text]:
        """Return the parts of a line, each as long as fits, or a single word."""
        begins, used = [], 0
        indent = cell_len(line.plain) - cell_len(line.plain.lstrip())
        for word in WORD.finditer(line.plain):
            if used and used + cell_len(word[0].rstrip()) > self.width:
                begins.append(word.start())
                used = 0
            used += indent + cell_len(word[0])
            indent = 0
        parts = list(line.divide(begins))
        for part in parts[:-1]:
            part.rstrip()
        return parts

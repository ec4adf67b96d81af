"""What is told of progress, kept."""

from assay.retrievers.base import Quiet


class RecordingProgress(Quiet):
    """Keeps the lines that are said."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def say(self, line: str) -> None:
        self.lines.append(line)

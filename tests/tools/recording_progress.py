"""What is told of progress, kept."""

from assay.retrievers.base import Quiet


class RecordingProgress(Quiet):
    """Keeps the lines that are said."""

    def __init__(self):
        self.lines = []

    def say(self, line):
        self.lines.append(line)

"""Real prose and code that every Python has."""

import argparse
import re
from pathlib import Path


def real_texts():
    """Real prose and code that every Python has, some paragraphs twice."""
    source = Path(argparse.__file__).read_text()
    paragraphs = [part for part in re.split(r"\n\s*\n", source) if part.strip()]
    return paragraphs[:300] + paragraphs[:50]

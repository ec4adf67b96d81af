"""Names that no system takes for a path, in every place where a name becomes one."""

from collections.abc import Callable
from pathlib import Path

import pytest

from eval.collections import find_card
from eval.collections.card_files import make_card
from eval.collections.loading import load_card
from eval.collections.location import find_data, why_unavailable
from eval.experiments.config import load_config, make_config
from eval.experiments.experiment import names_system
from eval.experiments.gate import check_gate  # noqa: F401
from eval.experiments.grid_search import read_sweep
from eval.experiments.ingestion import open_source
from eval.runs.stored import find
from retrievers.base import AssayError
from retrievers.language_models.local import LocalModel
from retrievers.models.files import locate
from retrievers.query.wordnet import WordNet
from retrievers.settings import Workshop
from retrievers.settings.files import read_mapping
from retrievers.store.cache import Cache
from retrievers.store.paths import parse_path

"""Numbers of options have the bounds of those of a config."""

import re

import click
import pytest
from click.testing import CliRunner

from assay.eval.cli.commands import COMMANDS
from assay.eval.cli.main import assay
from assay.eval.running.study_options import LARGEST
from assay.retrievers.settings import Settings

BOUNDED_BY_SETTINGS = {"max_cost_usd", "max_tokens", "concurrency", "thinking_tokens",
                       "timeout_seconds"}  # fmt: skip


def list_options(command):
    yield from command.params
    if isinstance(command, click.Group):
        for inner in command.commands.values():
            yield from list_options(inner)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_number_has_bounds(name):
    command = assay.get_command(click.Context(assay), name)
    assert command
    for option in list_options(command):
        if isinstance(option.type, click.types.IntParamType | click.types.FloatParamType):
            most = getattr(option.type, "max", None)
            assert option.name in BOUNDED_BY_SETTINGS or (most and most <= LARGEST), option.name


def test_the_bound_is_that_of_settings():
    assert Settings.largest == LARGEST


@pytest.mark.parametrize(
    "words",
    [
        ("search", "x.yaml", "words", "--k", "99999999999"),
        ("pool", "x", "--limit", "1000001"),
        ("tune", "x.yaml", "--repeats", "1" + "0" * 30),
        ("compare", "a", "b", "--effect", "nan"),
        ("compare", "a", "b", "--effect", "inf"),
    ],
)
def test_a_number_out_of_bounds_is_refused(words):
    done = CliRunner().invoke(assay, words)
    assert done.exit_code == 2
    assert re.search(rf"Error: Invalid value for .*'{words[-2]}': ", done.stderr)

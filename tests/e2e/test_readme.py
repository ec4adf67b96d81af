"""Every command in the README runs."""

import os
import re
import shlex
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from doubles.language_model_server import KEY, LanguageModelServer
from samples.scripted_questions import write
from tools.own_cache import make_cache
from tools.processes import ROOT, find_free_port, finish, start, wait_for_port

BLOCKS = re.findall(r"```console\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
COMMANDS = [line.removeprefix("$ ") for block in BLOCKS for line in block.splitlines()]


def test_the_readme_has_its_commands() -> None:
    assert COMMANDS[:2] == ["make eval CONFIG=hybrid", "make test"]
    assert len(COMMANDS) >= 8


# `make test` is what runs this; the page to judge on ends by Ctrl-C, and has tests of its own.
RUN = [line for line in COMMANDS if line != "make test" and " --serve" not in line]
PRICES = "1,1.25,0.1,5"  # of a model that the price list does not know


@pytest.mark.parametrize("command", RUN)
def test_command(command: str, places, tmp_path: Path) -> None:
    """They run as printed, from the project's root; a server of this machine plays the model."""
    # Relative, as in the Makefile: the project's path may have a blank in it.
    bin_ = Path(os.path.relpath(Path(sys.executable).parent, ROOT))
    command = command.replace(".venv/bin/assay", shlex.quote(str(bin_ / "assay")))
    if command.startswith("make eval"):
        # The targets install on first use; here everything is installed already.
        command += f" BIN={shlex.quote(str(bin_))} -o setup"
    if "assay init" in command:
        command += " --force"
    with LanguageModelServer(write) as server:
        environment = os.environ | places
        if "assay questions" in command and "--dry-run" not in command:
            pytest.importorskip("anthropic", reason="needs the extra `anthropic`")
            command += f" --force --prices {PRICES}"
            asked = {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": server.url}
            environment |= asked | {"ASSAY_CACHE": str(make_cache(tmp_path))}
        program, *arguments = shlex.split(command)
        if program == str(bin_ / "assay") and not set("|&;<>$*") & set(command):
            done = finish(start(*arguments, environment=environment))
        else:
            done = subprocess.run(
                command, shell=True, cwd=ROOT, env=environment, capture_output=True, text=True,
                check=False, timeout=600,
            )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout


def test_mlflow_opens(places) -> None:
    port = find_free_port()
    process = start("mlflow", "--port", str(port), "--no-browser", environment=places)
    try:
        wait_for_port(port)
    finally:
        process.terminate()
        finish(process)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port))

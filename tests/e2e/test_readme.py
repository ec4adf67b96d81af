"""Every command in the README runs."""

import os
import re
import shlex
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from processes import ROOT, find_free_port, finish, start, wait_for_port

BLOCKS = re.findall(r"```console\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
COMMANDS = [line.removeprefix("$ ") for block in BLOCKS for line in block.splitlines()]


def test_the_readme_has_its_commands() -> None:
    assert COMMANDS[:2] == ["make eval CONFIG=hybrid", "make test"]
    assert len(COMMANDS) >= 8


@pytest.mark.parametrize("command", [line for line in COMMANDS if line != "make test"])
def test_command(command: str, places, tmp_path: Path) -> None:
    """`make test` is what runs this; the others run as printed, from the project's root."""
    bin_ = Path(sys.executable).parent
    command = command.replace(".venv/bin/assay", str(bin_ / "assay"))
    if command.startswith("make eval"):
        # The targets install on first use; here everything is installed already.
        command += f" BIN={shlex.quote(str(bin_))} -o setup"
    if "assay init" in command:
        command += " --force"
    done = subprocess.run(
        command, shell=True, cwd=ROOT, env=os.environ | places, capture_output=True, text=True,
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

"""Fixtures: servers that speak the providers' APIs, and a desk for each provider."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from doubles.language_model_server import KEY, Call, LanguageModelServer, Reaction
from tools.context_writer import ContextWriter, Serve


@pytest.fixture(params=["anthropic", "openai"])
def provider(request: pytest.FixtureRequest) -> str:
    pytest.importorskip(request.param, reason=f"needs the extra `{request.param}`")
    return str(request.param)


@pytest.fixture
def serve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Serve]:
    """Start servers, and give the key of both providers."""
    for name in ("ANTHROPIC", "OPENAI"):
        monkeypatch.setenv(f"{name}_API_KEY", KEY)
        monkeypatch.delenv(f"{name}_BASE_URL", raising=False)
    open_servers = []

    def start(react: Callable[[Call], Reaction] = lambda call: None) -> LanguageModelServer:
        server = LanguageModelServer(react)
        open_servers.append(server)
        return server.__enter__()

    yield start
    for server in open_servers:
        server.__exit__()


@pytest.fixture
def desk(serve: Serve, tmp_path: Path, provider: str) -> ContextWriter:
    return ContextWriter(serve(), tmp_path / "cache", provider)

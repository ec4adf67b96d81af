"""Fixtures: servers that speak the providers' APIs, and a desk for each provider."""

import pytest
from doubles.language_model_server import KEY, LanguageModelServer
from tools.context_writer import ContextWriter


@pytest.fixture(params=["anthropic", "openai"])
def provider(request):
    pytest.importorskip(request.param, reason=f"needs the extra `{request.param}`")
    return str(request.param)


@pytest.fixture
def serve(tmp_path, monkeypatch):
    """Start servers, and give the key of both providers."""
    for name in ("ANTHROPIC", "OPENAI"):
        monkeypatch.setenv(f"{name}_API_KEY", KEY)
        monkeypatch.delenv(f"{name}_BASE_URL", raising=False)
    open_servers = []

    def start(react=lambda call: None):
        server = LanguageModelServer(react)
        open_servers.append(server)
        return server.__enter__()

    yield start
    for server in open_servers:
        server.__exit__()


@pytest.fixture
def desk(serve, tmp_path, provider):
    return ContextWriter(serve(), tmp_path / "cache", provider)

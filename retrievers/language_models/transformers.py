"""Causal language models by transformers. Needs the extra `st`."""

from typing import Any

from assay.retrievers.base import AssayError
from assay.retrievers.language_models.base import Answer, LanguageModel, Limits, Prompt
from assay.retrievers.model_files.files import ModelFiles
from assay.retrievers.model_files.hub import quieten
from assay.retrievers.services.errors import TooLongError
from assay.retrievers.services.prices import FREE, Usage
from assay.retrievers.settings import Resources
from assay.retrievers.store.digest import digest


class TransformersModel(LanguageModel):
    """Answers greedily, one prompt at a time, each read anew."""

    prices = FREE
    calls_at_once = 1

    def __init__(self, files: ModelFiles, limits: Limits, resources: Resources) -> None:
        self.name = f"local {files.name}"
        self.window = limits.context - limits.answer
        self.most_output = limits.answer
        self._files = files
        self._resources = resources
        self._model: Any = None
        self._tokenizer: Any = None

    @property
    def identity(self) -> str:
        """Digest of the files and the limits."""
        return digest("transformers", self._files.digest, self.window, self.most_output)

    def open(self) -> None:
        """Load the model and its tokenizer."""
        quieten()
        self._resources.progress.say(f"loading model {self._files.name} ({self._files.build}) …")
        location = dict(self._files.location())
        path = location.pop("model_name_or_path")
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer

        torch.set_num_threads(self._resources.threads)
        try:
            self._tokenizer = AutoTokenizer.from_pretrained(path, **location)
            model = AutoModelForCausalLM.from_pretrained(path, **location)
            gpu = torch.accelerator.current_accelerator(check_available=True)
            self._model = model.to(gpu) if gpu else model
        except Exception as error:  # whatever its many libraries raise
            first = (str(error).strip() or type(error).__name__).splitlines()[0]
            raise AssayError(f"{self.name}: transformers cannot load it: {first}") from None
        if not self._tokenizer.chat_template:
            raise AssayError(
                f"{self.name}: has no chat template; take a model tuned to instructions"
            )

    def answer(self, prompt: Prompt) -> Answer:
        """Complete a chat of one message."""
        import torch

        chat = [{"role": "user", "content": prompt.text}]
        inputs = self._tokenizer.apply_chat_template(
            chat, add_generation_prompt=True, return_tensors="pt", return_dict=True
        ).to(self._model.device)
        length = inputs["input_ids"].shape[1]
        positions = getattr(self._model.config, "max_position_embeddings", None)
        if length > min(self.window, (positions or length + self.most_output) - self.most_output):
            raise TooLongError(f"a prompt of {length} tokens")
        with torch.inference_mode():
            output = self._model.generate(
                **inputs, max_new_tokens=self.most_output, do_sample=False
            )
        made = output[0][length:]
        ended = int(made[-1]) in self._end_tokens()
        text = self._tokenizer.decode(made, skip_special_tokens=True).strip()
        return Answer(text, "end" if ended else "length", Usage(length, output=len(made)))

    def close(self) -> None:
        """Free the model's memory."""
        self._model = self._tokenizer = None

    def _end_tokens(self) -> set[int]:
        ends = self._model.generation_config.eos_token_id
        return set(ends) if isinstance(ends, list) else {ends}

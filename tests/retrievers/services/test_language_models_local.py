"""Language models on this machine, for real: SmolLM2 by llama.cpp, and a tiny one by transformers.

SmolLM2 is 93 MB to fetch, once a machine; its three contexts take some ten seconds on one core.
"""

from pathlib import Path

import pytest

from assay.retrievers.base import AssayError, Chunk, Document
from assay.retrievers.contextualisation.generation import generate
from assay.retrievers.contextualisation.plans import CACHE_KIND, make_plan
from assay.retrievers.language_models.base import Prompt
from assay.retrievers.language_models.client import CallSettings
from assay.retrievers.language_models.local import LocalSettings
from assay.retrievers.services.errors import TooLongError
from assay.retrievers.settings import Resources

TEXT = (
    "The harbour office opens at nine. Ferries to the island leave every hour from pier four. "
    "Tickets are sold on board. Dogs travel free of charge. In winter the last ferry leaves at six."
)
SENTENCES = [sentence + "." for sentence in TEXT.removesuffix(".").split(". ")][:3]
DOCUMENT = Document("ferry", TEXT, title="Harbour rules")


def make_chunks() -> list[Chunk]:
    starts = [TEXT.index(sentence) for sentence in SENTENCES]
    return [
        Chunk(f"c{start}", "ferry", start, start + len(text), text)
        for start, text in zip(starts, SENTENCES, strict=True)
    ]


@pytest.mark.llm
def test_smollm2_situates_chunks_and_rereads_no_shared_document(model_workshop: Resources) -> None:
    pytest.importorskip("xllamacpp", reason="needs the extra `local-llm`")
    resources = Resources(model_workshop.cache, threads=1)
    model = LocalSettings(max_tokens=24, context_tokens=1024).build(resources)
    plan = make_plan([DOCUMENT], make_chunks(), model, None, resources.cache)
    outcome = generate(plan, model, CallSettings(max_cost_usd=0), resources)
    assert outcome.stopped == ""
    assert all(known.text for known in outcome.known.values())
    assert len(outcome.known) == 3
    used = outcome.run.usage
    assert used.output <= 3 * 24
    assert used.cache_read > used.input / 2  # the document was read once
    assert outcome.run.usd == 0
    # What is known needs no model.
    again = make_plan([DOCUMENT], make_chunks(), model, None, resources.cache)
    assert not again.requests
    assert generate(again, model, CallSettings(), resources).known == outcome.known
    with model, pytest.raises(TooLongError, match="1024"):
        model.answer(Prompt("word " * 2000, "?"))


@pytest.mark.llm
def test_a_file_that_is_no_model_is_one_line(tmp_path: Path, model_workshop: Resources) -> None:
    pytest.importorskip("xllamacpp", reason="needs the extra `local-llm`")
    (tmp_path / "broken.gguf").write_bytes(b"GGUF no more")
    model = LocalSettings(model=str(tmp_path / "broken.gguf")).build(model_workshop)
    with pytest.raises(AssayError, match=r"broken\.gguf: llama\.cpp cannot load it") as caught:
        model.open()
    assert "\n" not in str(caught.value)


def test_a_missing_extra_is_one_line(
    model_workshop: Resources, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "xllamacpp", None)
    with pytest.raises(AssayError, match=r"needs the extra `local-llm`: make extra NAME="):
        LocalSettings().build(model_workshop).open()


def test_an_unknown_model_names_what_there_is(model_workshop: Resources) -> None:
    with pytest.raises(AssayError, match="nothing: unknown; allowed: SmolLM2-135M-Instruct"):
        LocalSettings(model="nothing").build(model_workshop)


@pytest.mark.st
def test_any_model_that_transformers_loads(tmp_path: Path, model_workshop: Resources) -> None:
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    words = sorted(set(f"{TEXT} Harbour rules".replace(".", " .").split()))
    names = {word: number for number, word in enumerate(["<unk>", "</s>", *words])}
    tokenizer = Tokenizer(WordLevel(names, unk_token="<unk>"))
    tokenizer.pre_tokenizer = Whitespace()
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, unk_token="<unk>", eos_token="</s>", pad_token="</s>"
    )
    fast.chat_template = "{{ messages[0]['content'] }}"
    fast.save_pretrained(tmp_path)
    small = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1}
    config = LlamaConfig(
        **small,
        num_attention_heads=2,
        vocab_size=len(names),
        max_position_embeddings=400,
        eos_token_id=1,
    )
    LlamaForCausalLM(config).save_pretrained(tmp_path)
    resources = Resources(model_workshop.cache, threads=1)
    model = LocalSettings(model=str(tmp_path), max_tokens=8).build(resources)
    plan = make_plan([DOCUMENT], make_chunks(), model, None, resources.cache)
    outcome = generate(plan, model, CallSettings(), resources)
    assert outcome.stopped == ""
    assert outcome.run.usage.output <= 24
    assert len(resources.cache.get_many(CACHE_KIND, outcome.known)) == 3
    with model, pytest.raises(TooLongError):
        model.answer(Prompt("word " * 500, "?"))

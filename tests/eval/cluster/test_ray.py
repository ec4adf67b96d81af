"""Work given to Ray: what is refused, and what is decided before a Ray is there."""

import os
from dataclasses import replace
from hashlib import sha256
from types import SimpleNamespace
from unittest import mock

import numpy as np
import pytest
import yaml
from click.testing import CliRunner
from samples.small_project import write_project
from tools.processes import find_free_port

from assay.eval.cli.main import assay
from assay.eval.cluster.cache import FetchingCache, RemoteCache
from assay.eval.cluster.cluster import count_workers, tell_end
from assay.eval.cluster.distribution import check, cut_by_tokens, distribute
from assay.eval.cluster.worker import Fingerprint, HostRequirements, Worker, describe
from assay.eval.configs.config import RunConfig
from assay.eval.running.runner import PointTask
from assay.retrievers.base import AssayError, Quiet
from assay.retrievers.models.base import Encoder, TokenEncoder
from assay.retrievers.models.choice import EncoderChoice
from assay.retrievers.models.late_interaction.token_vectors import TokenEncoderSettings
from assay.retrievers.settings import Resources
from assay.retrievers.store.cache import Cache


class Hashing(Encoder):
    """Turns a text into the bytes of its digest."""

    identity = "hashing"

    def encode_query(self, text):
        numbers = np.frombuffer(sha256(text.encode()).digest(), np.uint8).astype(np.float32)
        return np.asarray(numbers / np.linalg.norm(numbers), np.float32)

    def encode_passages(self, texts):
        return np.stack([self.encode_query(text) for text in texts])


class TokenHashing(TokenEncoder):
    """As `Hashing`, a vector a word."""

    identity = "hashing words"

    def encode_query(self, text):
        return Hashing().encode_passages(text.split())

    def encode_passages(self, texts):
        return [self.encode_query(text) for text in texts]

    def metadata(self):
        return {}


class HashingSettings(EncoderChoice):
    def open(self, resources):
        return Hashing()


class TokenHashingSettings(TokenEncoderSettings):
    def _open(self, resources):
        return TokenHashing()


class Pool:
    """Encodes here, behind a cache, as workers do elsewhere."""

    def __init__(self, resources):
        self._resources = resources
        self.asked = []

    def spread(self, settings):
        def encode(encoder, texts):
            self.asked += texts
            settings.build(self._resources).keep(texts)
            yield from range(len(texts))

        return encode


COMMANDS = {
    "run": ["mine.yaml"],
    "sweep": ["sweep.yaml"],
    "ablate": ["mine.yaml"],
    "tune": ["mine.yaml", "--over", "retriever.legs.words.depth=1,2"],
}


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("ray://head:10001", "addresses of Ray's client are not taken"),
        ("head", "not an address; allowed: local, HOST:PORT"),
        ("head:99999", "not an address; allowed: local, HOST:PORT"),
        ("127.0.0.1:PORT", "nothing answers there: "),
    ],
)
def test_a_broken_address_is_one_line(address, told):
    address = address.replace("PORT", str(find_free_port()))
    with pytest.raises(AssayError) as failed, distribute(address, Quiet()):
        pytest.fail("joined")
    assert str(failed.value).startswith(f"--ray {address}: {told}")
    assert "\n" not in str(failed.value)


def test_every_command_refuses_it_before_anything_is_written(tmp_path, monkeypatch):
    write_project(tmp_path)
    monkeypatch.chdir(tmp_path)
    for command, words in COMMANDS.items():
        failed = CliRunner().invoke(assay, [command, *words, "--ray", "head", "--no-track"])
        assert isinstance(failed.exception, AssayError)
        assert str(failed.exception).startswith("--ray head: not an address")
    assert not (tmp_path / "reports").exists()


def test_what_is_charged_for_is_refused(tmp_path):
    encoder = {"type": "openai", "model": "text-embedding-3-small"}
    legs = {"dense": {"type": "dense", "encoder": encoder}}
    config = RunConfig.model_validate({"name": "served", "retriever": {"legs": legs}})
    with pytest.raises(AssayError, match=r"^--ray: served: dense calls a service that charges"):
        check(config, Resources(Cache(tmp_path), Quiet()))


def test_batches_hold_so_many_tokens_and_every_text_once():
    texts = ["word " * 4000, "", "word " * 20_000, *["word " * 100] * 200]
    spans = list(cut_by_tokens(texts, 512))
    assert [i for span in spans for i in span] == list(range(len(texts)))
    assert max(len(span) for span in spans[1:]) == 8192 // (500 // 4 + 1)
    assert list(cut_by_tokens(texts, None))[1] == range(2, 3)  # longer than a batch: alone
    assert list(cut_by_tokens([], None)) == []


def test_a_cache_elsewhere_asks_for_what_it_lacks_and_tells_what_is_new(tmp_path):
    keeper = RemoteCache(tmp_path / "home")
    keeper.put_many("vectors", {"a": b"1", "b": b"2"})
    asked = []

    def get_many(kind, keys):
        asked.append(keys)
        return keeper.get_many(kind, keys)

    remote = SimpleNamespace(
        get_many=SimpleNamespace(remote=get_many), put_many=SimpleNamespace(remote=keeper.put_many)
    )
    cache = FetchingCache(tmp_path / "away", remote, lambda value: value)
    for _ in range(2):
        assert cache.get_many("vectors", ["a", "b"]) == {"a": b"1", "b": b"2"}
    assert asked == [["a", "b"]]
    cache.put_many("vectors", {"c": b"3"})
    assert keeper.get_many("vectors", ["c"]) == {"c": b"3"}


@pytest.mark.parametrize("kind", [HashingSettings, TokenHashingSettings])
def test_what_others_encode_is_as_what_is_encoded_here(tmp_path, kind):
    texts = [f"text {number % 150}" for number in range(200)]
    here = kind().build(Resources(Cache(tmp_path / "here")))
    pool = Pool(Resources(Cache(tmp_path / "shared")))
    shared = kind().build(Resources(Cache(tmp_path / "shared"), pool=pool))
    assert shared.keep(texts[:64]) == here.keep(texts[:64]) == 64
    assert not pool.asked  # so few are not worth sending
    assert shared.keep(texts) == here.keep(texts) == 86
    assert pool.asked == texts[64:150]
    assert shared.keep(texts) == 0
    keys = [encoder.recall_seconds(texts) is not None for encoder in (here, shared)]
    assert keys == [True, True]


NODES = [
    {"Alive": True, "Resources": {}},
    {"Alive": True, "Resources": {"CPU": 4.0, "GPU": 2.0}},
    {"Alive": True, "Resources": {"CPU": 2.0, "GPU": 1.0}},
    {"Alive": False, "Resources": {"CPU": 8.0, "GPU": 8.0}},
]


def test_workers_are_as_many_as_find_processors_and_gpus():
    assert [count_workers(NODES, gpus) for gpus in (0, 0.25, 1, 2)] == [6, 6, 3, 1]
    assert count_workers(NODES[:1], 0) == 1
    with pytest.raises(AssayError, match=r"^--ray-gpus 4: .* the most that one has is 2$"):
        count_workers(NODES, 4)


def test_the_line_that_tells_why_a_worker_ended_is_told():
    died = "The actor died unexpectedly before finishing this task."
    gone = f"{died}\n\tclass_name: Worker\n\tip: 10.0.0.3\nThe actor's node has died."
    assert tell_end(gone) == "The actor's node has died."
    assert tell_end(died) == died
    begun = "The actor died because of an error raised in its creation task, ray::W (pid=1, ip="
    lacks = "ModuleNotFoundError: No module named 'assay'"
    assert tell_end(f"{begun}10.0.0.3, repr=x)\n  File x\n{lacks}") == f"{lacks} (on 10.0.0.3)"


def test_a_retriever_is_told_by_what_decides_its_answers(tmp_path):
    resources = Resources(Cache(tmp_path), Quiet())

    def tell(model):
        legs = {"dense": {"type": "dense", "encoder": model}}
        return describe(
            RunConfig.model_validate({"name": "a", "retriever": {"legs": legs}}), resources
        )

    assert tell("bge-small-en-v1.5") == tell("bge-small-en-v1.5") != tell("all-MiniLM-L6-v2")
    assert tell(str(tmp_path / "nowhere")) == ""


def test_a_worker_of_another_kind_refuses(tmp_path, monkeypatch):
    write_project(tmp_path)
    from assay.eval.runs import environment

    monkeypatch.chdir(tmp_path)
    place = HostRequirements(str(tmp_path), {}, (), {}, "other code", "", tmp_path, None)
    code = environment.digest_code(*environment.EVERYTHING)
    refusals = {
        "is not there: configs and collections": replace(place, folder=str(tmp_path / "gone")),
        "has other code": place,
        "is installed here": replace(place, code=code),
    }
    for told, given in refusals.items():
        refused = pytest.raises(AssayError, match=f"^--ray: the worker on .*{told}")
        with refused, mock.patch.dict(os.environ):  # a worker drops what it was not told
            Worker().enter(given)
    seen = Fingerprint("other content", "")
    config = RunConfig.model_validate(yaml.safe_load((tmp_path / "mine.yaml").read_text()))
    with pytest.raises(AssayError, match="collection mine: it holds other content there"):
        Worker().run([PointTask({}, config)], [seen], "nDCG@10", tmp_path)

"""What a config and a card from elsewhere may ask for."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from samples.small_project import write_project
from tools.http_services import serving
from tools.plugged_packages import install

from assay.eval.cli.main import assay
from assay.eval.collections.catalog import read_card
from assay.eval.collections.formats.registry import find_format, list_formats
from assay.eval.collections.loading import load_card
from assay.eval.collections.location import find_data, why_unavailable
from assay.eval.studies.targets.settings import load_settings
from assay.retrievers.base import AssayError
from assay.retrievers.settings.files import read_mapping
from assay.retrievers.settings.trust import (
    ADDRESS,
    TrustError,
    find_rule,
    is_trusted,
    list_asked,
    list_settings,
)

WAY_OUT = "--trust (or ASSAY_TRUST=1) allows it"
ENCODER = "retriever: {legs: {one: {type: dense, encoder: {%s}}}}"
# What a file from elsewhere asks for, and what the refusal says of it.
ASKING = {
    "retriever: {type: python, class: 'mine:Mine'}": "retriever.type: names code to run",
    "retriever: {type: langchain, object: 'mine:mine'}": "retriever.type: names code to run",
    "retriever: {type: llamaindex, object: 'mine:mine'}": "retriever.type: names code to run",
    "retriever: {type: haystack, object: 'mine:mine'}": "retriever.type: names code to run",
    "retriever: {legs: {one: {type: python, class: 'mine:Mine'}}}": "one.type: names code to run",
    "documents: {chunker: {type: python, class: 'mine:Mine'}}": "chunker.type: names code to run",
    "axes: {retriever.legs.one.type: [bm25, python]}": "one.type: names code to run",
    "retriever: {type: http, url: 'http://me:pw@evil.example/x'}": "sends texts to evil.example",
    "retriever: {token_variable: GITHUB_TOKEN}": "token_variable: sends what $GITHUB_TOKEN holds",
    ENCODER
    % "type: openai, url: 'http://evil.example'": "encoder.url: sends texts to evil.example",
    ENCODER % "type: openai, key_variable: AWS_KEY": "encoder.key_variable: sends what $AWS_KEY",
    ENCODER % "type: openai, key_variable: COHERE_API_KEY": "sends what $COHERE_API_KEY holds",
    ENCODER % "type: tei, url: 'http://10.0.0.1:8080'": "url: sends texts to 10.0.0.1",
    # The type may stand in the file that builds on this one.
    ENCODER % "key_variable: OPENAI_API_KEY": "sends what $OPENAI_API_KEY holds",
    "axes: {type: [http], url: ['http://evil.example']}": "axes.url: sends texts to evil.example",
    "retriever: {type: http, url: 'http://[x'}": "retriever.url: sends texts to an address",
    "axes: {retriever.type: [bm25, haystack]}": "axes.retriever.type: names code to run",
    'axes: {"a\\nb.url": "http://evil.example"}': "axes.a b.url: sends texts to evil.example",
    "axes: {retriever.url: ['http://evil.example']}": "retriever.url: sends texts to evil.example",
    "axes: {retriever: [{type: http, url: 'http://evil.example'}]}": "retriever.0.url: sends texts",
    "retriever: {query: [{type: hyde, model: {type: openai, base_url: 'http://a.b/v1'}}]}": (
        "query.0.model.base_url: sends texts to a.b"
    ),
    "retriever: {engine: {type: opensearch, verify_certs: false}}": "verify_certs: changes a saf",
    "retriever: {engine: {type: elasticsearch, ca_certs: /etc/passwd}}": "reads /etc/passwd",
    "retriever: {query: [{type: synonyms, folder: /etc}]}": "query.0.folder: reads /etc",
    "documents: {converter: {command: [sh, -c, id]}}": "converter.command: names code to run",
    "retriever: {class: 'mine:Mine'}": "retriever.class: names code to run",
}
ASKING_NOTHING = [
    ENCODER % "type: openai, key_variable: OPENAI_API_KEY",
    ENCODER % "type: openai, url: 'https://api.openai.com/v1'",
    ENCODER % "type: tei, url: 'http://localhost:8080'",
    "retriever: {model: {type: anthropic, key_variable: ANTHROPIC_API_KEY, base_url: null}}",
    "retriever: {engine: {type: opensearch, verify_certs: true}}",
    "retriever: {query: [{type: filter, path: docs/*}]}",
    "retriever: {fusion: {type: rrf, weights: {url: 0.5}}}",
    "axes: {retriever.legs.x.type: [bm25, dense]}",
]
# Fields by whose name or description trust is likely to be needed.
SENSITIVE = re.compile(
    r"(^|_)(address|certs|command|credentials|dsn|endpoint|env|file|files|folder|headers|host|key"
    r"|location|module|object|password|path|proxy|secret|server|uri|url|variable)(_|$)|verify"
)
DESCRIBED = re.compile(r"environment variable|importable|address of|certificate|program", re.I)
CARD = "name: tiny\ntitle: Tiny\nformat: native\n"


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """A folder outside the working one."""
    for name in ("here", "elsewhere"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.delenv("ASSAY_TRUST", raising=False)
    return tmp_path / "elsewhere"


@pytest.mark.parametrize("text", ASKING)
def test_a_file_from_elsewhere_names_no_code_address_or_place(elsewhere, monkeypatch, text):
    path = elsewhere / "config.yaml"
    path.write_text(text)
    with pytest.raises(TrustError) as caught:
        read_mapping(path)
    said = str(caught.value)
    assert said.startswith(f"{path}: ")
    assert ASKING[text] in said
    assert (caught.value.path, ASKING[text] in "\n".join(caught.value.asked)) == (path, True)
    assert said.endswith(f"; the file lies outside {Path.cwd()}: read it first, then {WAY_OUT}")
    assert "\n" not in said
    assert "pw" not in said.replace(str(path), "")
    Path("config.yaml").write_text(text)
    assert read_mapping(Path("config.yaml"))
    monkeypatch.setenv("ASSAY_TRUST", "1")
    assert read_mapping(path)


def test_a_key_that_a_package_marked_needs_trust_before_its_part_is_used(elsewhere, monkeypatch):
    (elsewhere / "marking.py").write_text(
        "from typing import Annotated, Literal\n"
        "from assay.retrievers.settings import Settings\n"
        "from assay.retrievers.settings.trust import ADDRESS\n"
        "class Ours(Settings):\n"
        "    type: Literal['ours']\n"
        "    elsewhere: Annotated[str, ADDRESS] = ''\n"
    )
    install(elsewhere, monkeypatch, "assay.legs", ours="marking:Ours")
    path = elsewhere / "config.yaml"
    path.write_text("retriever: {legs: {x: {type: ours, elsewhere: x.example}}}")
    with pytest.raises(TrustError, match=r"x\.elsewhere: sends texts to x\.example"):
        read_mapping(path)


@pytest.mark.parametrize("text", ASKING_NOTHING)
def test_a_file_from_elsewhere_may_say_what_holds_anyway(elsewhere, text):
    (elsewhere / "config.yaml").write_text(text)
    assert read_mapping(elsewhere / "config.yaml")


def test_python_is_code_before_the_parts_that_name_it_are_imported():
    asked = (
        "from assay.retrievers.settings.trust import list_asked; print(list_asked({'type': %r}))"
    )
    for name, told in (("python", "['type: names code to run']\n"), ("unknown", "[]\n")):
        done = subprocess.run([sys.executable, "-c", asked % name], capture_output=True, text=True)
        assert done.stdout == told
    assert list_asked({"type": "unknown"}) == []
    assert str(TrustError(Path("x"), ["a: b", "c: d"])).startswith("x: a: b; c: d; the file lies")


def test_targets_from_elsewhere_ask_for_nothing_by_overrides(elsewhere):
    override = "retriever={type: http, url: 'http://evil.example'}"
    values = {
        "pipelines": {"one": {"config": "mine.yaml", "overrides": [override]}},
        "targets": {"T1": {"criterion": "x", "as_written": "x", "reason": "x"}},
    }
    path = elsewhere / "targets.yaml"
    path.write_text(json.dumps(values))
    with pytest.raises(AssayError, match=r"one\.overrides\.retriever\.url: sends texts to evil"):
        load_settings(path)
    Path("targets.yaml").write_text(json.dumps(values))
    assert load_settings(Path("targets.yaml"))


@pytest.mark.parametrize("command", ["run", "search", "compare", "base"])
def test_nothing_is_sent_for_a_config_that_is_not_trusted(elsewhere, monkeypatch, command):
    monkeypatch.setenv("SECRET", "value")
    write_project(Path())
    path, keys = elsewhere / "config.yaml", set()
    Path("based.yaml").write_text(f"base: {path}\n")
    words = {
        "run": ["run", str(path), "latency.queries=0", "--no-track"],
        "search": ["search", str(path), "garden"],
        "compare": ["compare", "mine.yaml", str(path), "--no-track"],
        "base": ["search", "based.yaml", "garden"],
    }[command]

    def answer(_, headers):
        keys.add(headers.get("Authorization"))
        return {"hits": []}

    with serving(answer) as url:
        http = f"{{type: http, token_variable: SECRET, url: '{url}'}}"
        path.write_text(f"name: x\ndataset: mine\nretriever: {http}\n")
        refused = CliRunner().invoke(assay, words)
        assert isinstance(refused.exception, AssayError)
        assert str(refused.exception).startswith(f"{path}: retriever.")
        assert "value" not in str(refused.exception)
        assert not keys
        CliRunner(env={"ASSAY_TRUST": None}).invoke(assay, [*words, "--trust"])
    assert keys == {"Bearer value"}


def test_every_field_that_looks_as_if_it_needed_trust_has_a_rule():
    for name in list_formats():
        find_format(name)
    bare = {
        f"{model.__module__}.{model.__name__}.{name}"
        for model in list_settings()
        if model.__module__.partition(".")[0] == "assay"
        for name, field in model.model_fields.items()
        if SENSITIVE.search(name) or DESCRIBED.search(field.description or "")
        if find_rule(model, name) is None
    }
    assert not bare


def test_nothing_is_imported_of_what_is_refused(elsewhere):
    Path("mine.py").write_text("open('imported', 'w')\n")
    path = elsewhere / "config.yaml"
    path.write_text("name: x\nretriever: {type: python, class: 'mine:Mine'}\n")
    assert isinstance(CliRunner().invoke(assay, ["run", str(path)]).exception, AssayError)
    assert not Path("imported").exists()
    CliRunner(env={"ASSAY_TRUST": None}).invoke(assay, ["run", str(path), "--trust", "--no-track"])
    assert Path("imported").exists()


@pytest.mark.parametrize(
    "keys",
    [
        "documents: ../../etc",
        "documents: /etc",
        "documents: linked",
        "location: ..",
        "location: /etc",
        "location: $ASSAY_HERE/../..",
        "location: $ASSAY_HERE/linked",
        "location: ${ASSAY_HERE}/linked/../etc",
        "queries: ../secret.jsonl",
        "judgments: {test: /etc/passwd}",
    ],
)
def test_a_card_from_elsewhere_names_no_other_place(elsewhere, monkeypatch, keys):
    monkeypatch.setenv("ASSAY_HERE", str(elsewhere))
    (elsewhere / "linked").symlink_to("/etc")
    card = CARD if keys.startswith("judgments") else CARD + "judgments: {test: j.jsonl}\n"
    (elsewhere / "dataset.yaml").write_text(f"{card}{keys}\n")
    told = f"^{elsewhere}/dataset.yaml: names .* which lies outside .*; {re.escape(WAY_OUT)}$"
    with pytest.raises(AssayError, match=told):
        find_data(read_card(elsewhere / "dataset.yaml"))
    monkeypatch.setenv("ASSAY_TRUST", "1")
    assert find_data(read_card(elsewhere / "dataset.yaml"))


@pytest.mark.parametrize(
    "location", ["$HOME/.ssh", "${HOME}/.ssh", "$SECRET/x", "x/$SECRET", "$ASSAY_DATA/$SECRET"]
)
def test_a_card_from_elsewhere_names_no_variable_but_ours(elsewhere, monkeypatch, location):
    (elsewhere / "home/.ssh").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(elsewhere / "home"))
    monkeypatch.setenv("SECRET", "ghp_value")
    monkeypatch.setenv("ASSAY_DATA", str(elsewhere))
    (elsewhere / "dataset.yaml").write_text(
        f"{CARD}location: {location}\njudgments: {{test: j.jsonl}}\n"
    )
    name = location.rpartition("$")[2].strip("{}").partition("}")[0].partition("/")[0]
    with pytest.raises(AssayError, match=rf"location: reads \${name}; .*ASSAY_.*--trust") as caught:
        find_data(read_card(elsewhere / "dataset.yaml"))
    assert "ghp_value" not in str(caught.value)


@pytest.mark.parametrize("value", ["ghp_value", "ghp_value\x01" + "x" * 5000, "~ghp_value"])
def test_no_message_repeats_what_a_variable_holds(elsewhere, monkeypatch, value):
    monkeypatch.setenv("SECRET", value)
    for folder in (Path(), elsewhere):
        monkeypatch.setenv("ASSAY_TRUST", "1")
        (folder / "dataset.yaml").write_text(
            f"{CARD}location: $SECRET/x\njudgments: {{test: j.jsonl}}\n"
        )
        card = read_card(folder / "dataset.yaml")
        with pytest.raises(AssayError, match=r"\$SECRET/x") as caught:
            find_data(card)
        assert "ghp_value" not in str(caught.value)
        assert "ghp_value" not in why_unavailable(card)


def test_a_link_below_a_variable_is_the_users_own_if_the_card_is_too(elsewhere, monkeypatch):
    for folder in ("large/tiny", "data"):
        (elsewhere / folder).mkdir(parents=True)
    (elsewhere / "data/tiny").symlink_to(elsewhere / "large/tiny")
    monkeypatch.setenv("ASSAY_DATA", str(elsewhere / "data"))
    text = f"{CARD}location: $ASSAY_DATA/tiny\njudgments: {{test: j.jsonl}}\n"
    for folder in (Path(), elsewhere):
        (folder / "dataset.yaml").write_text(text)
    assert find_data(read_card(Path("dataset.yaml"))) == elsewhere / "data/tiny"
    with pytest.raises(AssayError, match=r"names \$ASSAY_DATA/tiny, which lies outside the folder"):
        find_data(read_card(elsewhere / "dataset.yaml"))


def test_a_document_that_is_a_link_to_elsewhere_is_refused(elsewhere):
    (elsewhere / "docs").mkdir()
    (elsewhere / "docs/secret.md").symlink_to("/etc/passwd")
    (elsewhere / "queries.jsonl").write_text("")
    (elsewhere / "dataset.yaml").write_text(
        f"{CARD}documents: docs\njudgments: {{test: j.jsonl}}\n"
    )
    card = read_card(elsewhere / "dataset.yaml")
    with pytest.raises(AssayError, match=r"secret\.md, which lies outside"):
        load_card(card, "test")


def test_a_card_of_the_working_folder_names_what_lies_there(elsewhere):
    for name in ("texts", "set"):
        Path(name).mkdir()
    Path("set/dataset.yaml").write_text(f"{CARD}location: ../texts\njudgments: {{test: j.jsonl}}\n")
    assert find_data(read_card(Path("set/dataset.yaml"))).resolve() == Path("texts").resolve()


def test_what_a_config_from_elsewhere_asks_for_is_shown_and_not_done(elsewhere):
    (elsewhere / "base.yaml").write_text("retriever: {type: python, class: 'mine:Mine'}\n")
    path = elsewhere / "config.yaml"
    path.write_text(
        "name: x\nbase: base.yaml\n"
        "retriever: {type: http, token_variable: SECRET, url: 'http://u:pass@host.example/x'}\n"
    )
    Path("mine.py").write_text("open('imported', 'w')\n")
    named = CliRunner().invoke(assay, ["config", "show", "hybrid_rrf", "--trust"])
    assert named.output == "hybrid_rrf: asks for nothing that needs trust\n"
    shown = CliRunner().invoke(assay, ["config", "show", str(path), "--trust"])
    assert shown.exit_code == 0, shown.output
    assert shown.output.splitlines() == [
        f"{path}: retriever.token_variable: sends what $SECRET holds",
        f"{path}: retriever.url: sends texts to host.example",
        f"{elsewhere / 'base.yaml'}: retriever.type: names code to run",
        f"{elsewhere / 'base.yaml'}: retriever.class: names code to run",
    ]
    assert not Path("imported").exists()
    assert isinstance(
        CliRunner().invoke(assay, ["config", "show", str(path)]).exception, AssayError
    )


def test_the_project_is_trusted_from_anywhere(elsewhere):
    assert is_trusted(Path(__file__).parents[3] / "configs" / "bm25.yaml")
    assert not is_trusted(elsewhere / "bm25.yaml")


@pytest.mark.parametrize("address", ["http://u:pass@host.example/x", "u:pass@host.example"])
def test_a_refusal_names_the_host_and_no_password(address):
    assert ADDRESS.describe(address) == "sends texts to host.example"

"""The configs of docs/pipelines.md whose queries a language model writes, as they stand there."""

import json
import re

import pytest
from click.testing import CliRunner
from doubles.language_model_server import KEY, LanguageModelServer, Say
from samples.small_project import QUERIES, write_project
from tools.extras import skip_without
from tools.own_cache import make_cache
from tools.processes import ROOT

from assay.eval.cli.main import assay

skip_without("openai", "openai")

PAGE = (ROOT / "docs/pipelines.md").read_text()
BLOCKS = re.findall(r"^```yaml\n(base: \w+\nname: with_.*?)^```$", PAGE, re.M | re.S)


def write(call):
    return Say("".join(f"<passage>word{number} is here</passage>\n" for number in range(4)))


def run(*words):
    result = CliRunner().invoke(assay, ["run", *words, "--no-track", "--json"])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "mode"),
    list(zip(BLOCKS, ("semantic", "keyword"), strict=True)),
    ids=["hyde", "multi_query"],
)
def test_the_configs_run(text, mode, tmp_path, monkeypatch):
    write_project(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASSAY_CACHE", str(make_cache(tmp_path)))
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    (tmp_path / "written.yaml").write_text(text)
    words = ["written.yaml", "dataset=datasets/mine", f"retriever.mode={mode}"]
    with LanguageModelServer(write) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        told = run(*words, "latency.queries=1")
        asked = len(server.calls)
        assert asked > len(QUERIES), "to be judged, and to be timed"
        run(*words, "latency.queries=0")
        assert len(server.calls) == asked
    step = "hyde" if mode == "semantic" else "multi_query"
    assert told["stages_ms"][step]["p50"] > 0
    assert told["cost"]["usd_per_1000_queries"] or told["cost"]["unpriced"] == [step]

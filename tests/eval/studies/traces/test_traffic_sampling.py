"""Queries of traffic are drawn with known chances, judged, and stand for all searches."""

import csv
import json
from collections import Counter
from pathlib import Path

import pytest
from doubles.spans import Emitter, emit_search
from tools.command_line import invoke

from assay.eval.collections.authoring import author
from assay.eval.collections.loading import load
from assay.eval.studies.traces import sample_files
from assay.eval.studies.traces.personal_data import Masker
from assay.eval.studies.traces.sampling import TrafficQuery, draw, merge
from assay.eval.studies.traces.traces import open_book
from assay.retrievers.base import Quiet

TEXTS = {
    "dogs.md": "# Dogs\n\nDogs travel on deck.\n",
    "bikes.md": "# Bicycles\n\nBicycles cost two pounds.\n",
    "times.md": "# Times\n\nThe ferry sails twice a day.\n",
}
ASKED = {
    "may dogs travel on deck?": ("dogs.md", 6),
    "what do bicycles cost": ("bikes.md", 3),
    "when does the ferry sail": ("times.md", 1),
}


def make_traffic():
    return [
        TrafficQuery(
            f"query {i}",
            trace=str(i),
            time=i,
            frequency=max(1, 200 // (i + 1)),
            found=i % 7 > 0,
            score=(i * 37 % 100) / 100 if i % 7 else None,
        )
        for i in range(200)
    ]


def write_spans(folder):
    emitter = Emitter()
    for query, (name, times) in ASKED.items():
        found = [{"id": name, "text": TEXTS[name].split("\n")[2], "score": 0.5}]
        for i in range(times):
            emit_search(query.upper() if i % 2 else query, found, emitter)
    (folder / "spans.json").write_text(json.dumps(emitter.otlp_json()))
    return str(folder / "spans.json")


def write_docs(folder):
    folder.mkdir(parents=True)
    for name, text in TEXTS.items():
        (folder / name).write_text(text)


def test_words_asked_again_are_one_query(tmp_path):
    with open_book([write_spans(tmp_path)]) as book:
        found = merge(book.traces(), Masker(), seed=0)
    assert sorted(query.frequency for query in found) == [1, 3, 6]


def test_strata_hold_every_search_and_their_places():
    queries = make_traffic()
    drawn = draw(queries, 60, seed=1)
    assert len({query.trace for query in drawn}) == 60
    strata = {query.stratum: query for query in drawn}
    assert sum(query.members for query in strata.values()) == len(queries)
    assert sum(query.searches for query in strata.values()) == sum(i.frequency for i in queries)
    for number in (1, 2, 5, 199, 200, 500):
        assert len(draw(make_traffic(), number, seed=0)) == min(number, 200)
    counted = Counter(query.stratum for query in drawn)
    assert counted == {name: query.drawn for name, query in strata.items()}


def test_chances_within_a_stratum_are_as_told():
    times = 400
    seen = Counter()
    chance = {}
    for seed in range(times):
        for query in draw(make_traffic(), 60, seed):
            seen[query.trace] += 1
            chance[query.trace] = query.drawn / query.members
    assert len(chance) == 200
    for trace, expected in chance.items():
        spread = (expected * (1 - expected) / times) ** 0.5
        assert abs(seen[trace] / times - expected) <= 4.5 * spread


def test_a_sample_is_judged_and_stands_for_the_traffic(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASSAY_REPORTS", str(tmp_path / "reports"))
    write_docs(tmp_path / "docs")
    call = ["traces", "sample", write_spans(tmp_path), "--documents", "docs", "--output", "asked"]

    refused = invoke(*call)
    assert "--consent" in str(refused.exception)
    assert not Path("asked").exists()

    made = invoke(*call, "--consent", "--json")
    assert made.exit_code == 0, made.output
    told = json.loads(made.stdout)
    assert (told["searches"], told["queries"], told["drawn"]) == (10, 3, 3)

    unjudged = invoke("run", "bm25", "--dataset", "asked", "--no-track")
    assert "no query is judged" in str(unjudged.exception)

    pool = Path("asked/pool.csv")
    with pool.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    correct = {query.casefold(): name for query, (name, _) in ASKED.items()}
    # The query that is asked most is judged wrong, so that the weighted mean differs.
    for row in rows:
        right = correct[row["query"].casefold()] == row["doc_id"] != "dogs.md"
        row["grade"] = str(int(right))
    with pool.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    labelled = invoke("label", str(pool))
    assert labelled.exit_code == 0, labelled.output

    run = ["run", "bm25", "--dataset", "asked", "--no-track"]
    printed = invoke(*run)
    assert printed.exit_code == 0, printed.output
    assert "an estimate for 10 searches" in printed.output
    [page] = (tmp_path / "reports").glob("*/report.html")
    assert "For the traffic" in page.read_text()
    result = json.loads(invoke(*run, "--json").stdout)
    assert result["measures"]["Hit@1"]["mean"] == pytest.approx(2 / 3)
    assert result["traffic"]["measures"]["Hit@1"]["value"] == pytest.approx(0.4)


def test_a_place_is_judged_once_and_pages_stay(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    docs = tmp_path / "datasets" / "pier" / "docs"
    write_docs(docs)
    pages = {"path": "dogs.md", "characters": len(TEXTS["dogs.md"]), "pages": [0, 8]}
    (docs.parent / "pages.jsonl").write_text(f"{json.dumps(pages)}\n")
    card = "name: pier\ntitle: Pier\nformat: native\ndocuments: docs\npages: pages.jsonl\n"
    (docs.parent / "dataset.yaml").write_text(card)
    emitter = Emitter()
    texts = ("The ferry sails twice a day.\n", " The ferry sails twice  a day.", TEXTS["dogs.md"])
    found = [{"id": f"chunk {i}", "text": text, "score": 0.5} for i, text in enumerate(texts)]
    found.append({"id": "part", "text": "travel on deck", "score": 0.5})
    emit_search("dogs on the ferry", found, emitter)
    Path("spans.json").write_text(json.dumps(emitter.otlp_json()))

    call = ["traces", "sample", "spans.json", "--documents", "pier", "--output", "asked"]
    made = invoke(*call, "--consent", "--json")
    assert made.exit_code == 0, made.output
    with Path("asked/pool.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    places = [(row["doc_id"], int(row["start"]), int(row["end"])) for row in rows]
    # In the order of the documents, which says nothing of who found them; BM25 finds both whole.
    whole = [(name, 0, len(TEXTS[name].strip())) for name in ("dogs.md", "times.md")]
    ferry = ("times.md", TEXTS["times.md"].index("The"), whole[1][2])
    start = TEXTS["dogs.md"].index("travel")
    part = ("dogs.md", start, start + len("travel on deck"))
    assert places == [whole[0], part, whole[1], ferry]
    assert any("4 of 4 pairs share half" in note for note in json.loads(made.stdout)["notes"])
    documents = {item.id: item for item in load("asked", Quiet()).documents}
    assert documents["dogs.md"].pages == (0, 8)


@pytest.mark.parametrize("copied", [False, True])
def test_a_sample_killed_before_its_seal_is_finished_by_the_same_command(
    copied, tmp_path, monkeypatch
):
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.chdir(home)
    docs = (tmp_path if copied else home) / "docs"
    write_docs(docs)
    spans = write_spans(tmp_path)
    call = ["traces", "sample", spans, "--documents", str(docs), "--consent", "--output", "asked"]
    whole = invoke(*call)
    assert whole.exit_code == 0, whole.output
    Path("asked").rename("whole")

    def kill(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(author, "write_atomically", kill)  # when copies alone are written
        invoke(*call)
    assert not Path("asked/dataset.yaml").exists()
    with monkeypatch.context() as patch:
        patch.setattr(sample_files, "seal", kill)
        invoke(*call)
    assert "\ndigests:" not in Path("asked/dataset.yaml").read_text()
    for _ in range(2):  # it may also have been killed when all was written
        again = invoke(*call)
        assert (again.exit_code, again.output) == (0, whole.output)
        for path in Path("whole").rglob("*.*"):
            written = (Path("asked") / path.relative_to("whole")).read_bytes()
            assert written == path.read_bytes()

    pool = Path("asked/pool.csv")
    graded = pool.read_bytes() + b"q,graded\r\n"
    pool.write_bytes(graded)
    refused = invoke(*call)
    assert "dataset.yaml: is there already" in str(refused.exception)
    pool.unlink()
    assert "dataset.yaml: is there already" in str(invoke(*call).exception)

"""That what is known is not asked again."""

from assay.retrievers.base import Chunk, Document


def test_what_decides_an_answer_decides_its_key(desk):
    keys = {tuple(desk.plan(desk.model()).keys.values())}
    keys.add(tuple(desk.plan(desk.model(model="other")).keys.values()))
    keys.add(tuple(desk.plan(desk.model(max_tokens=50)).keys.values()))
    keys.add(tuple(desk.plan(desk.model(base_url="http://127.0.0.1:9")).keys.values()))
    keys.add(tuple(desk.plan(desk.model(), window=20).keys.values()))
    assert len(keys) == 5


def test_a_changed_document_is_asked_about_anew_and_equal_chunks_once(desk):
    desk.run()
    first = desk.documents[0]
    desk.documents[0] = Document(first.id, f"{first.text}More.", first.title)
    plan = desk.plan(desk.model())
    assert {request.chunk_id.split("-")[0] for request in plan.requests} == {"doc0"}
    desk.server.calls.clear()
    desk.documents = [Document("twice", "same same ")]
    desk.chunks = [Chunk(f"c{i}", "twice", i, i + 5, "same ") for i in (0, 5)]
    assert set(desk.texts(desk.run())) == {"c0", "c5"}
    assert len(desk.server.calls) == 1


def test_answers_that_were_paid_for_are_found_again(desk):
    """Their kind and form are those of every cache that is out there."""
    desk.run()
    made = len(desk.server.calls)
    keys = desk.plan(desk.model()).keys
    found = desk.resources.cache.get_many("contexts", keys.values())
    kept = found[keys["doc1-0"]]
    assert kept.startswith(b'{"text": "About word1x0.", "ending": "end", "note": "", "usage": {')
    desk.run()
    assert len(desk.server.calls) == made

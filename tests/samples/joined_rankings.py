"""Rankings of several queries, joined as those of a run are."""

from assay.eval.scoring.joined import JoinedRankings, NumberLists, group_judged


def join_all(rankings, gold, prescribed=frozenset(), unwanted=frozenset()):
    chunks = list({chunk.id: chunk for listed in rankings.values() for chunk in listed}.values())
    numbers = {chunk.id: number for number, chunk in enumerate(chunks)}
    lists = NumberLists()
    for query in gold:
        lists.add(numbers[chunk.id] for chunk in rankings[query])
    return JoinedRankings(lists, chunks, prescribed, gold, group_judged(chunks, gold), unwanted)

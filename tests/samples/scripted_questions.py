"""A language model server's replies to the prompts of `assay questions`: each has its own form.

`PYTHONPATH=tests:. python -m samples.scripted_questions` serves them, and prints the address.
"""

import json
import re
import signal

from doubles.language_model_server import LanguageModelServer, Say

SENTENCE = re.compile(r"[A-Z][^.!?\n|]{25,}[.!?]")
IDENTIFIER = re.compile(r"\b[A-Z]+-?\d\w*|§ ?\d[\w.]*")
FENCED = re.compile(r"<(passage-\w+)>\n(.*?)\n</\1>", re.DOTALL)


def write(call):
    """Write a question of the words of each passage, reversed, so that it copies no run."""
    text = "\n".join(call.texts)
    if '{"answered": true}' in text:
        return Say(json.dumps({"answered": len(FENCED.findall(text)) < 5}))
    if '{"agrees": true}' in text:
        return Say('{"agrees": true}')
    if "Answer from what you know" in text:
        return Say('{"answer": ""}')
    passages = [body for _, body in FENCED.findall(text)]
    quotes = [pick(body) for body in passages]
    words = [word for quote in quotes for word in re.findall(r"\w+", quote)[::-1]][:9]
    question = f"Who knows {' '.join(words)}?"
    if "35 to 80 words" in text:
        question = f"{question} " * 4
    if "an identifier that stands in the passage" in text:
        found = IDENTIFIER.search(passages[0])
        question = found.group() if found else question
    if '"quotes": []' in text:
        return Say(json.dumps({"question": question, "quotes": []}))
    return Say(
        json.dumps({"question": question, "quotes": [{"quote": q, "grade": 3} for q in quotes]})
    )


def pick(passage):
    """Return a sentence of a passage, or its longest line."""
    found = SENTENCE.findall(passage)
    return max(found or [line.strip() for line in passage.splitlines()], key=len)


if __name__ == "__main__":
    with LanguageModelServer(write) as server:
        print(f"{server.url}/v1", flush=True)
        signal.pause()

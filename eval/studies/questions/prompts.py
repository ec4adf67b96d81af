"""Prompts that ask a language model to write a question, and to test it."""

import json
from collections.abc import Sequence
from dataclasses import replace

from assay.eval.llm.fences import FENCES, fence
from assay.eval.studies.questions.drawing import Draw, Passage
from assay.eval.studies.questions.kinds import KINDS
from assay.eval.studies.questions.words import find_identifiers
from assay.retrievers.language_models.base import Prompt
from assay.retrievers.store.digest import digest

WRITE = """{fences}

Write one question that a person would put to a search over documents like this, without having \
seen them.

Its type: {wanted}

- It is in the language of the text.
- It can be understood by itself: it names what it is about, and says nothing of a text, passage, \
document or excerpt.
- It does not copy the wording of the text, beyond names and terms that nobody would put otherwise.
- {need}

{form} Write nothing but the JSON object. If no such question can be asked about this text, the \
question is "" and the list is empty."""
ANSWERED = (
    "Only this text can answer it: common knowledge does not.",
    'Reply with a JSON object {"question": "…", "quotes": [{"quote": "…", "grade": 3}]}. Each '
    "quote is copied from the text character by character, whole sentences, as few as are needed: "
    "the quotes alone must answer the question. Grade 3: the quote answers all of it; 2: it holds "
    "a part of the answer; 1: it helps to understand the answer.",
)
UNANSWERED = (
    "The text does not answer it, nor does common knowledge.",
    'Reply with a JSON object {"question": "…", "quotes": []}.',
)
ANSWERS = """{fences}

Somebody has typed into a search: {question}

Is it answered by the text between the marks alone, without anything that you know besides? A part \
of the answer is not enough. Reply with a JSON object {{"answered": true}} or \
{{"answered": false}}, and nothing else."""
ASKED = "Somebody asks: {question}"
RECALL = """
Answer from what you know, in one sentence, without guessing. Reply with a JSON object \
{"answer": "…"}, and nothing else. If you do not know it, or it depends on documents that you \
have not seen, the answer is ""."""
AGREES = """{fences}

Somebody has asked: {question}

The answer was: {answer}

Does the text between the marks say that this answer is right? Reply with a JSON object \
{{"agrees": true}} or {{"agrees": false}}, and nothing else."""
AGAIN = """

Your last reply could not be used: {problem}. Reply once more, with the JSON object alone."""
USUAL_QUESTION = "What has to be done before the permit runs out, and who may ask for longer?"


def ask_question(draw: Draw) -> Prompt:
    """Return the prompt that asks for the question of `draw`."""
    need, form = ANSWERED if draw.kind.answered else UNANSWERED
    instruction = WRITE.format(fences=FENCES, wanted=draw.kind.wanted, need=need, form=form)
    quotes = [{"quote": _pick_quote(passage), "grade": 3} for passage in draw.passages]
    example = {"question": _make_usual(draw), "quotes": quotes if draw.kind.answered else []}
    shown = "\n\n".join(fence(_describe(passage)) for passage in draw.passages)
    return Prompt(shown, instruction, example=json.dumps(example, ensure_ascii=False))


def ask_answered(question: str, texts: Sequence[str], *, expected: bool) -> Prompt:
    """Return the prompt that asks whether `texts` answer `question`."""
    shown = "\n\n".join(map(fence, texts))
    asked = ANSWERS.format(fences=FENCES, question=_write(question))
    return Prompt(shown, asked, example=json.dumps({"answered": expected}))


def ask_recall(question: str) -> Prompt:
    """Return the prompt that asks for the answer without any text."""
    asked = ASKED.format(question=_write(question))
    return Prompt(asked, RECALL, example='{"answer": ""}')


def ask_agrees(question: str, answer: str, texts: Sequence[str]) -> Prompt:
    """Return the prompt that asks whether `texts` confirm an answer."""
    shown = "\n\n".join(map(fence, texts))
    asked = AGREES.format(fences=FENCES, question=_write(question), answer=_write(answer))
    return Prompt(shown, asked, example='{"agrees": false}')


def ask_again(prompt: Prompt, problem: str) -> Prompt:
    """Return `prompt` with a description of what was wrong with the reply to it."""
    return replace(prompt, question=prompt.question + AGAIN.format(problem=problem))


def digest_prompts() -> str:
    """Return the digest of all prompts without passages, as eight hexadecimal digits."""
    words = [WRITE, ANSWERED, UNANSWERED, ANSWERS, ASKED, RECALL, AGREES, AGAIN, FENCES]
    return digest("questions", words, [[kind.name, kind.wanted] for kind in KINDS.values()])[:8]


def _describe(passage: Passage) -> str:
    headings = " > ".join(passage.headings)
    return f"[{headings}]\n{passage.text}" if headings else passage.text


def _write(text: str) -> str:
    """Return `text` as one quoted line."""
    return json.dumps(text, ensure_ascii=False)


def _make_usual(draw: Draw) -> str:
    """Return a unique placeholder question of the draw's type, for estimates without a model."""
    if draw.kind.name == "exact_id":
        return f"{min(find_identifiers(draw.passages[0].text), default='')} {draw.number}"
    usual = [USUAL_QUESTION] * (2 if draw.kind.name == "long_question" else 1)
    return f"{' '.join(usual)} {draw.number}"


def _pick_quote(passage: Passage) -> str:
    """Return a line of the passage as a placeholder quote, for estimates without a model."""
    return max(passage.text.splitlines(), key=len).strip()

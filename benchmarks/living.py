"""What becomes of judgments, and of the gate's verdicts, while documents are edited.

`python -m benchmarks.living --repository PATH` draws lines of the Markdown files of a git
repository at an old commit and judges them by `assay init`; a question is six words of a line. Then
it replays the commits that changed the files: a sync after each, and now and then a gate, always
with the baseline of the first commit. Where a line is at the end is told by `git blame --reverse`.
With `--power` it says how often a gate finds a worse pipeline by questions drawn from those that
still count at the end, and from all of them on the documents of the first commit.
"""

import argparse
import csv
import json
import os
import random
import re
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from assay.eval.collections.catalog import find_card
from assay.eval.collections.history.revisions import extract
from assay.eval.collections.living.findings import Status
from assay.eval.collections.living.sync import sync
from assay.eval.collections.loading import load
from assay.eval.running.run_references import resolve
from assay.eval.runs import generated_answers
from assay.eval.studies.gate import baseline as baselining
from assay.eval.studies.gate.running import judge_target
from assay.eval.studies.gate.settings import GateSettings
from assay.retrievers.base import AssayError, Quiet
from assay.retrievers.store.files import write_atomically
from benchmarks import gate_power

WORDS = re.compile(r"\w{3,}")
ASKED, LEAST = 6, 8  # words of a question, and of a line that is drawn
# Questions are words of the lines, so that the keyword leg is what matters.
PLANTED = {
    "keyword leg removed": "retriever.mode=semantic",
    "keyword leg of 3 hits": "retriever.legs.keyword.depth=3",
    "keyword leg of 1 hit": "retriever.legs.keyword.depth=1",
    "dense leg removed": "retriever.mode=keyword",
    "chunk size halved": "documents.chunker.max_tokens=400",
}
CONFIG = "hybrid"
POWER = ("pipeline", "documents", "questions", "drop of nDCG@10", "found")
DRAWN = 60  # questions of a gate whose power is told
ASSAY = str(Path(sys.executable).with_name("assay"))


@dataclass
class Replay:
    """What was seen over the commits of one repository."""

    repository: str
    first: str
    last: str
    commits: int
    quotes: int
    errors: int = 0  # commits at which the collection could not be read, or the gate not judged
    sync_cpu_s: float = 0.0
    statuses: dict[int, dict[str, int]] = field(default_factory=dict)
    survivors: int = 0  # quotes that stand verbatim in some document at the last commit
    anchored: int = 0  # of these: taken by sync
    blamed: int = 0  # quotes whose line git follows to the last commit
    right: int = 0  # of these: anchored at that line
    wrong: int = 0  # of these: anchored elsewhere
    gates: dict[str, Counter[str]] = field(default_factory=dict)
    reworded: list[dict[str, Any]] = field(default_factory=list)
    power: list[list[Any]] = field(default_factory=list)  # rows, as their heads in POWER have it


def git(repository: Path, *arguments: str) -> str:
    """Return what git prints."""
    done = subprocess.run(
        ["git", "-C", str(repository), *arguments], capture_output=True, check=True
    )
    return done.stdout.decode(errors="replace")


def list_commits(repository: Path, folder: str, count: int) -> list[str]:
    """Return the last commits that changed Markdown files below `folder`, the oldest first."""
    paths = [f":(glob){folder}/**/*.md"]
    found = git(repository, "log", "--first-parent", "--format=%H", "--", *paths).split()
    return found[: count + 1][::-1]


def write_documents(repository: Path, commit: str, folder: str, target: Path) -> None:
    """Make `target` hold the Markdown files of a commit, and nothing else."""
    with TemporaryDirectory(dir=target.parent) as made:
        extract(repository, commit, Path(made), (folder,))
        for path in Path(made).rglob("*"):
            if path.is_file() and path.suffix != ".md":
                path.unlink()
        shutil.rmtree(target, ignore_errors=True)
        shutil.move(str(Path(made) / folder), target)


def draw_quotes(target: Path, count: int, seed: int) -> list[tuple[str, int, str]]:
    """Return (document, line number from 1, text) of lines of prose, each text only once there."""
    lines = [
        (path.relative_to(target).as_posix(), number, line.strip())
        for path in sorted(target.rglob("*.md"))
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if line[:1].isalpha() and len(WORDS.findall(line)) >= LEAST
    ]
    seen = Counter(text for _, _, text in lines)
    once = [item for item in lines if seen[item[2]] == 1]
    return sorted(random.Random(seed).sample(once, min(count, len(once))))


def render_questions(quotes: Sequence[tuple[str, int, str]], seed: int) -> str:
    """Return the table of questions that `assay init` reads."""
    draw, out = random.Random(seed), StringIO()
    rows = csv.writer(out)
    rows.writerow(["id", "question", "quote", "document"])
    for i, (path, _, text) in enumerate(quotes):
        words = draw.sample(WORDS.findall(text), ASKED)
        rows.writerow([f"q{i:03}", " ".join(words), text, path])
    return out.getvalue()


def follow_lines(repository: Path, first: str, last: str, path: str) -> dict[int, tuple[str, int]]:
    """Return where lines of a file at `first` are at `last`, as `git blame --reverse` has it."""
    try:
        told = git(repository, "blame", "--reverse", "-p", "-M", f"{first}..{last}", "--", path)
    except subprocess.CalledProcessError:
        return {}
    found, names, head = {}, {}, ("", 0, 0)
    for line in told.splitlines():
        if match := re.match(r"([0-9a-f]{40}) (\d+) (\d+)", line):
            head = (match[1], int(match[2]), int(match[3]))
        elif line.startswith("filename "):
            names[head[0]] = line.removeprefix("filename ")
        elif line.startswith("\t") and head[0] == last:
            found[head[2]] = (names[last], head[1])
    return found


def judge(baselines: Path, overrides: Sequence[str], settings: GateSettings) -> tuple[str, bool]:
    """Return the gate's verdict, and whether the pipeline's effect is exactly 0."""
    report = judge_target(CONFIG, overrides, None, baselines, settings, Quiet())
    return report.verdict, all(item.difference.value == 0 for item in report.measures)


def measure_power(frozen: Path, living: Path, draws: int, seed: int) -> Iterator[list[Any]]:
    """Yield how often a gate finds each planted pipeline on either collection.

    Each of the `draws` is of `DRAWN` of its questions, with replacement.
    """
    settings = GateSettings()
    names, effects = list(settings.measures), list(settings.measures.values())

    def score(judged: Path, *change: str) -> gate_power.Numbers:
        run = resolve(CONFIG, (f"dataset={judged}", "latency.queries=0", *change), Quiet())
        scores = generated_answers.score(run, names)
        return np.array([[scores[name][query] for name in names] for query in run.queries])

    for what, change in PLANTED.items():
        for documents, judged in (("first commit", frozen), ("last commit", living)):
            differences = score(judged, change) - score(judged)
            rng = np.random.default_rng(seed)
            found = sum(
                "regression"
                in gate_power.judge(
                    differences[rng.integers(len(differences), size=DRAWN)], effects, settings
                )
                for _ in range(draws)
            )
            lost = -differences[:, 0].mean()
            yield [what, documents, len(differences), f"{lost:+.3f}", f"{found / draws:.2f}"]


def replay(
    repository: Path, folder: str, count: int, quotes: int, gates: int, draws: int, seed: int
) -> Replay:
    """Replay the last `count` commits of a repository's documents."""
    commits = list_commits(repository, folder, count)
    with TemporaryDirectory() as made:
        root = Path(made)
        os.chdir(root)
        os.environ["ASSAY_REPORTS"] = str(root / "reports")
        documents, judged = root / "documents", root / "judged"
        write_documents(repository, commits[0], folder, documents)
        drawn = draw_quotes(documents, quotes, seed)
        table = root / "questions.csv"
        table.write_text(render_questions(drawn, seed))
        made_by = ("init", str(documents), "--questions", str(table), "--output", str(judged))
        subprocess.run([ASSAY, *made_by], check=True, stdout=subprocess.DEVNULL)
        name = repository.parent.name
        result = Replay(name, commits[0], commits[-1], len(commits) - 1, len(drawn))
        settings = GateSettings()
        here = (f"dataset={judged}", "latency.queries=0")
        run = resolve(CONFIG, here, Quiet())
        path = baselining.locate(root / "baselines", CONFIG, "judged")
        write_atomically(path, baselining.render(baselining.make(run, settings.scored)).encode())
        step = max(1, (len(commits) - 1) // gates) if gates else 0
        for number, commit in enumerate(commits[1:], 1):
            write_documents(repository, commit, folder, documents)
            begin = time.process_time()
            try:
                report = sync(find_card(str(judged)))
                result.statuses[number] = {i.value: report.statuses[i] for i in Status}
            except AssayError as error:
                result.errors += 1
                print(f"{commit[:12]}: {error}")
            result.sync_cpu_s += time.process_time() - begin
            if step and number % step == 0:
                for name, change in (("unchanged", ()), *((n, (c,)) for n, c in PLANTED.items())):
                    tally = result.gates.setdefault(name, Counter())
                    try:
                        verdict, none = judge(root / "baselines", (*here, *change), settings)
                        tally[verdict] += 1
                        tally["effect exactly 0"] += none
                    except AssayError as error:
                        result.errors += 1
                        print(f"{commit[:12]}: {name}: {error}")
        check(result, repository, folder, drawn, documents, judged)
        if draws:
            first, frozen = root / "first", root / "frozen"
            write_documents(repository, commits[0], folder, first)
            made_by = ("init", str(first), "--questions", str(table), "--output", str(frozen))
            subprocess.run([ASSAY, *made_by], check=True, stdout=subprocess.DEVNULL)
            result.power = list(measure_power(frozen, judged, draws, seed))
    return result


def check(
    result: Replay,
    repository: Path,
    folder: str,
    drawn: Sequence[tuple[str, int, str]],
    documents: Path,
    judged: Path,
) -> None:
    """Hold where the judgments ended against git, and against a plain search for their texts."""
    texts = {p.relative_to(documents).as_posix(): p.read_text() for p in documents.rglob("*.md")}
    squeezed = {path: " ".join(text.split()) for path, text in texts.items()}
    places = {id_: items[0] for id_, items in load(str(judged)).gold.items() if items}
    followed: dict[str, dict[int, tuple[str, int]]] = {}
    for i, (path, number, text) in enumerate(drawn):
        gold = places.get(f"q{i:03}")
        if any(" ".join(text.split()) in other for other in squeezed.values()):
            result.survivors += 1
            result.anchored += gold is not None
        if path not in followed:
            followed[path] = follow_lines(repository, result.first, result.last, f"{folder}/{path}")
        if place := followed[path].get(number):
            result.blamed += 1
            if gold is not None:
                where = gold.doc_id, texts[gold.doc_id].count("\n", 0, gold.start) + 1
                same = where == (place[0].removeprefix(f"{folder}/"), place[1])
                result.right += same
                result.wrong += not same
    for line in _read_review(judged):
        result.reworded.append(line)


def _read_review(judged: Path) -> Iterator[dict[str, Any]]:
    path = judged / "review.jsonl"
    if path.exists():
        yield from map(json.loads, path.read_text().splitlines())


def show(result: Replay, made: Mapping[int, Mapping[str, int]]) -> None:
    """Print the tables as Markdown."""
    print(
        f"\n{result.repository}: {result.commits} commits from {result.first[:12]} to "
        f"{result.last[:12]}, {result.quotes} judged lines; {result.errors} errors; "
        f"{result.sync_cpu_s:.1f} s of CPU time for all syncs\n"
    )
    heads = [status.value for status in Status]
    print(f"| after | {' | '.join(heads)} |\n|---|{'---|' * len(heads)}")
    steps = [n for n in (1, 25, 50, 100, 150, 200) if n in made]
    for number in dict.fromkeys([*steps, max(made)]):
        print(f"| {number} | {' | '.join(str(made[number][name]) for name in heads)} |")
    print(
        f"\nverbatim at the end: {result.survivors}, of these counted: {result.anchored}; "
        f"followed by git: {result.blamed}, at that line: {result.right}, elsewhere: {result.wrong}"
    )
    if result.power:
        print(f"\n| {' | '.join(POWER)} |\n{'| --- ' * len(POWER)}|")
    for row in result.power:
        print(f"| {' | '.join(map(str, row))} |")
    for name, tally in result.gates.items():
        print(f"gate, {name}: {', '.join(f'{n} {word}' for word, n in sorted(tally.items()))}")


def draw(result: Replay, path: Path) -> None:
    """Draw what became of the judgments, commit by commit."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "living"
    from matplotlib import pyplot as plt

    numbers = sorted(result.statuses)
    figure, axes = plt.subplots(figsize=(8, 3))
    axes.stackplot(
        numbers,
        [[result.statuses[number][status.value] for number in numbers] for status in Status],
        labels=[status.value for status in Status],
    )
    axes.set(xlabel="commits", ylabel="judgments", xlim=(1, numbers[-1]), ylim=(0, result.quotes))
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
    figure.savefig(path, bbox_inches="tight", metadata={"Date": None})


def main() -> None:
    """Replay, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repository", type=Path, required=True)
    parser.add_argument("--folder", default="docs")
    parser.add_argument("--commits", type=int, default=200)
    parser.add_argument("--quotes", type=int, default=300)
    parser.add_argument("--gates", type=int, default=10)
    parser.add_argument("--power", type=int, default=0, metavar="DRAWS")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--output", type=Path, help="where the JSON goes")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw the judgments (.svg)")
    given = parser.parse_args()
    output = given.output.absolute() if given.output else None
    plot = given.plot.absolute() if given.plot else None
    result = replay(
        given.repository.absolute(), given.folder, given.commits, given.quotes, given.gates,
        given.power, given.seed,
    )  # fmt: skip
    show(result, result.statuses)
    if plot:
        draw(result, plot)
    if output:
        write_atomically(output, json.dumps(vars(result), indent=1).encode())


if __name__ == "__main__":
    main()

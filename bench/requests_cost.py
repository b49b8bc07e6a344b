"""Cost of the requests of a room, by round and step: `python -m bench.requests_cost FOLDER`.

FOLDER/req/N.json contains the body of a request to the Messages API under `body`. FOLDER/res/N.txt contains the
answer's text. Files are read in the order of N. No service answered them, so nothing is measured. Tokens are estimated
from characters. A cache read is the longest prefix that an earlier request of the same model, system prompt and schema
has marked, as if no entry had expired. Answers contain no thinking. The last column is the cost without a cache.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import defaultdict
from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path
from typing import Any, Final, NamedTuple

from tongyao.llm.engine import Usage
from tongyao.llm.prices import estimated_tokens, shipped

_TASK: Final = re.compile(r'<task step="(?P<step>\w+)"(?:[^>]* round="(?P<round>\d+)")?')


class Sum(NamedTuple):
    calls: int = 0
    fresh: int = 0
    written: int = 0
    read: int = 0
    output: int = 0
    cost: Decimal = Decimal(0)
    uncached: Decimal = Decimal(0)

    def plus(self, model: str, used: Usage) -> Sum:
        whole = used.input_tokens + used.cache_write_tokens + used.cache_read_tokens
        cost = shipped().cost(model, used)
        uncached = shipped().cost(model, Usage(input_tokens=whole, output_tokens=used.output_tokens))
        return Sum(
            self.calls + 1,
            self.fresh + used.input_tokens,
            self.written + used.cache_write_tokens,
            self.read + used.cache_read_tokens,
            self.output + used.output_tokens,
            self.cost + (cost or 0),
            self.uncached + (uncached or 0),
        )


class Prompt(NamedTuple):
    """A request's texts in order, each with a flag: whether a cached prefix ends after it."""

    model: str
    step: str
    round: int
    texts: tuple[tuple[str, bool], ...]


def prompt_of(body: dict[str, Any]) -> Prompt:
    """Read the body of a request. The schema counts as part of the prefix, without tokens."""
    texts = [(json.dumps(body.get("output_config"), sort_keys=True), False), *_texts(body["system"])]
    for message in body["messages"]:
        texts += _texts(message["content"])
    found = [match for text, _ in texts for match in _TASK.finditer(text)]
    task = found[0] if found else None
    step = task["step"] if task else "?"
    return Prompt(body["model"], step, int(task["round"] or 0) if task else 0, tuple(texts))


def _texts(content: str | Iterable[dict[str, Any]]) -> list[tuple[str, bool]]:
    if isinstance(content, str):
        return [(content, False)]
    return [(block["text"], "cache_control" in block) for block in content]


def usage(prompt: Prompt, answer: str, cached: set[tuple[str, ...]]) -> Usage:
    """Return the tokens of a request. `cached`: the prefixes marked so far; those of this request are added."""
    texts = tuple(text for text, _ in prompt.texts)
    tokens = [0, *(estimated_tokens(text) for text in texts[1:])]
    marks = [at for at, (_, marked) in enumerate(prompt.texts, 1) if marked]
    prefixes = [(prompt.model, *texts[:at]) for at in range(1, len(texts) + 1)]
    read = max((at for at, prefix in enumerate(prefixes, 1) if prefix in cached), default=0)
    last = max(read, *marks) if marks else read
    cached.update(prefixes[at - 1] for at in marks)
    return Usage(
        input_tokens=sum(tokens[last:]),
        cache_write_tokens=sum(tokens[read:last]),
        cache_read_tokens=sum(tokens[:read]),
        output_tokens=estimated_tokens(answer),
    )


def sums(folder: Path) -> dict[tuple[int, str], Sum]:
    """The sums by round (0: outside the rounds) and step."""
    cached: set[tuple[str, ...]] = set()
    found: dict[tuple[int, str], Sum] = defaultdict(Sum)
    for file in sorted((folder / "req").glob("*.json"), key=lambda one: int(one.stem)):
        prompt = prompt_of(json.loads(file.read_text("utf-8"))["body"])
        answer = folder / "res" / f"{file.stem}.txt"
        used = usage(prompt, answer.read_text("utf-8") if answer.exists() else "", cached)
        key = prompt.round, prompt.step
        found[key] = found[key].plus(prompt.model, used)
    return dict(sorted(found.items()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    rows = sums(parser.parse_args().folder)
    print("| round | step | calls | fresh | written | read | output | $ | $ without cache |")
    print("|--:|---|--:|--:|--:|--:|--:|--:|--:|")
    for (number, step), one in rows.items():
        print(
            f"| {number or '-'} | {step} | {one.calls} | {one.fresh:,} | {one.written:,} | {one.read:,} | {one.output:,} "
            f"| {one.cost:.3f} | {one.uncached:.3f} |"
        )
    rounds = len({number for number, _ in rows if number})
    for title, chosen in (("all", rows), ("rounds only", {key: one for key, one in rows.items() if key[0]})):
        cost = sum((one.cost for one in chosen.values()), Decimal(0))
        uncached = sum((one.uncached for one in chosen.values()), Decimal(0))
        print(f"| {title} | {rounds} rounds | | | | | | {cost:.3f} | {uncached:.3f} |")


if __name__ == "__main__":
    main()

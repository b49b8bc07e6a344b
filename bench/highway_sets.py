"""Loads retrieval sets: CMRC 2018, and any corpus as JSON lines."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_SENTENCE = re.compile(r"[^。！？!?；;]*[。！？!?；;]*")


@dataclass
class Query:
    """A question, and the places of its relevant texts in the corpus."""

    text: str
    relevant: frozenset[int]


@dataclass
class Collection:
    """`texts`: the texts to rank. `groups[i]`: the source text of `texts[i]`, if it is known."""

    texts: list[str]
    groups: list[int]
    queries: list[Query]
    history: list[Query]


def cmrc(path: Path) -> Collection:
    """CMRC 2018 as a search for the sentence that contains the answer. Sentences end at 。！？!?；;."""
    texts: list[str] = []
    groups: list[int] = []
    queries: list[Query] = []
    entries = json.loads(path.read_text(encoding="utf-8"))["data"]
    for group, paragraph in enumerate(p for entry in entries for p in entry["paragraphs"]):
        spans: list[tuple[int, int, int]] = []
        for match in _SENTENCE.finditer(paragraph["context"]):
            if match.group().strip():
                spans.append((match.start(), match.end(), len(texts)))
                texts.append(match.group().strip())
                groups.append(group)
        for question in paragraph["qas"]:
            starts = [answer["answer_start"] for answer in question["answers"]]
            held = frozenset(place for a, b, place in spans if any(a <= start < b for start in starts))
            queries.append(Query(question["question"], held))
    return Collection(texts, groups, queries, [])


def _lines(path: Path) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = []
    with path.open(encoding="utf-8-sig") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                entry = json.loads(line)
            except json.JSONDecodeError as error:
                raise SystemExit(f"{path}, line {number}: not JSON ({error.msg})") from error
            if not isinstance(entry, dict):
                raise SystemExit(f"{path}, line {number}: an object was expected")
            entries.append(entry)
    return entries


def json_lines(corpus: Path, queries: Path, history: Path | None) -> Collection:
    """A corpus of `{"id", "text"}` lines; queries (and history) of `{"query", "relevant": [ids]}` lines."""
    place_of: dict[str, int] = {}
    texts: list[str] = []
    for number, entry in enumerate(_lines(corpus), 1):
        if "id" not in entry or not isinstance(entry.get("text"), str):
            raise SystemExit(f'{corpus}, entry {number}: {{"id", "text"}} was expected')
        place_of.setdefault(json.dumps(entry["id"]), len(texts))
        texts.append(entry["text"])

    def read(path: Path) -> list[Query]:
        read: list[Query] = []
        for number, entry in enumerate(_lines(path), 1):
            if not isinstance(entry.get("query"), str) or not isinstance(entry.get("relevant"), list):
                raise SystemExit(f'{path}, entry {number}: {{"query", "relevant": [ids]}} was expected')
            keys = [json.dumps(each) for each in entry["relevant"]]
            # an id that is not in the corpus cannot be found, so it counts against every method equally
            places = [place_of.get(key, -1 - i) for i, key in enumerate(keys)]
            read.append(Query(entry["query"], frozenset(places)))
        return read

    return Collection(texts, [0] * len(texts), read(queries), read(history) if history else [])

"""Valid answers to every step, made from the request alone: deterministic, and modest about what they mean.

It stands where a model would, so that a whole process can run over HTTP. It reads the same rendered text as
a model would: aliases, ids, pairs and the profile are found in the prompt, quotes are cut verbatim out of
the profile.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

_TASK: Final = re.compile(r"<task ([^>]*?)/?>(.*?)(?:</task>|\Z)", re.DOTALL)
_ATTRIBUTE: Final = re.compile(r'(\w+)="([^"]*)"')
_DATA: Final = re.compile(r'<data kind="(\w+)"([^>]*)>\n(.*?)\n</data>', re.DOTALL)
_ITEM: Final = re.compile(r"^(R\d+/P\d+/\d+) \[(\w+)(?: → ([^;\]]*))?; [^\]]*\] (.*)$", re.MULTILINE)
_COMPLAINED_OF: Final = re.compile(r"^- (?:The pair |缺少配对 |配对 )(P\d+)-(P\d+)", re.MULTILINE)
_SENTENCE: Final = re.compile(r"[^。！？.!?\n#|>-][^。！？.!?\n]{7,160}[。！？.!?]?")

SIZES: Final[Mapping[str, int]] = {"observe": 2_500, "plan": 5_000, "deliver": 1_500}
"""Bytes of Markdown per answer when nothing else is asked for."""


@dataclass(frozen=True)
class Responder:
    """Speaks new items until `rounds`, then says nothing new; the catalyst is `exhausted` from
    `exhausted_from` on.

    `detail` are the characters that every claim has at least, `sizes` the bytes of Markdown of an answer by
    step: filler of that length, for benches that count tokens.
    """

    rounds: int = 3
    exhausted_from: int = 4
    items: int = 3
    detail: int = 0
    sizes: Mapping[str, int] = field(default_factory=lambda: SIZES)

    def __call__(self, request: Mapping[str, Any]) -> str:
        prompt = _text_of(request)
        task, inner = _task_of(prompt)
        answer = getattr(self, f"_{task['step']}")(prompt, task, inner)
        return json.dumps(answer, ensure_ascii=False)

    def _formulate(self, prompt: str, task: Mapping[str, str], inner: str) -> dict[str, Any]:
        intent = _data(prompt, "intent")
        sentences = [_clip(sentence) for sentence in _SENTENCE.findall(intent)] or [_clip(intent)]
        known = [_clip(sentence) for sentence in _SENTENCE.findall(_data(prompt, "profile"))]
        barriers = sentences[1:3] or sentences[:1]
        lines = {"T": sentences[0], "I": (known or sentences)[0], "E": known[1] if len(known) > 1 else ""}
        lines |= {f"B{number}": barrier for number, barrier in enumerate(barriers, 1)}
        return {
            "transition": lines["T"],
            "initial_state": lines["I"],
            "barriers": barriers,
            "exchange": lines["E"],
            "quotes": [{"line": line, "quote": quote} for line, quote in lines.items() if quote],
        }

    def _project(self, prompt: str, task: Mapping[str, str], inner: str) -> dict[str, Any]:
        number, words = int(task["round"]), _data(prompt, "words")
        source = words or _data(prompt, "profile", of=task["alias"])
        sentences = [sentence.strip() for sentence in _SENTENCE.findall(source)]
        spoken = sentences[(number - 1) * self.items : number * self.items]
        if number > self.rounds or not spoken:
            return {"nothing_new": True, "items": []}
        targets = re.findall(r"^(T|I|B\d|E): (?!\[data_insufficient\])", _data(prompt, "tension"), re.MULTILINE) or [
            "T"
        ]
        dimensions = ("capability", "boundary", "direction")
        items = [
            {
                "dimension": dimensions[index % 3],
                "targets": [targets[(index + number) % len(targets)]],
                "premise": "",
                "quotes": [sentence],
                "inferred": False,
                "starts_from": [],
                "claim": self._at_length(f"{task['alias']}: {sentence}"),
                "mapping": [],
                "answers": [],
                "withdraws": [],
            }
            for index, sentence in enumerate(spoken)
        ]
        earlier = [found[0] for found in _ITEM.findall(prompt) if f"/{task['alias']}/" in found[0]]
        if earlier and not words:
            items.append({**items[0], "quotes": [], "inferred": True, "starts_from": earlier[-1:]})
        return {"nothing_new": False, "items": items}

    def _observe(self, prompt: str, task: Mapping[str, str], inner: str) -> dict[str, Any]:
        wanted = re.search(r"^(?:pairs to examine|要检查的配对): (.*)$", inner, re.MULTILINE)
        assert wanted is not None
        only = _COMPLAINED_OF.findall(prompt)
        pairs = only or re.findall(r"(P\d+)-(P\d+)", wanted[1])
        last: dict[str, tuple[str, str]] = {}
        for found, _, targets, claim in _ITEM.findall(prompt):
            last[found.split("/")[1]] = (found, f"{targets}\n{claim}")
        relations = ("complementary", "none_found", "complementary", "offsetting")
        told = [
            {
                "a": a,
                "b": b,
                "relation": relations[index % 4] if a in last and b in last else "none_found",
                "text": self._at_length(f"{last[a][0]} / {last[b][0]}") if a in last and b in last else "",
                "sources": [last[a][0], last[b][0]] if a in last and b in last else [],
                "lack": [last[a][0]] if a in last else [],
                "means": [last[b][0]] if b in last else [],
                "condition": [last[a][0]] if a in last else [],
                "cancels": [last[b][0]] if b in last else [],
                "steps": [],
            }
            for index, (a, b) in enumerate(pairs)
        ]
        counts = task["verdict_counts"] == "yes" and int(task["round"]) >= self.exhausted_from
        return {
            "verdict": "exhausted" if counts else "more",
            "pairs": told,
            "contributions": []
            if only
            else [
                {
                    "alias": alias,
                    "target": text.split("\n")[0].split(",")[0] or "T",
                    "effect": "helps",
                    "text": self._at_length(_clip(text.split("\n")[1])),
                    "sources": [item],
                }
                for alias, (item, text) in last.items()
            ],
            "translations": [],
            "gaps": [],
            "ignored": [],
            "frameworks": [],
            "third_party_value": [],
            "markdown": ""
            if only
            else _filler(" ".join(text.split("\n")[1] for _, text in last.values()), self.sizes.get("observe", 0)),
        }

    def _plan(self, prompt: str, task: Mapping[str, str], inner: str) -> dict[str, Any]:
        aliases = re.findall(r"P\d+", inner.partition("contributors:")[2].partition("declined")[0])
        items: dict[str, list[tuple[str, str]]] = {alias: [] for alias in aliases}
        for found, _, _, said in _ITEM.findall(prompt):
            items.setdefault(found.split("/")[1], []).append((found, said))

        def claim(alias: str, index: int) -> list[dict[str, Any]]:
            return [
                {"text": text, "sources": [item], "concluded": False} for item, text in items[alias][index : index + 1]
            ]

        tension = dict(re.findall(r"^(T|I|B1|E): (.*)$", _data(prompt, "tension"), re.MULTILINE))
        said = " ".join(text for own in items.values() for _, text in own)
        return {
            "about": [{"text": _filler(said, self.sizes.get("plan", 0)), "sources": ["T/T"], "concluded": False}],
            "panorama": [entry for alias in aliases[:3] for entry in claim(alias, 0)],
            "roles": [
                {
                    "alias": alias,
                    "role": f"{alias}",
                    "tier": "",
                    "contributions": claim(alias, 0),
                    "benefits": [],
                    "costs": claim(alias, 1),
                    "dependencies": [],
                }
                for alias in aliases
            ],
            "tasks": [
                {
                    "id": f"t{number}",
                    "title": _clip(items[alias][0][1]) if items[alias] else alias,
                    "assignee": alias,
                    "outside": "",
                    "when": "",
                    "prerequisites": [f"t{number - 1}"] if number > 1 else [],
                    "sources": [item for item, _ in items[alias][:1]],
                    "agreed": False,
                }
                for number, alias in enumerate(aliases, 1)
            ],
            "order": [],
            "offsets": [],
            "residuals": [
                {
                    "title": _clip(tension.get("B1", "B1")),
                    "transition": tension.get("T", "T"),
                    "initial_state": tension.get("I", ""),
                    "barriers": [tension.get("B1", "B1")],
                    "exchange": "",
                    "sources": ["T/B1"],
                }
            ],
        }

    def _at_length(self, text: str) -> str:
        return (f"{text} " * (self.detail // (len(text) + 1) + 1))[: max(self.detail, len(text))].rstrip()

    def _deliver(self, prompt: str, task: Mapping[str, str], inner: str) -> dict[str, Any]:
        own = [text for text in _data(prompt, "plan").splitlines() if task["alias"] in text]
        size = self.sizes.get("deliver", 0)
        asked = [{"text": _clip(text), "sources": [], "concluded": False} for text in own] or [
            {"text": task["alias"], "sources": [], "concluded": False}
        ]
        about = [{"text": _filler("\n".join(own) or task["alias"], size), "sources": [], "concluded": False}]
        return {"about": about, "asked": asked, "gains": [], "conditions": [], "open": []}


def _text_of(request: Mapping[str, Any]) -> str:
    parts = []
    for message in request["messages"]:
        content = message["content"]
        parts += [content] if isinstance(content, str) else [block.get("text", "") for block in content]
    return "\n\n".join(parts)


def _task_of(prompt: str) -> tuple[dict[str, str], str]:
    found = list(_TASK.finditer(prompt))[-1]
    return dict(_ATTRIBUTE.findall(found.group(1))), found.group(2)


def _data(prompt: str, kind: str, *, of: str | None = None) -> str:
    for found, attributes, text in _DATA.findall(prompt):
        if found == kind and (of is None or f'of="{of}"' in attributes):
            return str(text)
    return ""


def _clip(text: str) -> str:
    return text.strip()[:60]


def _filler(text: str, size: int) -> str:
    """`text` over and over, up to `size` bytes: what it says does not matter, how long it is does."""
    raw = (f"{text}\n".encode() * (size // max(1, len(text.encode()) + 1) + 1))[:size]
    return raw.decode(errors="ignore")

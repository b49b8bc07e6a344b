"""Valid answers to every step, made from the request alone. They are deterministic and without deeper meaning.

The responder replaces a model, so that a whole process can run over HTTP. It reads the same rendered text as a model.
It finds aliases, ids, pairs and the profile in the prompt, and its quotes are verbatim parts of the profile.
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
_ITEM: Final = re.compile(r"^(R\d+/P\d+/\d+) (?:\[\w+(?:; ((?:T|I|E|B\d)[^;\]]*))?[^\]]*\] )?(.*)$", re.MULTILINE)
"""The id of an item, the lines of the tension in its `about`, and its text."""
_COMPLAINED_OF: Final = re.compile(r"^- (?:The pair |配对 )(P\d+)-(P\d+)", re.MULTILINE)
_SENTENCE: Final = re.compile(r"[^。！？.!?\n#|>-][^。！？.!?\n]{7,160}[。！？.!?]?")

SIZES: Final[Mapping[str, int]] = {"observe": 2_500, "plan": 5_000, "deliver": 1_500}
"""The default sizes of answers, in bytes of Markdown."""


@dataclass(frozen=True)
class Responder:
    """Sends new items until round `rounds`, then nothing new. The catalyst is `exhausted` from `exhausted_from` on.

    `detail`: the fewest characters of every claim. `sizes`: bytes of Markdown of an answer, by step. Filler gives
    answers this length, for benchmarks that count tokens.
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
        number = int(task["round"])
        source = _data(prompt, "profile", of=task["alias"])
        sentences = [sentence.strip() for sentence in _SENTENCE.findall(source)]
        spoken = sentences[(number - 1) * self.items : number * self.items]
        if number > self.rounds or not spoken:
            return {"items": []}
        lines = re.findall(r"^(T|I|B\d|E): (?!\[data_insufficient\])", _data(prompt, "tension"), re.MULTILINE) or ["T"]
        kinds = ("capability", "boundary", "direction")
        return {
            "items": [
                {
                    "kind": kinds[index % 3],
                    "text": self._at_length(f"{task['alias']}: {sentence}"),
                    "quotes": [sentence],
                    "inferred": False,
                    "about": [lines[(index + number) % len(lines)]],
                    "replaces": [],
                }
                for index, sentence in enumerate(spoken)
            ]
        }

    def _observe(self, prompt: str, task: Mapping[str, str], inner: str) -> dict[str, Any]:
        wanted = re.search(r"^(?:not looked at yet|还没看过的配对): (.*)$", inner, re.MULTILINE)
        only = _COMPLAINED_OF.findall(prompt)
        pairs = only or re.findall(r"(P\d+)-(P\d+)", wanted[1] if wanted else "")
        last = {found.split("/")[1]: (found, lines, text) for found, lines, text in _ITEM.findall(prompt)}
        kinds = ("complementary", "", "aligned", "offsetting")
        related = {
            pair: kind for index, pair in enumerate(pairs) if (kind := kinds[index % 4]) and {*pair} <= set(last)
        }
        relations = [
            {
                "between": [a, b],
                "kind": kind,
                "text": self._at_length(f"{_clip(last[a][2])} / {_clip(last[b][2])}"),
                "sources": [last[a][0], last[b][0]],
                "replaces": [],
            }
            for (a, b), kind in related.items()
        ]
        relations += [
            {
                "between": [alias, lines.split(",")[0]],
                "kind": "complementary",
                "text": self._at_length(_clip(text)),
                "sources": [item],
                "replaces": [],
            }
            for alias, (item, lines, text) in last.items()
            if lines and not only and item.startswith(f"R{task['round']}/") and alias != "P00"
        ]
        exhausted = int(task["round"]) >= self.exhausted_from
        news = " ".join(_clip(text) for _, _, text in last.values())
        return {
            "verdict": "exhausted" if exhausted else "more",
            "why": "nothing new came" if exhausted else "",
            "relations": relations,
            "none": [list(pair) for pair in pairs if pair not in related],
            "notes": [],
            "ended": [],
            "words": "" if only else _filler(news, self.sizes.get("observe", 0)),
        }

    def _plan(self, prompt: str, task: Mapping[str, str], inner: str) -> dict[str, Any]:
        told = inner.partition("contributors:")[2] or inner.partition("发过言的人:")[2] or inner
        aliases = list(dict.fromkeys(re.findall(r"P\d+", told.partition("\n")[0])))
        items: dict[str, list[tuple[str, str]]] = {alias: [] for alias in aliases}
        for found, _, said in _ITEM.findall(prompt):
            items.setdefault(found.split("/")[1], []).append((found, said))

        def claim(alias: str, index: int) -> list[dict[str, Any]]:
            return [
                {"text": text, "sources": [item], "concluded": False} for item, text in items[alias][index : index + 1]
            ]

        tension = dict(re.findall(r"^(T|I|B1|E): (.*)$", _data(prompt, "tension"), re.MULTILINE))
        said = " ".join(text for own in items.values() for _, text in own)
        whole = {"text": _filler(said, self.sizes.get("plan", 0)), "sources": ["T/T"], "concluded": False}
        return {
            "date": {"text": "", "sources": [], "concluded": False},
            "possible": [whole, *(entry for alias in aliases[:3] for entry in claim(alias, 0))],
            "roles": [{"alias": alias, "role": f"{alias}", "conditions": claim(alias, 0)} for alias in aliases],
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
            "offsets": [],
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
    """`text`, repeated up to `size` bytes. Only its length matters, not its content."""
    raw = (f"{text}\n".encode() * (size // max(1, len(text.encode()) + 1) + 1))[:size]
    return raw.decode(errors="ignore")

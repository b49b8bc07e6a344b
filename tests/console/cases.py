"""The cases that browser tests and pictures show: people, what they say, and a scripted engine's written answers."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.console import ferry
from tests.support.scripted import Rule, Script
from tongyao.protocol.model.observation import Verdict

EXAMPLES: Final = Path(__file__).parents[2] / "examples"
_MOUNTAIN: Final = "zh-medicine-mountain"


@dataclass(frozen=True)
class Case:
    """`people`: (name, profile) by alias, the demander's first, as `P00`; `human`: the alias that speaks for themself.

    `said`: what `human` says, by round; in other rounds they have nothing new.
    """

    language: str
    scene: str
    intent: str
    people: dict[str, tuple[str, str]]
    human: str
    said: dict[int, str]
    script: Script


def ferry_case() -> Case:
    """In English: a ferry co-op and five people, with written answers."""
    said = {
        number: "\n".join(text for said_in, _, text, _ in ferry.PEOPLE["P03"][1] if said_in == number)
        for number in (1, 2)
    }
    people = {alias: (name, ferry.profile(alias)) for alias, (name, _) in ferry.PEOPLE.items()}
    demander = {"P00": ("Jean Ferrier", "I keep the books of the ferry co-op.")}
    return Case("en", "Skerrow Sound", ferry.INTENT, demander | people, "P03", said, ferry.script())


def mountain_case() -> Case:
    """In Chinese: the first demo's case and its recording; the haulier speaks for himself."""
    folder = EXAMPLES / _MOUNTAIN
    lines = (EXAMPLES / "recorded" / f"{_MOUNTAIN}.jsonl").read_text(encoding="utf-8").splitlines()
    header, *rows = (json.loads(line) for line in lines)
    files = ["demander", *(f"profiles/{one}" for one in header["seats"])]
    people = {}
    for number, file in enumerate(files):
        text = (folder / f"{file}.md").read_text(encoding="utf-8")
        people[f"P{number:02}"] = (text.split("\n", 1)[0].removeprefix("# "), text)
    said: dict[int, str] = {}
    rules, verdicts = list[Rule](), list[Verdict]()
    for row in rows:
        draft = row["draft"]
        rules.append(Rule(step=row["step"], round=row["round"], alias=row["alias"] or "*", draft=draft))
        if row["step"] == "observe":
            verdicts.append(Verdict(draft["verdict"]))
        if row["step"] == "project" and row["alias"] == "P02" and draft["items"]:
            said[row["round"]] = "\n\n".join(item["text"] for item in draft["items"])
    script = Script(rules=rules, verdicts=verdicts, model="claude-opus")
    intent = (folder / "intent.txt").read_text(encoding="utf-8").strip()
    return Case("zh", "栗坪县", intent, people, "P02", said, script)

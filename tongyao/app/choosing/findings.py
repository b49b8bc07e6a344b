"""Which engine works for a process; whether it found any relation, and what to say where it found none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tongyao.records.process.processes import ProcessRow
from tongyao.records.repositories import Repositories

_NOTHING: Final = {
    "en": "No relation between any two people was found in {rounds}.",
    "zh": "{rounds} 轮里没有发现任何两个人之间的关系。",
}
_WITHOUT_MODEL: Final = {
    "en": "This engine (extractive) is no language model: it quotes what was said and judges nothing. A model reads meaning: set "
    "ANTHROPIC_API_KEY and start the process again (docs/models.md).",
    "zh": "现在的引擎（extractive）不是语言模型：它只引用原话，不作判断。模型能读懂意思：请设置 ANTHROPIC_API_KEY，再重新开始（docs/models.md）。",
}


async def nothing_found(repositories: Repositories, row: ProcessRow) -> str:
    """Why the rounds found no relation, in the language of the process; empty where one was found or no round is over."""
    observed = (await repositories.record(row)).observations
    if not observed or any(relation.of_participants for one in observed for relation in one.relations):
        return ""
    language = "zh" if row.language == "zh" else "en"
    engine = await engine_of(repositories, row.id, "observe")
    n = len(observed)
    said = _NOTHING[language].format(rounds=f"{n} {'round' if n == 1 else 'rounds'}" if language == "en" else n)
    return f"{said} {_WITHOUT_MODEL[language]}" if engine == "extractive" else said


async def engine_of(repositories: Repositories, process_id: str, step: str) -> str:
    """The name of the engine that takes a step (`observe`, `plan` …) of a process; empty before the start."""
    manifest = await repositories.seats.manifest(process_id)
    engines: Mapping[str, str] = manifest.get("*", {}).get("engines") or {}
    return engines.get(step, "")

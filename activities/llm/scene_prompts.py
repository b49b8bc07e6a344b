"""A scene's own prompts, which replace the shipped prompts (docs/models.md §2). A process stores them at its start."""

from __future__ import annotations

from typing import Any

from tongyao.llm import prompts
from tongyao.protocol.model.requests import Language, known_language
from tongyao.protocol.model.steps import STEPS
from tongyao.records.people.scenes import SceneUnknown
from tongyao.records.privacy.texts import text_id
from tongyao.records.process.announcements import PROMPTS
from tongyao.records.process.process_rows import StepRow
from tongyao.records.repositories import Repositories


async def freeze(repositories: Repositories, process_id: str, scene: str, language: Language) -> None:
    """Store the scene's current prompts with the process. Later changes in the scene do not affect this process."""
    frozen: dict[str, Any] = {}
    for step, override in (await _of_scene(repositories, scene, language)).items():
        prompt = prompts.load(step, language, override)
        stored = await repositories.texts.put(
            f"process:{process_id}", "prompt", override, id=text_id("prompt", process_id, step)
        )
        frozen[step] = {"text": stored, "version": prompt.version, "sha256": prompt.sha256}
    if frozen:
        await repositories.seats.freeze(process_id, {PROMPTS: frozen})


async def override(repositories: Repositories, process: StepRow, step: str) -> str | None:
    """Return the scene's prompt for `step`, or None: the frozen prompt, or the current one if none are frozen yet."""
    if "*" in process.manifest:
        frozen = process.manifest.get(PROMPTS, {}).get(step)
        return await repositories.texts.get(frozen["text"]) if frozen else None
    language = known_language(process.language)
    return (await _of_scene(repositories, process.scene_id or "", language)).get(step)


async def _of_scene(repositories: Repositories, scene: str, language: Language) -> dict[str, str]:
    """Return a scene's prompts in one language, by step. Settings: `{"prompts": {"observe": {"zh": …, "en": …}}}`."""
    try:
        said = (await repositories.scenes.get(scene)).settings.get("prompts", {}) if scene else {}
    except SceneUnknown:
        return {}
    return {
        step: by_language[language].strip()
        for step, by_language in said.items()
        if step in STEPS and by_language.get(language, "").strip()
    }

"""The first text for an invited person: who asks, what Tongyao is, and how their answer is used.

The console, mails, the API, MCP and the command line show the same text.
"""

from __future__ import annotations

from tongyao.protocol.model.requests import known_language
from tongyao.protocol.model.value import Value
from tongyao.records.people.scenes import SceneUnknown
from tongyao.records.process.processes import ProcessRow
from tongyao.records.repositories import Repositories
from tongyao.texts.catalogue import catalogue, worded


class InvitationText(Value):
    """The paragraphs, in this order. `who` describes the demander by the scene, without a name."""

    who: str
    what: str
    answer: str

    @property
    def paragraphs(self) -> tuple[str, str, str]:
        return self.who, self.what, self.answer


async def invitation_to(repositories: Repositories, process: ProcessRow, language: str) -> InvitationText:
    """Return the invitation to a process, in `zh` or else in English."""
    chosen = known_language(language)
    title = ""
    if process.scene_id:
        try:
            scene = await repositories.scenes.get(process.scene_id)
            title = scene.settings.get("titles", {}).get(chosen) or scene.title or scene.id
        except SceneUnknown:
            title = process.scene_id
    words = catalogue("app")
    who = worded(words, chosen, "invitation.who_in_scene" if title else "invitation.who", scene=title)
    what, answer = worded(words, chosen, "invitation.what"), worded(words, chosen, "invitation.answer")
    return InvitationText(who=who, what=what, answer=answer)

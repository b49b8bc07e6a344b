"""Consents of people for each scene, and the questions for consent (docs/protocol.md §3.11)."""

from __future__ import annotations

from pydantic import Field

from tongyao.app.action_permissions import Action
from tongyao.app.authorization import Caller, authorize_for_profile
from tongyao.app.context import AppContext
from tongyao.app.writing import writing
from tongyao.protocol.model.requests import known_language
from tongyao.protocol.model.tension import Tension
from tongyao.protocol.model.value import Body, Value
from tongyao.protocol.rules import read_access
from tongyao.protocol.rules.consent import Consent, Origin
from tongyao.records.people.scenes import SceneUnknown
from tongyao.records.process.inbox import InboxRow
from tongyao.records.process.process_rows import ProcessRow
from tongyao.records.repositories import Repositories
from tongyao.texts.catalogue import catalogue, in_both, worded


class SceneConsentBody(Body):
    """`ask`: I am asked each time. `allow`: a proxy may speak for me in this scene. `never`: no proxy, no question."""

    consent: Consent


class ConsentView(Value):
    """The consent in one scene. `own`: the person decided it. Otherwise it follows from the origin of the profile."""

    scene: str
    consent: Consent
    own: bool
    origin: Origin = Field(description="How the profile came in.")


class ConsentQuestion(Value):
    """The question for consent: the invitation, the tension, and the data of the person that others would learn."""

    invitation_en: InvitationText
    invitation_zh: InvitationText
    scene: str
    title: str = Field(default="", description="Of a child: what stayed open in its parent, in a line.")
    tension: Tension | None
    others: int = Field(description="How many others would take part at most, besides the demander.")
    discloses_en: str
    discloses_zh: str


async def read_consents(context: AppContext, caller: Caller, profile_id: str) -> list[ConsentView]:
    """Return the consents in the profile's own scene, and in all scenes for which the owner made a decision."""
    authorize_for_profile(caller, profile_id, Action.CONSENTS)
    repositories = context.repositories
    profile = await repositories.profiles.get(profile_id)
    decided = [row.scene_id for row in await repositories.consents.of_person(profile_id)]
    scenes = sorted({profile.scene_id, *decided})
    return [await _view(context, profile_id, scene) for scene in scenes]


async def set_consent(
    context: AppContext, caller: Caller, profile_id: str, scene: str, body: SceneConsentBody
) -> ConsentView:
    """Store the decision for one scene. `never` applies from the next call on. Raises `SceneUnknown`."""
    authorize_for_profile(caller, profile_id, Action.CONSENTS)
    profiles = context.repositories.profiles
    await profiles.get(profile_id)
    await context.repositories.scenes.get(scene)
    async with writing(context.repositories, caller, profile_id):
        await context.repositories.consents.put(profile_id, scene, body.consent)
    return await _view(context, profile_id, scene)


async def question_of(repositories: Repositories, row: InboxRow) -> ConsentQuestion | None:
    """Return the question of an ask; None for an ask of another kind."""
    if row.ask != "consent":
        return None
    record = await repositories.record(row.process_id)
    others = row.others or 0
    parts = {"disclosed": True, "open_record": record.open_record, "alone": not others}
    said = [in_both("app", f"consent_question.{part}") for part, holds in parts.items() if holds]
    en, zh = ("".join(words) for words in zip(*said, strict=True))
    process = await repositories.processes.get(row.process_id)
    return ConsentQuestion(
        invitation_en=await invitation_to(repositories, process, "en"),
        invitation_zh=await invitation_to(repositories, process, "zh"),
        scene=record.scene,
        title=read_access.title_for_invited(record),
        tension=read_access.tension_for_invited(record),
        others=others,
        discloses_en=en,
        discloses_zh=zh,
    )


async def _view(context: AppContext, profile_id: str, scene: str) -> ConsentView:
    holds = (await context.repositories.consents.standing([profile_id], scene))[profile_id]
    return ConsentView(scene=scene, consent=holds.consent, own=holds.own, origin=holds.origin)


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
    who = worded(words, chosen, "consent_question.who_in_scene" if title else "consent_question.who", scene=title)
    what, answer = worded(words, chosen, "consent_question.what"), worded(words, chosen, "consent_question.answer")
    return InvitationText(who=who, what=what, answer=answer)

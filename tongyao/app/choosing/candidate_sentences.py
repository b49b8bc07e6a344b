"""The sentences by which candidates were found, of those who allow them to be read (docs/protocol.md §3.11)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tongyao.app.action_permissions import Action
from tongyao.app.authorization import Caller, authorize_in_process
from tongyao.app.reading import Reading
from tongyao.protocol.rules import read_access
from tongyao.protocol.rules.consent import Consent
from tongyao.records.process.seats import CandidateRow

Span = tuple[str, int, int]
MOST_CHARS: Final = 300
"""A reason's span is a chunk of an index, which is shorter."""


async def matching_sentences(
    context: Reading, caller: Caller, process_id: str, candidates: Sequence[CandidateRow]
) -> dict[Span, str]:
    """By profile, start and end of a reason's span: the words there, without names and addresses.

    Only of people who allow their proxy to speak in this scene and have set no limits to what it may say. A profile that
    was changed since the process began is left out: the spans are of its earlier text.
    """
    access = await authorize_in_process(context.repositories, caller, process_id, Action.READ_CANDIDATES)
    repositories = context.repositories
    ids = list(dict.fromkeys(one.profile_id for one in candidates))
    standing = await repositories.consents.standing(ids, access.process.scene_id or "")
    mandates = await repositories.profiles.mandates(ids)
    open_to_read = [
        one
        for one in ids
        if one in standing
        and standing[one].consent is Consent.ALLOW
        and mandates[one].may_speak
        and mandates[one].text_id is None
    ]
    versions = await repositories.profiles.versions([(one, None) for one in open_to_read])
    unchanged = [one for one in versions if one.created_at <= access.process.created_at]
    texts = await repositories.texts.get_many([one.text_id for one in unchanged], erased="")
    hidden = read_access.anonymizer(await repositories.record(access.process))
    found: dict[Span, str] = {}
    for version in unchanged:
        text = texts[version.text_id]
        for one in candidates:
            for reason in one.reasons if one.profile_id == version.profile_id else ():
                start, end = int(reason["start"]), int(reason["end"])
                found[version.profile_id, start, end] = hidden.text(_plain(text[start : min(end, start + MOST_CHARS)]))
    return found


def _plain(text: str) -> str:
    """On one line, without headings and the marks of lists."""
    lines = [line.strip() for line in text.splitlines()]
    return " ".join(line.lstrip("-*> ") for line in lines if line and not line.startswith("#"))

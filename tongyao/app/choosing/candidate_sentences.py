"""Finds the profile sentences that are reasons for candidates, if their owners allow it (docs/protocol.md §3.11)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from tongyao.app.action_permissions import Action
from tongyao.app.authorization import Caller, authorize_in_process
from tongyao.heavy_work import READINGS, one_at_a_time
from tongyao.protocol.guards.support import terms
from tongyao.protocol.identity.marks import Marker
from tongyao.protocol.identity.proposer import without_proposed
from tongyao.protocol.rules.consent import Consent, Origin
from tongyao.protocol.rules.formulation import SENTENCE
from tongyao.records.process.seats import CandidateRow
from tongyao.records.repositories import Repositories

Reason = tuple[str, int, int, str]
"""Profile id, start and end of a reason's span, and the part of the tension that the span matches."""
MOST_CHARS: Final = 240
_BLOCK: Final = re.compile(r"\n[ \t]*\n|\n(?=[ \t]*(?:[-*>]|\d+[.)])[ \t])|^#.*$", re.M)
"""Separates paragraphs and list items, and matches headings."""
_EDGE: Final = re.compile(
    r"[。！？]{1,8}[”’」』）]{0,4}|[.!?]{1,8}[”’\")]{0,4}(?=\s)|\n[ \t]{0,40}(?=\n)|\n(?=[ \t]*(?:[-*>]|\d+[.)])[ \t])|^#.*$",
    re.M,
)
"""The end of a sentence, paragraph or list item, or a heading."""
_FIELD: Final = re.compile(r"^[^。，,.;；：:!?！？\n]{1,30}：[ \t]{0,40}", re.M)
"""The name of a field in a profile made of fields (`tongyao.field.profile_import`). Each field begins a line."""
_TELLING: Final = 6
"""Limit of a count: of two sentences with equally many shared terms, the sentence with more terms is preferred."""
_CLAUSE_END: Final = re.compile(r"[，、；：,;:]|\s")
_LONGEST_SENTENCE: Final = 2_000
"""Characters before and after a span in which the ends of its sentences are searched."""


async def matching_sentences(
    repositories: Repositories,
    caller: Caller,
    process_id: str,
    candidates: Sequence[CandidateRow],
    parts: Mapping[str, str],
) -> dict[Reason, str]:
    """Return one sentence for each reason, without addresses and names. `parts`: the words of the tension's parts.

    Only profiles of people who allow their proxy in this scene, and whose mandate sets no limits, are read. For a
    profile file that was named for one process (`--human`, `--participant`), the owner must have given this consent.
    Profiles with a version newer than the process are left out, because the spans refer to the earlier text.
    """
    access = await authorize_in_process(repositories, caller, process_id, Action.READ_CANDIDATES)
    ids = list(dict.fromkeys(candidate.profile_id for candidate in candidates))
    standing = await repositories.consents.standing(ids, access.process.scene_id or "")
    mandates = await repositories.mandate_rows.get_many(ids)
    open_to_read = [
        profile
        for profile in ids
        if profile in standing
        and standing[profile].consent is Consent.ALLOW
        and (standing[profile].own or standing[profile].origin is not Origin.FILE)
        and mandates[profile].may_speak
        and mandates[profile].text_id is None
    ]
    versions = await repositories.profiles.versions([(one, None) for one in open_to_read])
    unchanged = [one for one in versions if one.created_at <= access.process.created_at]
    marker = await repositories.shared.marker(access.process, {})
    found: dict[Reason, str] = {}
    async with one_at_a_time(f"candidates/{caller.person}"):
        for version in unchanged:
            text = (await repositories.texts.get_many([version.text_id], erased=""))[version.text_id]
            reasons = [
                (version.profile_id, int(reason["start"]), int(reason["end"]), str(reason["part"]))
                for candidate in candidates
                if candidate.profile_id == version.profile_id
                for reason in candidate.reasons
            ]
            make = partial(_sentences, text, reasons, marker, parts)
            found |= await READINGS.run(make, person=caller.person)
    return found


def _sentences(text: str, reasons: Sequence[Reason], marker: Marker, parts: Mapping[str, str]) -> dict[Reason, str]:
    """Return the sentences of one profile, without the names of the process and without texts that look like names.
    CPU-bound: not for the event loop."""
    found: dict[Reason, str] = {}
    for reason in dict.fromkeys(reasons):
        _, start, end, part = reason
        begin, stop = whole_sentences(text, start, end)
        shown = marker.text(without_proposed(text[begin:stop]))
        found[reason] = nearest_sentence(shown, parts.get(part, ""))
    return found


def whole_sentences(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the span (start, end), widened to whole sentences. A very long sentence is searched only near the span.

    In a profile that consists of fields, the span is limited to the value of the field in which it ends.
    """
    first, last = max(0, start - _LONGEST_SENTENCE), min(len(text), end + _LONGEST_SENTENCE)
    before = [found.end() for found in _EDGE.finditer(text, first, end) if found.end() <= start]
    after = _EDGE.search(text, max(start, end - 1), last)
    begin = before[-1] if before else first
    if not before and first:  # the start may be inside a name
        clause = _CLAUSE_END.search(text, first, start)
        begin = clause.end() if clause else start
    stop = after.end() if after else last
    if _FIELD.match(text):
        names = list(_FIELD.finditer(text, first, last))
        begin = max([begin, *(one.end() for one in names if one.end() < end)])
        stop = min([stop, *(one.start() for one in names if one.start() >= end)])
    return begin, stop


def nearest_sentence(text: str, part: str) -> str:
    """Return the sentence of `text` that shares most terms with `part`, with at most `MOST_CHARS` characters.

    If several share equally many terms, the sentence with more terms (counted up to `_TELLING`) is returned, then the
    first. A sentence that is too long is cut after a clause.
    """
    wanted = terms(part)
    sentences = [
        sentence
        for block in _BLOCK.split(text)
        for found in SENTENCE.finditer(_plain(block))
        if (sentence := found.group().strip())
    ]

    def telling(sentence: str) -> tuple[int, int]:
        said = terms(sentence)
        return len(wanted & said), min(len(said), _TELLING)

    return _shortened(max(sentences, key=telling, default=""))


def _plain(block: str) -> str:
    """Return the block on one line, without Markdown marks of headings, lists and bold."""
    return " ".join(block.split()).replace("**", "").replace("__", "").lstrip("-*># ")


def _shortened(sentence: str) -> str:
    if len(sentence) <= MOST_CHARS:
        return sentence
    ends = [found.start() for found in _CLAUSE_END.finditer(sentence, MOST_CHARS // 2, MOST_CHARS)]
    return sentence[: ends[-1] if ends else MOST_CHARS - 1] + "…"

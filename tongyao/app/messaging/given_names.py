"""Names that people list with their words so that the names are hidden from others (docs/protocol.md §6.3). Also the
preview of the words as others will read them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Final

from tongyao.app.action_permissions import Action
from tongyao.app.authorization import Caller, authorize_in_process
from tongyao.app.context import AppContext
from tongyao.app.errors import BadInput
from tongyao.protocol.identity.listed import problem_with_listed
from tongyao.protocol.identity.marks import Hidden, Marker, forms_to_hide, seat
from tongyao.protocol.identity.proposer import proposed_names
from tongyao.protocol.model.messages import MAX_TEXT
from tongyao.protocol.model.tension import NameFound, Tension
from tongyao.protocol.model.unicode_text import normalized
from tongyao.protocol.model.value import Value

MOST_GIVEN: Final = 20
"""Most names that a person may add to the proposed names."""


async def check_names(
    names: Sequence[NameFound], *, found: Iterable[NameFound], texts: Iterable[str], tension: Tension
) -> None:
    """Check the names that a demander lists with a revised tension.

    `names`: the names to hide. `found`: the names of the tension before the revision, which are not checked again.
    `texts`: the intent and the lines that the demander was shown. `tension`: the revised tension.

    Raises `BadInput` for a name that cannot be a name or does not occur in these texts. The error states the name and
    the problem.
    """
    known = {one.name for one in found}
    given = [(f"tension.names[{number}]", one) for number, one in enumerate(names) if one.name not in known]
    await _check(given, "\n".join((*texts, *tension.lines())), field="tension.names")


async def names_in(words: str, names: Sequence[str] | None) -> tuple[NameFound, ...]:
    """Return `names` after a check. If `names` is None, return the names that `proposed_names` finds in `words`. Raises
    `BadInput`."""
    if names is None:
        return await asyncio.to_thread(proposed_names, words)
    given = [NameFound(name=name) for name in names]
    await _check([(f"names[{number}]", one) for number, one in enumerate(given)], words, field="names")
    return tuple(given)


async def _check(given: Sequence[tuple[str, NameFound]], text: str, *, field: str) -> None:
    if len(given) > MOST_GIVEN:
        raise BadInput(
            "too_many_names",
            f"{len(given)} names besides those that were found: at most {MOST_GIVEN}",
            field=field,
        )
    read = normalized("NFC", text)
    for where, one in given:
        problem = await asyncio.to_thread(problem_with_listed, one, read)
        if problem:
            raise BadInput("not_a_name", f"`{one.name}` cannot be hidden as a name: {problem}", field=where)


class Preview(Value):
    """`text`: the words as others will read them. `named`: whether the author's own name is known. `open_record`:
    whether others may also read the words after the plan. `names`: the words that were taken for names of persons. The
    author confirms or changes these names."""

    text: str
    named: bool
    open_record: bool
    names: tuple[str, ...] = ()


async def preview(
    context: AppContext, caller: Caller, process_id: str, text: str, names: Sequence[str] | None = None
) -> Preview:
    """Return the words without the author's own names, `names` (None: the proposed names), addresses and markup."""
    access = await authorize_in_process(context.repositories, caller, process_id, Action.SEND_MESSAGE)
    if len(text) > MAX_TEXT:
        raise BadInput("too_long", f"these are {len(text):,} characters; at most {MAX_TEXT:,}", field="words")
    found = await names_in(text, names)
    faces = await context.repositories.profiles.summaries([(access.person, None)])
    own = [name for face in faces.values() for name in face.identities]
    hidden = Hidden(forms=forms_to_hide(Hidden(), [[name] for name in found], authors=[seat(process_id, access.alias)]))
    return Preview(
        named=bool(own),
        text=Marker(hidden, {access.alias: own}, process_id).text(text, author=access.alias),
        open_record=access.process.open_record,
        names=tuple(name.name for name in found),
    )

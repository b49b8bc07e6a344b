"""No tension that a demander writes breaks or delays what those read who are asked about it."""

from __future__ import annotations

import pytest

from tests.gateway.conftest import GatewayHarness
from tests.gateway.test_api import asked
from tests.security.test_consent import Room, by_hand
from tests.support.marking import hiding
from tongyao.app.errors import BadInput
from tongyao.app.messaging.body_conversion import tension_of
from tongyao.protocol.model.messages import TensionBody
from tongyao.protocol.model.process import Phase
from tongyao.protocol.model.record import Participant, Record
from tongyao.protocol.model.sizes import cut, units
from tongyao.protocol.model.tension import (
    MISSING,
    TENSION_CHARS,
    TENSION_UNITS,
    Tension,
    TensionDraft,
    from_raw,
    within_limits,
)
from tongyao.protocol.rules import read_access

LONGEST = "wheel " * (TENSION_UNITS - 3 * units(MISSING) - 1) + "Zaph"  # the other three lenses are missing
NAMED = Tension(transition=LONGEST)


def record(tension: Tension) -> Record:
    return Record(
        process_id="p",
        phase=Phase.CONSENTING,
        round=1,
        tension=tension,
        participants=(Participant(alias="P01", identities=("Ann Bell",)),),
    )


def test_a_mark_in_the_place_of_a_name_makes_no_tension_too_long_to_be_read() -> None:
    assert NAMED.units == TENSION_UNITS
    asked_about = record(hiding("Zaph").model(NAMED))
    shown = read_access.tension_for_invited(asked_about)
    assert shown is not None and shown.units > TENSION_UNITS and "[person 1]" in shown.transition


async def test_whoever_is_asked_about_the_longest_tension_with_a_name_in_it_can_read_their_inbox(
    gateway: GatewayHarness,
) -> None:
    room = await Room.open(gateway)
    invited, seated = await room.person(), await room.person()
    tension = {"transition": LONGEST, "names": [{"name": "Zaph"}]}
    pid = await room.demand(invited, by_hand(seated), tension=tension, intent="Zaph wants a mill.")
    question = (await asked(gateway, invited["token"], "consent"))["consent"]
    assert "[person 1]" in question["tension"]["transition"]
    await room.answers(pid, invited, allow=True)
    await asked(gateway, seated["token"], "projection")
    for path in ("/inbox?view=true", f"/processes/{pid}"):
        answer = await gateway.ask("GET", path, seated["token"])
        assert answer.status_code == 200, answer.text
    await room.close(pid)


@pytest.mark.parametrize("line", ["Zaph." * 1_000, "ﷺ" * 5_000, "!" * 5_000])
def test_a_tension_of_few_and_endless_words_or_of_signs_is_refused(line: str) -> None:
    body = TensionBody(transition=f"mill {line}"[:5_000], exchange=line[:5_000])
    with pytest.raises(BadInput, match=f"at most {TENSION_CHARS:,}"):
        tension_of(body)


@pytest.mark.parametrize("unit", ["Zaph.", "ﷺ", "!", "word "])
def test_what_is_made_of_an_endless_word_is_short(unit: str) -> None:
    text = "x" + unit * 10_000
    assert from_raw(text[:20_000], language="en").chars <= TENSION_CHARS + 3 * len(MISSING)
    draft = within_limits(TensionDraft(transition=text, initial_state=text, barriers=[text] * 9, exchange=text))
    assert sum(map(len, (draft.transition, draft.initial_state, *draft.barriers, draft.exchange))) <= TENSION_CHARS
    assert len(cut(text, 60)) <= 60 * 20

"""What people and their own agents hand in becomes items without a model; the demander answers gaps that ask them."""

from __future__ import annotations

import json

from tests.support.scripted import Rule
from tests.workflows.conftest import PROFILE, TEXTS, Opened
from tongyao.protocol.model.process import Choice
from tongyao.protocol.model.projection import EndpointKind, Item, ItemKind
from tongyao.protocol.model.requests import EndpointRequest

INTENT = "I want a timetable for the ferry. The pier closes on Sundays."


def _item(text: str, *quotes: str) -> dict[str, object]:
    return {"kind": "capability", "text": text, "quotes": list(quotes), "about": ["B1"]}


async def test_a_text_is_cut_into_items_and_an_agent_s_items_are_kept_as_they_are(stack: Opened) -> None:
    envelope = {
        "shown": "Cy owns a slipway. It is free in March.",
        "items": [_item("Cy can dock a ferry.", "cy owns a slipway"), _item("Cy sails.", "Cy owns a fleet")],
    }
    async with stack(verdicts=["exhausted"]) as (here, _):
        people = await here.people({name: TEXTS[name] for name in ("ada", "bo", "cy")})
        kinds = (EndpointKind.PROXY, EndpointKind.HUMAN, EndpointKind.AGENT)
        choices = [Choice(profile_id=one, endpoint=kind) for one, kind in zip(people, kinds, strict=True)]
        pid = await here.start(choices, auto_confirm=True, aliases_as_named=True)
        for alias, text in (("P02", "I have:\n- a boat\n- no crew"), ("P03", json.dumps(envelope))):
            await here.asked(pid, alias, 1)
            assert (await here.speak(pid, alias, 1, text)).accepted
        await here.finish(pid, "P02", "P03")
        record = await here.repositories.record(pid, own=["P02", "P03"])
        calls = await here.repositories.ledger.calls(pid)
        rows = [row for row in await here.repositories.rounds.projections(pid) if (row.round, row.alias) == (1, "P03")]
    own = {one.alias: one for one in record.projections if one.round == 1}
    assert own["P02"].items == (
        Item(id="R1/P02/1", text="I have:"),
        Item(id="R1/P02/2", text="- a boat"),
        Item(id="R1/P02/3", text="- no crew"),
    )
    (kept,) = own["P03"].items
    assert kept == Item(
        id="R1/P03/1",
        kind=ItemKind.CAPABILITY,
        text="Cy can dock a ferry.",
        quotes=("Cy owns a slipway",),
        about=("B1",),
    )
    assert (own["P03"].struck, rows[0].guards) == (1, {"struck": 1, "quote_not_found": 1})
    assert {one.alias for one in calls if one.step == "project"} == {"P01"}, "no model reads what people say"


async def test_the_demander_s_proxy_answers_a_gap_from_intent_and_profile(stack: Opened) -> None:
    gap = {"kind": "gap", "text": "On which days does the pier close?", "asks": "P00"}
    answer = {"kind": "boundary", "text": "The pier is closed on Sundays.", "quotes": ["pier closes on Sundays"]}
    rules = [
        Rule(step="observe", round=1, draft={"notes": [gap], "none": [["P01", "P02"]]}),
        Rule(step="project", alias="P00", draft={"items": [answer | {"about": ["R1/n1"]}]}),
    ]
    async with stack(verdicts=["exhausted"], rules=rules) as (here, engine):
        people = await here.people({name: TEXTS[name] for name in ("ada", "bo", "di")})
        pid = await here.start(
            people[:2],
            demander=people[2],
            demander_endpoint="proxy",
            intent=INTENT,
            auto_confirm=True,
            aliases_as_named=True,
        )
        record = await here.end(pid)
    (turn,) = [one for one in record.projections if one.alias == "P00"]
    assert turn.round == 2
    assert [(one.text, one.quotes, one.about) for one in turn.items] == [
        ("The pier is closed on Sundays.", ("pier closes on Sundays",), ("R1/n1",))
    ]
    (asked,) = [one.request for one in engine.received if one.key.alias == "P00" and one.key.step == "project"]
    assert isinstance(asked, EndpointRequest)
    assert asked.answers_only
    assert asked.asked == ("R1/n1",)
    assert INTENT in asked.material.text
    assert PROFILE in asked.material.text

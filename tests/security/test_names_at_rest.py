"""What was hidden once is never shown again: not after an erasure, not after somebody joins, in no view, export, prompt or mail."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.gateway.conftest import GatewayHarness
from tests.gateway.test_api import asked
from tests.security.test_consent import Room, by_hand
from tests.security.test_erasing_others import TENSION, erased
from tests.support.marking import name
from tongyao.commands.export import write_export
from tongyao.protocol.identity.marks import Hidden, Marker, forms_to_hide

SAID = "I met Weber once. Jana has a lathe, and J. Weber lent it to Astor, says Kim."
FORMS = ("Weber", "Jana", "Astor", "Kim")


async def read_everywhere(gateway: GatewayHarness, pid: str, readers: list[Any], place: Path, *, since: int = 0) -> str:
    """Everything that these people, the operator and, after the call number `since`, the models read of a process."""
    shown = [(await gateway.ask("GET", f"/processes/{pid}", one["token"])).text for one in readers]
    shown += [(await gateway.ask("GET", "/inbox?view=true", one["token"])).text for one in readers]
    await write_export(gateway.context.repositories, pid, place)
    shown += [one.read_text(encoding="utf-8") for one in place.rglob("*") if one.is_file()]
    shown += [
        call.request.model_dump_json()
        for call in gateway.engine.received[since:]
        if call.key.process == pid and call.key.step in ("observe", "plan", "deliver")
    ]
    return "\n".join(shown)


async def spoken(gateway: GatewayHarness, room: Room, people: list[Any], **fields: Any) -> str:
    """A process of two rounds; the first of `people` says `SAID`."""
    pid = await room.demand(*map(by_hand, people), settings={"answering_seconds": 1}, tension=TENSION, **fields)
    for number in (1, 2):
        for person in people:
            await asked(gateway, person["token"], "projection", number)
            speaks = person is people[0] and number == 1
            said: dict[str, Any] = {"text": SAID, "names": []} if speaks else {"text": "I can lend two oxen."}
            sent = await room.send(pid, person["token"], kind="submit_projection", round=number, **said)
            assert sent.status_code == 200, sent.text
    await gateway.stack.end(pid)
    return pid


async def test_the_name_of_somebody_erased_is_not_shown_again(gateway: GatewayHarness, tmp_path: Path) -> None:
    """ "I met [somebody] once" became "I met Weber once" when Weber had themself erased."""
    room = await Room.open(gateway)
    weber = await gateway.join(room.scene, name="Jana Weber")
    astor = await gateway.join(room.scene, name="Kim Astor")
    speaker = await room.person()
    pid = await spoken(gateway, room, [speaker, weber, astor])
    readers = [room.stranger, astor]
    before = await read_everywhere(gateway, pid, readers, tmp_path / "before")
    assert "I met [person " in before
    assert not [
        form for form in FORMS if form in before.replace("Kim Astor", "")
    ]  # a name that is shown to who committed
    await erased(gateway, weber)
    await erased(gateway, astor)
    after = await read_everywhere(gateway, pid, [room.stranger], tmp_path / "after")
    assert "I met [person " in after
    assert not [form for form in FORMS if form in after]
    own = (await gateway.ask("GET", f"/processes/{pid}", speaker["token"])).json()["own"]
    assert own[0]["items"][0]["text"] == SAID, "who said it reads it as they said it"


async def test_the_name_of_somebody_who_was_only_found_is_hidden_and_stays_so(
    gateway: GatewayHarness, tmp_path: Path
) -> None:
    scene = await gateway.scene()
    text = "I restore wheels and have a lathe. I want to learn milling."
    names = ("Jana Weber", "Kim Astor", "Moritz Kahn")
    found = [await gateway.join(scene, text, name=one, consent="") for one in names]
    ida = await gateway.join(scene, "I run a mill.", name="Ida Quist")
    body = {
        "intent": "I want the wheel of my mill to turn.",
        "scene": scene,
        "settings": {
            "auto_confirm": True,
            "residuals": "off",
            "max_rounds": 2,
            "deciding_seconds": 1,
            "answering_seconds": 1,
        },
        "tension": TENSION,
    }
    pid = (await gateway.ask("POST", "/processes", ida["token"], json=body)).json()["id"]
    await asked(gateway, ida["token"], "select_participants")
    others = found[1:]
    chosen = {"kind": "select_participants", "participants": [by_hand(one) for one in others]}
    sent = await gateway.ask("POST", f"/processes/{pid}/messages", ida["token"], json=chosen)
    assert sent.status_code == 200, sent.text
    await erased(gateway, found[0])
    for number in (1, 2):
        for one in others:
            await asked(gateway, one["token"], "projection", number)
            said: dict[str, Any] = {
                "kind": "submit_projection",
                "round": number,
                "text": "I met Weber once, and Jana too.",
                "names": [],
            }
            await gateway.ask("POST", f"/processes/{pid}/messages", one["token"], json=said)
    await gateway.stack.end(pid)
    shown = await read_everywhere(gateway, pid, [ida], tmp_path)
    assert "I met [person " in shown
    assert "Weber" not in shown and "Jana" not in shown


async def test_texts_are_marked_again_before_somebody_named_in_them_is_seated(
    gateway: GatewayHarness, tmp_path: Path
) -> None:
    room = await Room.open(gateway)
    weber = await gateway.join(room.scene, name="Jana Weber")
    people = [await room.person() for _ in range(2)]
    pid = await room.demand(*map(by_hand, people), settings={"deciding_seconds": 600}, tension=TENSION)
    for number in (1, 2):
        for person in people:
            await asked(gateway, person["token"], "projection", number)
            said: dict[str, Any] = {"round": number, "text": "I met Weber once.", "names": []}
            await room.send(pid, person["token"], kind="submit_projection", **said)
    await asked(gateway, room.stranger["token"], "decision")
    repositories = gateway.context.repositories
    assert "Weber" in str((await repositories.record(pid)).projections), "nobody knows of them yet"
    await room.send(
        pid, room.stranger["token"], kind="decide", decision="add_participants", participants=[by_hand(weber)]
    )
    before = len(gateway.engine.received)
    await asked(gateway, weber["token"], "projection", 3)
    record = await repositories.record(pid)
    assert "Weber" not in str(record.projections) and "I met [person " in str(record.projections)
    assert "Weber" not in await read_everywhere(gateway, pid, [room.stranger, weber], tmp_path, since=before)
    await room.close(pid)


async def test_a_name_that_is_an_ordinary_word_is_hidden_in_what_its_author_said(gateway: GatewayHarness) -> None:
    room = await Room.open(gateway)
    people = [await room.person() for _ in range(2)]
    pid = await room.demand(*map(by_hand, people), settings={"deciding_seconds": 600}, tension=TENSION)
    for person, names in zip(people, (["Young", "安静"], []), strict=True):
        await asked(gateway, person["token"], "projection", 1)
        said: dict[str, Any] = {"round": 1, "text": "Young called. Young people came. 安静说很安静。", "names": names}
        sent = await room.send(pid, person["token"], kind="submit_projection", **said)
        assert sent.status_code == 200, sent.text
    await asked(gateway, people[0]["token"], "projection", 2)
    texts = {one.text for one in (await gateway.context.repositories.record(pid)).projections}
    assert len(texts) == 2 and "Young called. Young people came. 安静说很安静。" in texts, "others mean the word"
    [hidden] = [text for text in texts if "Young" not in text]
    assert "安静" not in hidden and "[person " in hidden and "[某人 " in hidden
    await room.close(pid)


PEOPLE = ("Jana Weber", "Kim Astor", "王建国", "Lev Brandt")
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("hide"), st.sampled_from(PEOPLE)),
        st.tuples(st.just("say"), st.sampled_from(["{0}", "{1}", "{0}'s boat", "Mr {1}"]), st.sampled_from(PEOPLE)),
    ),
    max_size=12,
)


@settings(max_examples=150, deadline=None)
@given(STEPS)
def test_no_text_holds_a_form_that_was_hidden_whatever_is_hidden_when(steps: list[tuple[str, ...]]) -> None:
    """The rule by which the records store and store again, on its own; what is erased takes nothing out of it."""
    hidden, texts, ever = Hidden(b"key"), list[str](), set[str]()
    for kind, what, *of in steps:
        if kind == "hide":
            hidden = hidden.with_forms(forms_to_hide(hidden, [[name(what)]], identities=True))
            texts = [Marker(hidden).text(text) for text in texts]
            ever.add(what)
        else:
            given_name, family = of[0].split(" ") if " " in of[0] else (of[0][1:], of[0])
            texts.append(Marker(hidden).text(f"I asked {what.format(given_name, family)} once."))
        for one in ever:
            parts = one.split(" ") if " " in one else (one[1:], one)
            assert not [part for part in parts for text in texts if part in text]


@pytest.mark.parametrize("seed", range(3))
async def test_no_view_export_or_prompt_holds_a_hidden_form_after_any_sequence(
    gateway: GatewayHarness, tmp_path: Path, seed: int
) -> None:
    """Joining, saying, erasing and reading, in an order that the seed decides."""
    chance = random.Random(seed)
    room = await Room.open(gateway)
    names = ("Jana Weber", "Kim Astor", "Lev Brandt", "Moritz Kahn")
    joiners = {one: await gateway.join(room.scene, name=one) for one in names}
    people = [await room.person() for _ in range(2)]
    pid = await room.demand(
        *map(by_hand, people), settings={"deciding_seconds": 600, "answering_seconds": 1}, tension=TENSION
    )
    hidden, since = set[str](), 0

    async def say(person: Any, number: int) -> None:
        await asked(gateway, person["token"], "projection", number)
        of = chance.choice(names)
        form = chance.choice([of, of.split()[0], of.split()[1], f"{of[0]}. {of.split()[1]}"])
        text = f"I asked {form} about oxen."
        sent = await room.send(pid, person["token"], kind="submit_projection", round=number, text=text, names=[])
        assert sent.status_code == 200, sent.text

    async def nothing_is_shown(place: str) -> None:
        shown = await read_everywhere(gateway, pid, [room.stranger], tmp_path / place, since=since)
        assert not [part for one in hidden for part in one.split() if part in shown]

    for number in (1, 2):
        for person in people:
            await say(person, number)
    await asked(gateway, room.stranger["token"], "decision")
    await nothing_is_shown("before")
    joining = chance.sample(names, chance.randint(1, 3))
    added = [by_hand(joiners[one]) for one in joining]
    since = len(gateway.engine.received)
    sent = await room.send(pid, room.stranger["token"], kind="decide", decision="add_participants", participants=added)
    assert sent.status_code == 200, sent.text
    await asked(gateway, joiners[joining[0]]["token"], "projection", 3)
    hidden |= set(joining)
    await nothing_is_shown("joined")
    present = {one: joiners[one] for one in joining}
    for number in (3, 4):
        if present and chance.random() < 0.7:
            await erased(gateway, present.pop(chance.choice(sorted(present))))
            await nothing_is_shown(f"erased{number}")
        for person in (*people, *present.values()):
            await say(person, number)
    await gateway.stack.end(pid)
    for one in list(present):
        await nothing_is_shown(f"left{one}")
        await erased(gateway, present.pop(one))
    await nothing_is_shown("after")

"""A name that is changed while a process runs changes nothing of what others said (docs/protocol.md §6.3)."""

from __future__ import annotations

from tests.gateway.conftest import GatewayHarness, gateway
from tests.gateway.test_api import asked
from tests.security.test_consent import Room, by_hand
from tests.support.marking import hiding
from tongyao.app.action_permissions import Role
from tongyao.app.authorization import Caller
from tongyao.app.messaging.given_names import preview

__all__ = ["gateway"]

SAID = "I restore wheels and have a lathe."


async def test_nobody_blanks_words_of_others_by_renaming_themself(gateway: GatewayHarness) -> None:
    room = await Room.open(gateway)
    speaker, renamed = await room.person(), await room.person()
    pid = await room.demand(by_hand(speaker), by_hand(renamed))
    await asked(gateway, speaker["token"], "projection")
    for one in (renamed, room.stranger):
        body = {"name": "Lathe Wheels", "text": "I carry stones."}
        changed = await gateway.ask("PUT", f"/profiles/{one['profile_id']}", one["token"], json=body)
        assert changed.status_code == 200
    process = await gateway.context.repositories.processes.get(pid)
    assert (await gateway.context.repositories.shared.marker(process, {})).text(SAID) == SAID
    await room.close(pid)


def test_a_sentence_for_a_name_does_not_blank_its_words() -> None:
    names = hiding("Mal Wheels Lathe Restore Crowns Flour Ruined")
    assert names.text(SAID) == SAID
    assert names.text("Mal said it.") == "[person 1] said it."


async def test_a_preview_does_not_tell_who_is_in_the_room(gateway: GatewayHarness) -> None:
    scene = await gateway.scene()
    people = [await gateway.join(scene, name=name, consent="") for name in ("Ida Quist", "Jo Vandal", "Kim Astor")]
    ida, jo, kim = people
    room = Room(gateway, scene, ida)
    pid = await room.demand(by_hand(jo), by_hand(kim))
    await asked(gateway, kim["token"], "projection")
    words = "Ida Quist, Jo Vandal, Vandal and Kim Astor know Una Bell: kim@example.org."
    read = await preview(gateway.context, Caller(Role.PERSON, kim["profile_id"]), pid, words)
    alias = next(
        one.alias for one in await gateway.context.repositories.seats.seats(pid) if one.person == kim["profile_id"]
    )
    assert read.named
    assert read.text == f"[person 1], [person 2], [person 2] and {alias} know [person 4]: […]."
    assert read.names == ("Ida Quist", "Jo Vandal", "Vandal", "Kim Astor", "Una Bell"), (
        "whoever is named, in the room or not"
    )
    asked_for = await preview(gateway.context, Caller(Role.PERSON, kim["profile_id"]), pid, words, ["Una Bell"])
    assert asked_for.text == f"Ida Quist, Jo Vandal, Vandal and {alias} know [person 1]: […]."
    await room.close(pid)


async def test_nobody_who_was_only_found_blanks_words_by_renaming_themself(gateway: GatewayHarness) -> None:
    scene = await gateway.scene()
    text = "I restore wheels and have a lathe. I want to learn milling."
    found = [await gateway.join(scene, text, name=name) for name in ("Jo Vandal", "Kim Astor", "Moritz Kahn")]
    ida = await gateway.join(scene, "I run a mill and want its wheel to turn.", name="Ida Quist")
    body = {"intent": "I want the wheel of my mill to turn.", "scene": scene, "settings": {"auto_confirm": True}}
    started = await gateway.ask("POST", "/processes", ida["token"], json=body)
    assert started.status_code == 201, started.text
    await asked(gateway, ida["token"], "select_participants")
    pid = started.json()["id"]
    for one in found:
        changed = await gateway.ask(
            "PUT", f"/profiles/{one['profile_id']}", one["token"], json={"name": "水车", "text": text}
        )
        assert changed.status_code == 200, changed.text
    process = await gateway.context.repositories.processes.get(pid)
    names = await gateway.context.repositories.shared.marker(process, {})
    assert names.text("我会修理水车。") == "我会修理水车。"
    assert "Vandal" not in names.text("I know Jo Vandal and Kim Astor.")
    await gateway.stack.handle(pid).cancel()

"""Somebody who has themself erased neither blocks the gateway nor fills its memory, however long the profiles around them are."""

from __future__ import annotations

import asyncio
import threading
import tracemalloc
from collections.abc import Iterable
from typing import Any

import pytest

from tests.gateway.conftest import GatewayHarness
from tests.security.test_consent import Room, by_hand
from tests.security.test_erasing_others import erased, left, spoken
from tongyao.protocol.rules.identity import redaction
from tongyao.records.privacy import rewriting


async def test_words_are_compared_in_a_thread_of_their_own(
    gateway: GatewayHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two profiles of 1.9 million characters and four processes blocked the event loop for four minutes."""
    room = await Room.open(gateway)
    people = [await room.person() for _ in range(2)]
    await room.demand(*map(by_hand, people))
    loop, answered = asyncio.get_running_loop(), list[bool]()

    class Noted(redaction.Erasure):
        def __init__(self, *args: Any, **more: Any) -> None:
            beside = threading.current_thread() is not threading.main_thread()
            if beside:  # the event loop answers meanwhile
                asyncio.run_coroutine_threadsafe(asyncio.sleep(0), loop).result(60)
            answered.append(beside)
            super().__init__(*args, **more)

    monkeypatch.setattr(rewriting, "Erasure", Noted)
    await erased(gateway, room.stranger)
    assert answered
    assert all(answered)


async def test_long_profiles_of_the_scene_are_not_read(
    gateway: GatewayHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = list[int]()
    room = await Room.open(gateway)
    people = [await room.person() for _ in range(2)]
    for _ in range(3):
        await gateway.join(room.scene, "I keep goats. " * 4_000)
    await room.demand(*map(by_hand, people), scene=room.scene)

    class Noted(redaction.Erasure):
        def __init__(self, *args: Any, elsewhere: Iterable[str], **more: Any) -> None:
            there = list(elsewhere)
            read.append(sum(map(len, there)))
            super().__init__(*args, elsewhere=there, **more)

    monkeypatch.setattr(rewriting, "Erasure", Noted)
    monkeypatch.setattr(rewriting, "SCENE_CHARS", 60_000)
    await erased(gateway, room.stranger)
    assert read
    assert all(50_000 < one < 70_000 for one in read), "one of the three long ones"


def test_the_words_of_others_are_not_held_all_at_once() -> None:
    texts = ["".join(chr(0x4E00 + (at * step) % 20_000) for at in range(60_000)) for step in (7, 11, 13, 17, 19, 23)]
    tracemalloc.start()
    try:
        redaction.Erasure("p", seats={"p": "P01"}, words=["I weave."], elsewhere=texts)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < 5_000_000, "a set of all runs of four takes some 10 million bytes"


def test_of_a_long_profile_only_the_words_are_held_that_stand_in_the_processes() -> None:
    profile = "".join(chr(0x4E00 + (at * 7) % 20_000) for at in range(400_000)) + " I have a zither."
    there = redaction.grams(["P01 brings a zither. I bake bread."])
    tracemalloc.start()
    try:
        erasure = redaction.Erasure("p", seats={"p": "P01"}, words=[profile], elsewhere=["I bake bread."], within=there)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < 5_000_000
    assert erasure.touches("Whoever plays the zither")
    assert not erasure.touches("I bake bread.")


async def test_words_that_begin_like_a_structure_are_erased_as_words(gateway: GatewayHarness) -> None:
    room = await Room.open(gateway)
    taker = await gateway.join(room.scene, "I have a zither.")
    pid, other = await spoken(gateway, room, taker, first="{ I restore water wheels with my lathe.")
    await erased(gateway, taker)
    assert (await left(gateway, pid, other))[0] == "{ I restore water wheels with my lathe."


def test_a_long_text_has_the_same_words_as_its_parts() -> None:
    """It is searched in pieces, because a search holds up all other threads."""
    words = [f"word{number}" for number in range(9_000)]
    run = "".join(chr(0x4E00 + number % 7_000) for number in range(50_000))
    for text in (" ".join(words), run, "、".join(run[at : at + 5] for at in range(0, 50_000, 5))):
        erasure = redaction.Erasure("p", seats={"p": "P01"}, words=[text], elsewhere=[])
        parts = words if text[0] == "w" else [run[at : at + 4] for at in range(0, 49_996, 5 if "、" in text else 1)]
        assert all(map(erasure.touches, parts))
        assert not any(map(erasure.touches, ("ord1", "rd100 d10", "一二三四")))

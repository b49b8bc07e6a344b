"""A page tells its reader which words are about them."""

from __future__ import annotations

import pytest

from tests.plans.test_documents import ANSWERS, settled
from tongyao.protocol.documents.plan_page import plan_page
from tongyao.protocol.documents.to_reader import called, to_reader
from tongyao.protocol.model.requests import Language


@pytest.mark.parametrize(
    ("text", "alias", "language", "told"),
    [
        ("Only P00 can say so.", "P00", "en", "Only P00 (you) can say so."),
        ("It stands in P00's letter, in P00’s drawer.", "P00", "en", "It stands in your letter, in your drawer."),
        ("P02's boat is old. P02's oars are new.", "P02", "en", "Your boat is old. Your oars are new."),
        ("P01 waits for P02.", "P02", "en", "P01 waits for P02 (you)."),
        ("P01 waits for P02.", "P03", "en", "P01 waits for P02."),
        ("See R1/P02/3 and P021.", "P02", "en", "See R1/P02/3 and P021."),
        ("要 P02 来定。", "P02", "zh", "要你（P02）来定。"),
        ("P02（养蜂）有两箱。", "P02", "zh", "你（P02，养蜂）有两箱。"),
        ("只有 P00 说了算，P01 等 P00 的信。", "P00", "zh", "只有你说了算，P01 等你的信。"),
        ("P01 waits for P02.", "", "en", "P01 waits for P02."),
    ],
)
def test_a_sentence_tells_its_reader_apart(text: str, alias: str, language: Language, told: str) -> None:
    assert to_reader(text, alias, language) == told


def test_a_list_calls_the_demander_you_and_a_participant_you_with_their_alias() -> None:
    assert called("P00", "P00", "en") == "you"
    assert called("P02", "P02", "en") == "you (P02)"
    assert called("P02", "P02", "zh") == "你（P02）"
    assert called("P01", "P02", "en") == "P01"
    assert called("P01", "", "en") == "P01"


@pytest.mark.parametrize("reader", ["P00", "P01", "P02"])
def test_the_plan_calls_its_reader_you_in_steps_and_standings_and_changes_nothing_else(reader: str) -> None:
    plain, told = plan_page(settled(), ANSWERS), plan_page(settled(), ANSWERS, reader=reader)
    assert plan_page(settled(), ANSWERS, reader="P09") == plain
    assert [one.text for note in told.notes for one in note.lines] == [
        one.text for note in plain.notes for one in note.lines
    ]
    labels = [
        (before.label, after.label, after.remark)
        for old, new in zip(plain.sections, told.sections, strict=True)
        for group, same in zip(old.groups, new.groups, strict=True)
        for before, after in zip(group.entries, same.entries, strict=True)
        if before.label.startswith(reader)
    ]
    assert all(after.startswith("you") for _, after, _ in labels)
    assert not [remark for _, _, remark in labels if f"{reader} has" in remark or "you has" in remark]

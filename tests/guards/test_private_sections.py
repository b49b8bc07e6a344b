"""What an owner marked as private in their profile is not said for them."""

from __future__ import annotations

import pytest

from tests.guards.test_items import asked, said
from tongyao.protocol.guards.items import item_checks, private_sections
from tongyao.protocol.guards.quoting import Shown
from tongyao.protocol.model.projection import ProjectionDraft

PROFILE = """# Kim

I bake bread and need rye flour.

## Private

My knee was operated on in May. My daughter lives with me.

### More

I owe the bank money.

## Work

Private: my brother pays the rent.

- 不公开：我在吃降压药。
- I have an oven.
"""


def complaints(quote: str) -> list[str]:
    draft = ProjectionDraft(items=[said("A fact.", quote)])
    return [found.reason for check in item_checks(Shown(PROFILE)) for found in check(draft, asked())]


@pytest.mark.parametrize(
    "quote",
    [
        "My knee was operated on in May",
        "My daughter lives with me",
        "I owe the bank money",
        "my brother pays the rent",
        "我在吃降压药",
    ],
)
def test_an_item_that_rests_on_a_private_part_is_sent_back(quote: str) -> None:
    assert complaints(quote) == ["disclosed"]


@pytest.mark.parametrize("quote", ["I bake bread and need rye flour", "I have an oven"])
def test_an_item_that_rests_on_another_part_is_not(quote: str) -> None:
    assert complaints(quote) == []


@pytest.mark.parametrize(
    "text",
    [
        "## Private chef\n\nI cook for families.",
        "I drive a private car: a van.",
        "I value private conversations.\n\nConfidential papers are shredded by my firm.",
        "## 私人教练\n\n我教游泳。",
        "我做保密柜：三种尺寸。",
    ],
)
def test_words_that_mark_nothing_as_private_hide_nothing(text: str) -> None:
    assert private_sections(text) == ()

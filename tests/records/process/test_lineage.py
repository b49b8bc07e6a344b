"""A tree of processes is read from its rows."""

from __future__ import annotations

import pytest

from tests.records.conftest import NewId
from tests.support.erasing import destroy_key
from tongyao.protocol.model.ids import child_id
from tongyao.protocol.model.tension import Tension
from tongyao.records.database import Pool
from tongyao.records.privacy.texts import Texts
from tongyao.records.process.lineage import ProcessLineage
from tongyao.records.process.process_rows import NewProcess, Processes, ProcessUnknown


async def grow(pool: Pool, id: str, root: str, parent: str | None, depth: int, change: str | None = None) -> str:
    tension = None
    if change is not None:
        tension = await Texts(pool).put("somebody", "tension", Tension(transition=change).model_dump_json())
    new = NewProcess(
        id=id, demander="somebody", language="en", intent_text_id=None, root_id=root, parent_id=parent, depth=depth,
        tension_text_id=tension, grade="C" if tension else None,
    )  # fmt: skip
    return (await Processes(pool).create(new)).id


async def test_a_tree_and_its_branches(pool: Pool, new_id: NewId) -> None:
    root = new_id("process")
    await grow(pool, root, root, None, 0, "dry the nets indoors")
    first, second = child_id(root, "plan/1/residual/1"), child_id(root, "plan/1/residual/2")
    below = child_id(first, "plan/1/residual/1")
    await grow(pool, first, root, root, 1, "a loft that does not leak")
    await grow(pool, second, root, root, 1)
    await grow(pool, below, root, first, 2, "slates from the old school")
    lineage = ProcessLineage(pool)
    assert [row.id for row in await lineage.children(root)] == [first, second]
    assert await lineage.children(below) == []
    assert [row.id for row in (await lineage.tree(root)).all()] == [root, first, below, second]
    assert [row.id for row in (await lineage.tree(first)).all()] == [first, below]
    tensions = await lineage.tensions(root)
    assert {name: tension.transition for name, tension in tensions.items()} == {
        root: "dry the nets indoors",
        first: "a loft that does not leak",
        below: "slates from the old school",
    }


async def test_an_erased_tension_is_no_longer_part_of_the_lineage(pool: Pool, new_id: NewId) -> None:
    root, owner = new_id("process"), new_id("person")
    text = await Texts(pool).put(owner, "tension", Tension(transition="dry the nets").model_dump_json())
    await Processes(pool).create(
        NewProcess(id=root, demander=owner, language="en", intent_text_id=None, tension_text_id=text, grade="C")
    )
    await destroy_key(pool, owner)
    assert await ProcessLineage(pool).tensions(root) == {}


async def test_a_tree_of_nothing(pool: Pool) -> None:
    with pytest.raises(ProcessUnknown):
        await ProcessLineage(pool).tree("nobody")
    assert await ProcessLineage(pool).tensions("nobody") == {}

"""`show` names the people that were found with reason and side, quotes those who allow it, and fills in the next command."""

from __future__ import annotations

from pathlib import Path

from tests.commands.command_line import TEXTS, tongyao
from tests.support.stack import Stack
from tongyao.app.action_permissions import Role
from tongyao.app.authorization import Caller
from tongyao.app.choosing.candidates import candidates


async def test_who_was_found_is_shown_with_the_command_that_takes_them(stack: Stack) -> None:
    scene = "harbour"
    people = await stack.people(TEXTS, scene=scene)
    process = await stack.start([], scene=scene, auto_confirm=True)
    await stack.until(process, "selecting")
    demander = Caller(Role.PERSON, (await stack.repositories.processes.get(process)).demander)
    found = await candidates(stack.repositories, demander, process)
    assert {one.profile_id for one in found} == set(people) and all(one.taken for one in found)
    shown = await tongyao("show", process)
    assert shown.exit_code == 0, shown.output
    for person in people:
        assert f"* {person}: " in shown.stdout
        assert f"--participant {person}" in shown.stdout
    assert "score" not in shown.stdout
    listed = (await tongyao("list", "--scene", scene)).stdout
    assert process in listed and "people" not in listed, "nobody has been chosen yet"
    await tongyao("cancel", process)


async def test_people_are_listed_by_id_without_their_words_and_an_import_says_what_is_new(
    stack: Stack, tmp_path: Path
) -> None:
    (folder := tmp_path / "people").mkdir()
    for name, text in TEXTS.items():
        (folder / f"{name}.md").write_text(text)
    first = await tongyao("field", "import", str(folder), "--scene", "harbour")
    assert first.stdout.startswith("3 new, 0 changed, 0 unchanged, 0 refused")
    (folder / "bo.md").write_text("I teach rowing now. " * 9)
    again = await tongyao("field", "import", str(folder), "--scene", "harbour")
    assert again.stdout.startswith("0 new, 1 changed, 2 unchanged, 0 refused")
    listed = await tongyao("field", "list", "--scene", "harbour")
    assert [line.split()[0] for line in listed.stdout.splitlines()[1:]] == sorted(TEXTS)
    assert "boats" not in listed.stdout

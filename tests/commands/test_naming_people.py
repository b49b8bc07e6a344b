"""Every command that names a person takes a profile id, a unique part of it, or the profile's file."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.commands.command_line import room, spoken_to_the_plan, tongyao
from tests.support.stack import Stack
from tongyao.app.errors import Refused
from tongyao.cli import app
from tongyao.commands.shared.expected_errors import message_of
from tongyao.commands.shared.references import find_process, id_of_file

TEXTS = {
    "derek": "I drive a small van on the island each morning and know every farm. " * 9,
    "ines": "I teach sailing to beginners on a cold lake. " * 9,
}


@pytest.fixture
async def files(stack: Stack, tmp_path: Path) -> dict[str, Path]:
    """Profiles that were given as files; returns the file of each name."""
    found = {name: tmp_path / f"{name}.md" for name in TEXTS}
    await stack.repositories.profiles.put_scene("island", "island")
    for name, text in TEXTS.items():
        await stack.register(id_of_file(found[name]), scene="island", name=f"{name.title()} Example", text=text)
    return found


async def test_commands_about_profiles_take_a_part_of_the_id_or_the_file(stack: Stack, files: dict[str, Path]) -> None:
    for given in ("derek", str(files["derek"])):
        for words in (
            ("consents", given),
            ("token", "create", "--person", given),
            ("token", "link", "--person", given),
            ("token", "list", "--person", given),
            ("list", "--person", given),
            ("field", "search", "--near", given),
            ("erase", given, "--dry-run"),
        ):
            done = await tongyao(*words)
            assert done.exit_code == 0, (words, done.output, done.exception)
    refused = await tongyao("erase", "derek", "--yes")
    assert refused.exit_code != 0 and "with --yes" in refused.output
    assert (await tongyao("field", "delete", "derek")).exit_code == 0
    assert (await tongyao("field", "delete", str(files["ines"]))).exit_code == 0


@pytest.mark.parametrize("by_file", [False, True])
async def test_people_are_chosen_by_a_part_of_the_id_or_by_the_file(
    stack: Stack, files: dict[str, Path], by_file: bool
) -> None:
    process = await stack.start([], scene="island", auto_confirm=True)
    await stack.until(process, "selecting")
    given = [str(file) for file in files.values()] if by_file else list(files)
    chosen = await tongyao("select", process, *(word for one in given for word in ("--participant", one)))
    assert chosen.exit_code == 0, (chosen.output, chosen.exception)
    added = (await tongyao("decide", process, "add_participants", "--participant", given[0])).exception
    assert isinstance(added, Refused) and "there is no profile" not in message_of(added)  # nothing is to be decided yet
    await stack.until_round(process, "crystallizing", 1)
    sitting = {seat.person for seat in await stack.repositories.seats.seats(process)}
    assert sitting == {id_of_file(file) for file in files.values()}
    await tongyao("cancel", process)


async def test_feedback_and_holes_name_people_in_the_process(stack: Stack) -> None:
    process, aliases = await room(stack)
    await spoken_to_the_plan(stack, process, aliases)
    assert (await tongyao("answer", process, "decline", "--as", "ada")).exit_code == 0
    kept = await tongyao("feedback", process, "--as", "ada", "--usefulness", "4")
    assert kept.exit_code == 0, (kept.output, kept.exception)
    [said] = await stack.repositories.feedback.of_process(process)
    assert said.alias == aliases["ada"]
    left = await tongyao("branch", process, "plan/1/hole/ada", "--no")
    assert left.exit_code == 0, (left.output, left.exception)
    await tongyao("cancel", process)


async def test_the_beginning_of_a_parents_id_means_the_parent(stack: Stack) -> None:
    await stack.people(TEXTS, scene="island")
    parent = await stack.start([], scene="island", auto_confirm=False)
    async with stack.repositories.pool.connection() as connection:
        await connection.execute(
            "INSERT INTO processes SELECT (jsonb_populate_record(p, jsonb_build_object('id', p.id || '.2-2'))).* "
            "FROM processes p WHERE id = %s",
            [parent],
        )
    assert await find_process(parent[:8]) == parent
    assert await find_process(f"{parent}.") == f"{parent}.2-2"
    listed = await asyncio.to_thread(lambda: CliRunner(env={"COLUMNS": "80"}).invoke(app, ["list"]))
    assert parent in listed.stdout and f"{parent}.2-2" in listed.stdout

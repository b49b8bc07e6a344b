"""Every command that names a person takes a profile id, a unique part of it, or the profile's file."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.commands.command_line import room, spoken_to_the_plan, tongyao
from tests.support.stack import Stack
from tongyao.app.errors import BadInput, Refused
from tongyao.cli import app
from tongyao.commands.expected_errors import message_of
from tongyao.commands.next_steps import commands_for
from tongyao.commands.profile_files import profile_id_of
from tongyao.commands.references import alias_in, digest_of_file, find_person, find_process
from tongyao.protocol.model.process import Choice

TEXTS = {
    "derek": "I drive a small van on the island each morning and know every farm. " * 9,
    "ines": "I teach sailing to beginners on a cold lake. " * 9,
}


@pytest.fixture
async def files(stack: Stack, tmp_path: Path) -> dict[str, Path]:
    """Profiles that were given as files; returns the file of each name."""
    found = {name: tmp_path / f"{name}.md" for name in TEXTS}
    await stack.repositories.scenes.put("island", "island")
    for name, text in TEXTS.items():
        found[name].write_text(f"# {name.title()} Example\n\n{text}", encoding="utf-8")
        assert await profile_id_of(stack.context, str(found[name]), "island") == f"island-{name}"
    return found


async def test_commands_about_profiles_take_a_part_of_the_id_or_the_file(stack: Stack, files: dict[str, Path]) -> None:
    for given in ("derek", str(files["derek"])):
        for words in (
            ("consents", given),
            ("standing", "list", given),
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


def written(folder: Path, name: str, text: str) -> str:
    folder.mkdir(exist_ok=True)
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return str(file)


async def test_the_id_of_a_file_is_its_name_and_names_no_folder(stack: Stack, tmp_path: Path) -> None:
    name = f"bea-{tmp_path.name}"  # nobody else's
    file = written(tmp_path / "Clinic Records", f"{name}.md", TEXTS["ines"])
    assert await profile_id_of(stack.context, file, "") == name
    written(tmp_path / "Clinic Records", f"{name}.md", TEXTS["derek"])
    assert await profile_id_of(stack.context, file, "") == name
    assert (await stack.repositories.profiles.get(name)).current_version == 2


async def test_two_files_of_one_name_are_two_people_and_each_is_found_by_its_file(stack: Stack, tmp_path: Path) -> None:
    name = f"eve-{tmp_path.name}"
    first, second = (written(tmp_path / folder, f"{name}.md", TEXTS["ines"]) for folder in ("a", "b"))
    assert await profile_id_of(stack.context, first, "") == name
    other = await profile_id_of(stack.context, second, "")
    assert re.fullmatch(f"{name}-[0-9a-f]{{4}}", other)
    assert await profile_id_of(stack.context, second, "") == other
    assert await find_person(stack.repositories, first) == name
    assert await find_person(stack.repositories, second) == other
    process = await stack.start([Choice(profile_id=one) for one in (name, other)], auto_confirm=True)
    await stack.until(process, "completed")
    row = await stack.repositories.processes.get(process)
    seats = {seat.person: seat.alias for seat in await stack.repositories.seats.seats(process)}
    assert await alias_in(stack.repositories, row, second) == seats[other]
    assert await alias_in(stack.repositories, row, first) == seats[name]


async def test_the_id_of_somebody_who_was_erased_is_nobody_elses(stack: Stack, tmp_path: Path) -> None:
    name = f"gil-{tmp_path.name}"
    file = written(tmp_path, f"{name}.md", TEXTS["ines"])
    await profile_id_of(stack.context, file, "")
    assert (await tongyao("erase", file, "--yes")).exit_code == 0
    assert await stack.repositories.profiles.of_file(digest_of_file(Path(file))) == {}
    assert await profile_id_of(stack.context, file, "") != name


@pytest.mark.parametrize("by_file", [False, True])
async def test_people_are_chosen_by_a_part_of_the_id_or_by_the_file(
    stack: Stack, files: dict[str, Path], by_file: bool
) -> None:
    process = await stack.start([], scene="island", auto_confirm=True)
    await stack.until(process, "selecting")
    given = [str(file) for file in files.values()] if by_file else list(files)
    options = ["--human", *["--participant"] * (len(given) - 1)]
    chosen = await tongyao("select", process, *(word for pair in zip(options, given, strict=True) for word in pair))
    assert chosen.exit_code == 0, (chosen.output, chosen.exception)
    added = (await tongyao("decide", process, "add_participants", "--participant", given[0])).exception
    assert isinstance(added, Refused) and "there is no profile" not in message_of(added)  # nothing is to be decided yet
    await stack.until_round(process, "crystallizing", 1)
    sitting = {seat.person: seat.endpoint for seat in await stack.repositories.seats.seats(process)}
    speaks = {f"island-{name}": "proxy" for name in files}
    assert sitting == speaks | {f"island-{next(iter(files))}": "human"}
    await tongyao("cancel", process)


async def test_feedback_and_holes_name_people_in_the_process(stack: Stack) -> None:
    process, aliases = await room(stack)
    await spoken_to_the_plan(stack, process, aliases)
    assert (await tongyao("answer", process, "decline", "--as", "ada")).exit_code == 0
    kept = await tongyao("feedback", process, "--as", "ada", "--usefulness", "4")
    assert kept.exit_code == 0, (kept.output, kept.exception)
    [said] = await stack.repositories.feedback.of_process(process)
    assert said.alias == aliases["ada"]
    asked = await stack.repositories.inbox.of_process(process, open_only=True)
    [hole] = [one for one in asked if one.ask == "hole"]
    offered = await commands_for(stack.repositories, hole)
    has_part = (await stack.repositories.record(process)).plans[-1].has_part(aliases["ada"])
    assert (f"tongyao branch {process} {hole.subject}" in offered) is has_part
    assert f"tongyao branch {process} {hole.subject} --no" in offered
    left = await tongyao("branch", process, "plan/1/hole/ada", "--no")
    assert left.exit_code == 0, (left.output, left.exception)
    await tongyao("cancel", process)


async def test_the_beginning_of_a_parents_id_means_the_parent(stack: Stack) -> None:
    await stack.people(TEXTS, scene="island")
    parent = await stack.start([], scene="island", auto_confirm=False)
    async with stack.repositories.pool.connection() as connection:
        cursor = await connection.execute(
            "SELECT string_agg(quote_ident(attname), ', ') AS names FROM pg_attribute "
            "WHERE attrelid = 'processes'::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''"
        )
        row = await cursor.fetchone()
        assert row is not None
        await connection.execute(
            f"INSERT INTO processes ({row['names']}) SELECT {row['names']} FROM (SELECT (jsonb_populate_record("
            "p, jsonb_build_object('id', p.id || '.2-2'))).* FROM processes p WHERE id = %s) copy",
            [parent],
        )
    assert await find_process(parent[:8]) == parent
    assert await find_process(f"{parent}.") == f"{parent}.2-2"
    for of_one in (("cost", "--by", "process", "--process"), ("log",), ("plan", "acceptance")):
        assert (await tongyao(*of_one, parent[:8])).exit_code == 0
        assert "c-unknown" in str((await tongyao(*of_one, "c-unknown")).exception), of_one
    listed = await asyncio.to_thread(lambda: CliRunner(env={"COLUMNS": "80"}).invoke(app, ["list"]))
    assert parent in listed.stdout and f"{parent}.2-2" in listed.stdout


async def test_a_person_in_a_process_is_found_by_any_part_of_the_name_where_it_is_unique(
    stack: Stack, tmp_path: Path
) -> None:
    people = {}
    for stem, name in {"x": "Sun Liwen", "y": "Derek Sunder", "z": "林阿蓓"}.items():
        file = written(tmp_path, f"{stem}-{tmp_path.name}.md", f"# {name}\n\n{TEXTS['ines']} {name[0]}")
        people[name] = await profile_id_of(stack.context, file, "")
    process = await stack.start([Choice(profile_id=one) for one in people.values()], auto_confirm=True)
    await stack.until(process, "completed")
    row = await stack.repositories.processes.get(process)
    seats = {seat.person: seat.alias for seat in await stack.repositories.seats.seats(process)}
    for part, name in {
        "liwen": "Sun Liwen",
        "sun  li": "Sun Liwen",
        "Derek S": "Derek Sunder",
        "阿蓓": "林阿蓓",
    }.items():
        assert await alias_in(stack.repositories, row, part) == seats[people[name]]
    with pytest.raises(BadInput, match=r"Sun Liwen.*Derek Sunder|Derek Sunder.*Sun Liwen"):
        await alias_in(stack.repositories, row, "sun")

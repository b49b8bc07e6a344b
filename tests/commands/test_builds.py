"""`tongyao versions`, `replay` and `upgrade` on a service that runs (docs/operations.md §5)."""

from __future__ import annotations

import json
from pathlib import Path

from tests.commands.command_line import room, tongyao
from tests.support.stack import Stack
from tests.support.until import until
from tongyao.runtime.temporal.build import build_id


async def test_versions_shows_the_build_that_polls_for_each_role_and_the_rules_that_processes_follow(
    stack: Stack,
) -> None:
    await room(stack)

    async def listed() -> bool:
        done = await tongyao("versions", "--json")
        assert done.exit_code == 0, done.output
        found = json.loads(done.stdout)
        assert found["this_build"] == build_id()
        polled = {role["role"] for role in found["roles"] if build_id() in role["workers"]}
        [rules] = found["rules"]
        return polled == {"process", "models", "field"} and rules["logic"] == 1 and rules["processes"] > 0

    await until(listed)
    shown = await tongyao("versions")
    assert build_id() in shown.stdout.replace("\n", "")
    assert "rules 1:" in shown.stdout


async def test_histories_of_open_processes_replay_and_can_be_kept_for_another_machine(
    stack: Stack, tmp_path: Path
) -> None:
    process, _ = await room(stack)
    done = await tongyao("replay", process, "--save", str(tmp_path / "kept"))
    assert done.exit_code == 0, done.output
    assert "1 history replayed" in done.stdout
    file = tmp_path / "kept" / f"{process}.json"
    again = await tongyao("replay", "--file", str(file))
    assert again.exit_code == 0, again.output

    changed = json.loads(file.read_text())
    for event in changed["events"]:
        if (scheduled := event.get("activityTaskScheduledEventAttributes")) is not None:
            scheduled["activityType"]["name"] = "another"
    file.write_text(json.dumps(changed))
    unfit = await tongyao("replay", "--file", str(file))
    assert unfit.exit_code == 1
    assert "1 do not fit" in unfit.stdout
    assert process in unfit.stderr


async def test_a_file_that_is_no_history_is_refused_by_name(tmp_path: Path) -> None:
    file = tmp_path / "notes.json"
    file.write_text("not a history")
    done = await tongyao("replay", "--file", str(file))
    assert done.exit_code == 2
    assert "notes.json" in done.stderr


async def test_upgrade_continues_a_process_as_new_and_a_dry_run_changes_nothing(stack: Stack) -> None:
    process, aliases = await room(stack)
    run = (await stack.handle(process).describe()).run_id

    listed = await tongyao("upgrade", process, "--dry-run")
    assert f"{process}  crystallizing  would be upgraded" in listed.stdout
    assert (await stack.handle(process).describe()).run_id == run

    done = await tongyao("upgrade", process)
    assert done.exit_code == 0, done.output
    assert f"{process}  crystallizing  applied" in done.stdout

    async def another_run() -> bool:
        return (await stack.handle(process).describe()).run_id != run

    await until(another_run)
    verdict = await stack.speak(process, aliases["ada"], 1, "My workshop is free.")
    assert verdict.accepted


async def test_upgrade_names_one_process_or_all() -> None:
    done = await tongyao("upgrade")
    assert done.exit_code == 2
    assert "--all" in done.stderr

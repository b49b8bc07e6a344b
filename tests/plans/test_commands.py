"""`tongyao plan`: what is printed, and what the exit codes say."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from typer.testing import CliRunner

from tests.plans.test_validation import GOOD_TEXT, settled
from tongyao.cli import app
from tongyao.commands.expected_errors import exit_code_of

RUNNER = CliRunner()


def validated(file: Path, *more: str) -> tuple[int, str]:
    done = RUNNER.invoke(app, ["plan", "validate", str(file), *more])
    return done.exit_code, done.output


@pytest.mark.parametrize("option", [(), ("--machine",)])
def test_the_schemas_are_schemas(option: tuple[str, ...]) -> None:
    done = RUNNER.invoke(app, ["plan", "schema", *option])
    assert done.exit_code == 0
    jsonschema.Draft202012Validator.check_schema(json.loads(done.stdout))


def test_a_plan_that_stands_and_one_that_does_not(tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    whole = json.loads(settled(GOOD_TEXT).model_dump_json())
    file.write_text(json.dumps(whole))
    assert validated(file) == (0, "this plan is valid\n")
    whole["tasks"][0]["assignee"] = "P09"
    file.write_text("\ufeff" + json.dumps(whole), encoding="utf-8")
    code, said = validated(file)
    assert code == 1 and "tasks/0/assignee" in said and "P09" in said
    code, said = validated(file, "--json")
    assert code == 1 and [fault["where"] for fault in json.loads(said)] == ["tasks/0/assignee"]


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"{", "not JSON"), (b"[" * 200_000, "nested too deeply"), (b"\xff\xfe", "UTF-8"), (None, "cannot read")],
)
def test_what_cannot_be_read_is_bad_input(tmp_path: Path, content: bytes | None, said: str) -> None:
    file = tmp_path / "plan.json"
    if content is not None:
        file.write_bytes(content)
    done = RUNNER.invoke(app, ["plan", "validate", str(file)])
    assert isinstance(done.exception, Exception) and exit_code_of(done.exception) == 2 and said in str(done.exception)

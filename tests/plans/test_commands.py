"""`tongyao plan`: the schemas that are printed."""

from __future__ import annotations

import json

import jsonschema
import pytest
from typer.testing import CliRunner

from tongyao.cli import app

RUNNER = CliRunner()


@pytest.mark.parametrize("option", [(), ("--machine",)])
def test_the_schemas_are_schemas(option: tuple[str, ...]) -> None:
    done = RUNNER.invoke(app, ["plan", "schema", *option])
    assert done.exit_code == 0
    jsonschema.Draft202012Validator.check_schema(json.loads(done.stdout))

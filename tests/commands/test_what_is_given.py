"""What commands are given: files, and `NAME=VALUE`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tongyao.app.errors import BadInput
from tongyao.commands.context import assignments, read_json


def test_an_option_that_may_be_repeated_is_a_name_and_a_value() -> None:
    assert assignments("model", ["plan = claude-opus-5", "observe=x=y"]) == {"plan": "claude-opus-5", "observe": "x=y"}
    assert assignments("model", None) == {}


@pytest.mark.parametrize("option", ["setting", "model", "profile"])
def test_a_value_without_a_name_is_refused_by_the_name_of_its_option(option: str) -> None:
    with pytest.raises(BadInput, match=f"--{option} 'fast': write NAME=VALUE"):
        assignments(option, ["fast"])


@pytest.mark.parametrize(
    ("written", "said"),
    [(b'{"a": ', "not JSON"), (b"[" * 100_000, "not JSON"), (b"\xff\xfe{", "UTF-8"), (b"%PDF-1.7 ", "PDF")],
)
def test_what_is_no_json_is_said_with_the_name_of_its_file(tmp_path: Path, written: bytes, said: str) -> None:
    file = tmp_path / "plan.json"
    file.write_bytes(written)
    with pytest.raises(BadInput, match=said):
        read_json(file, field="file")
    with pytest.raises(BadInput, match="no-such"):
        read_json(tmp_path / "no-such.json", field="file")


def test_a_document_with_a_byte_order_mark_is_read(tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_bytes('\ufeff{"title": "桥"}'.encode())
    assert read_json(tmp_path / "plan.json", field="file") == {"title": "桥"}

"""`tongyao field …` as it is typed: files in, lines of JSON out, errors that say what to do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from tongyao.commands.expected_errors import exit_code_of
from tongyao.commands.field import field as app

PEOPLE = {
    "p1": {"角色": "前端工程师", "技能": ["React", "小程序"], "自我介绍": "做了五年网页。", "在找": "会讲故事的人"},
    "p2": {"角色": "面包师", "技能": "酵母、烤箱", "兴趣": "老种小麦"},
    "p3": "I repair violins and teach children to listen.",
}


@pytest.fixture(autouse=True)
def _home(fresh_database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", fresh_database_url)
    monkeypatch.setenv("TONGYAO_HOME", str(tmp_path / "home"))


def field(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(one) for one in arguments])


def exit_code(result: Result) -> int:
    """The code with which the command line ends: an expected error has its own."""
    code = exit_code_of(result.exception) if isinstance(result.exception, Exception) else None
    return result.exit_code if code is None else code


def written(path: Path, *lines: Any) -> Path:
    path.write_text("\n".join(json.dumps(line, ensure_ascii=False) for line in lines), encoding="utf-8")
    return path


@pytest.fixture
def people(tmp_path: Path) -> Path:
    file = written(tmp_path / "people.json", PEOPLE)
    imported = field("import", file, "--scene", "s")
    assert imported.exit_code == 0, imported.output
    return file


def test_an_object_of_free_fields_comes_in_and_every_need_gets_its_line(people: Path, tmp_path: Path) -> None:
    asked = ["缺一个会写前端网页的人", "someone who repairs violins", "行分隔\u2028符"]
    needs = written(tmp_path / "needs.jsonl", *({"need": need} for need in asked))
    found = field("search", "--needs", needs, "--scene", "s", "--top", "10", "--perspective", "relevance", "--json")
    assert found.exit_code == 0, found.output
    lines = [json.loads(line) for line in found.stdout.strip().split("\n")]
    assert [line["need"] for line in lines] == asked
    assert [line["results"][0]["id"] for line in lines[:2]] == ["p1", "p3"]
    for line in lines:
        scores = [one["score"] for one in line["results"]]
        assert scores == sorted(scores, reverse=True)
        assert {one["perspective"] for one in line["results"]} == {"relevance"}
        assert all(set(one) == {"id", "score", "perspective", "reasons"} for one in line["results"])


def test_what_was_refused_is_told_and_again_changes_nothing(people: Path, tmp_path: Path) -> None:
    file = written(tmp_path / "more.json", {**PEOPLE, "empty": {}})
    told = field("import", file, "--scene", "s", "--json")
    report = json.loads(told.stdout)
    assert (report["stored"], list(report["refused"])) == (3, ["empty"])
    [scene] = json.loads(field("stats", "--json").stdout)
    assert (scene["scene"], scene["profiles"]) == ("s", 3)


def test_a_file_of_which_everybody_is_refused_ends_with_2(tmp_path: Path) -> None:
    told = field("import", written(tmp_path / "p.json", {"a": {}, "b": 7}), "--scene", "s")
    assert exit_code(told) == 2
    assert "refused a" in told.output and "refused b" in told.output


def test_an_index_is_made_without_a_service_and_shown(people: Path) -> None:
    made = field("reindex", "--scene", "s")
    assert made.exit_code == 0, made.output
    [scene] = json.loads(field("stats", "--json").stdout)
    [index] = scene["indexes"]
    assert (index["encoder"], index["state"], index["held"]) == ("lexical", "live", 3)
    assert "p3" in field("search", "who repairs violins", "--scene", "s", "--top", "1").stdout


def test_settings_of_a_scene_are_kept_and_wrong_ones_refused(people: Path) -> None:
    assert field("tune", "--scene", "s", "--k", "5", "--shares", "1,0,1").exit_code == 0
    kept = json.loads(field("tune", "--scene", "s").stdout)
    assert (kept["k"], kept["shares"]["complement"]) == (5, 0.0)
    for wrong in (["--k", "0"], ["--shares", "1,2"], ["--threshold", "-1"]):
        assert exit_code(field("tune", "--scene", "s", *wrong)) == 2
    assert json.loads(field("tune", "--scene", "s").stdout) == kept


def test_who_is_deleted_is_found_no_more(people: Path) -> None:
    assert field("delete", "p3").exit_code == 0
    found = field("search", "violins", "--scene", "s")
    assert "p1" in found.stdout and "p3" not in found.stdout
    assert exit_code(field("delete", "p3")) == 2


@pytest.mark.parametrize(
    "arguments",
    [
        ["search", "--scene", "s"],
        ["search", "x", "--scene", "elsewhere"],
        ["search", " ", "--scene", "s"],
        ["search", "x"],
        ["search", "x", "--scene", "s", "--perspective", "sympathy"],
        ["search", "x", "--scene", "s", "--perspective", "resonance"],
        ["search", "--near", "nobody"],
        ["import", "there-is-no-such-file.json", "--scene", "s"],
        ["reindex", "--scene", "elsewhere"],
        ["reindex", "--scene", "s", "--kind", "model"],
        ["evaluate", "--scene", "s"],
    ],
    ids=" ".join,
)
def test_what_cannot_be_done_ends_with_2(people: Path, arguments: list[str]) -> None:
    assert exit_code(field(*arguments)) == 2


def test_labelled_needs_are_counted_by_level(people: Path, tmp_path: Path) -> None:
    needs = written(
        tmp_path / "needs.jsonl",
        {"need": "会写前端网页的人", "expected": ["p1"], "minimum": 1, "level": "direct"},
        {"need": "nobody does this", "expected": ["nobody"], "minimum": 1, "level": "hopeless"},
    )
    told = field("evaluate", needs, "--scene", "s", "--json")
    assert told.exit_code == 0, told.output
    rows = {(row["scheme"], row["level"]): (row["passed"], row["needs"]) for row in json.loads(told.stdout)}
    assert rows["lexical", "direct"] == (1, 1)
    assert rows["lexical", "hopeless"] == (0, 1)
    assert rows["lexical", "all"] == (1, 2)

"""`tongyao demo`: the recorded run of a case, played without a key, and a run that nobody decides about."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tongyao.commands.demo import EXAMPLES, RECORDED
from tongyao.llm.recorded import read_recording

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("language", sorted(RECORDED))
def test_the_people_of_a_recording_are_those_of_its_case(language: str) -> None:
    folder = EXAMPLES / RECORDED[language]
    header, _ = read_recording(EXAMPLES / "recorded" / f"{folder.name}.jsonl")
    assert header.authored
    assert set(header.seats) <= {path.stem for path in (folder / "profiles").glob("*.md")}


@pytest.mark.slow  # it brings up servers and a worker of its own
def test_the_recorded_demo_ends_in_a_plan(short_home: Path) -> None:
    short_home.chmod(0o711)  # PostgreSQL runs as another user where the tests run as root
    environment = {**os.environ, "TONGYAO_HOME": str(short_home / "recorded"), "TONGYAO_GATEWAY_PORT": "0"}
    command = [sys.executable, "-c", "from tongyao.cli import main; main()", "demo", "--lang", "zh", "--recorded"]
    again = short_home / "again.jsonl"
    environment["COLUMNS"] = "80"
    recording = EXAMPLES / "recorded" / f"{Path(RECORDED['zh']).name}.jsonl"
    rerun = [*command[:-1], "--record", str(again)]
    environment |= {"TONGYAO_ENGINE": "recorded", "TONGYAO_ENGINE_FILE": str(recording)}
    shown = subprocess.run(
        [*command, "--crash"], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=500
    )
    assert shown.returncode == 0, shown.stdout + shown.stderr
    lines = [line for line in shown.stdout.splitlines() if "还在等" not in line]
    assert len(lines) <= 58, shown.stdout
    assert not shown.stderr.strip(), "a newcomer meets no warning"
    assert "第 2 轮" in shown.stdout and "在一轮的中途杀掉" in shown.stdout
    assert "每个只存一份" in shown.stdout and "report.html" in shown.stdout
    assert "推翻" not in shown.stdout and "审计" not in shown.stdout
    for way in ("ANTHROPIC_API_KEY=", "TONGYAO_ENGINE=delegated", "TONGYAO_MODEL=ollama", "只用人"):
        assert way in shown.stdout
    plan = next((short_home / "recorded" / "exports").glob("*/plan.md")).read_text(encoding="utf-8")
    assert "由记录直接拼成" not in plan, "the recorded plan, not one assembled from the record"

    made = subprocess.run(rerun, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=500)
    assert made.returncode == 0, made.stdout + made.stderr
    header, answers = read_recording(again)
    before, _ = read_recording(recording)
    assert (header.seats, len(answers) > 10) == (before.seats, True), "what --record writes can be played again"


@pytest.mark.slow  # it brings up servers and a worker of its own
@pytest.mark.parametrize("how", [[], ["--crash"]])
def test_a_demo_that_reaches_the_limit_of_rounds_says_what_waits_and_which_command_answers_it(
    short_home: Path, how: list[str]
) -> None:
    short_home.chmod(0o711)
    script = short_home / "script.json"
    script.write_text('{"verdicts": ["more"], "seconds": 0.3}', encoding="utf-8")
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "TONGYAO_ENGINE": "tests.support.scripted:from_settings",
        "TONGYAO_ENGINE_FILE": str(script),
        "TONGYAO_HOME": str(short_home / "limited"),
        "TONGYAO_GATEWAY_PORT": "0",
        "TONGYAO_PROCESS__MAX_ROUNDS": "2",
    }
    command = [sys.executable, "-c", "from tongyao.cli import main; main()", "demo", "--lang", "en", *how]
    shown = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300)
    assert shown.returncode == 1, shown.stdout + shown.stderr
    assert "decide how the process goes on" in shown.stderr
    assert "  tongyao decide c-" in shown.stderr and "tongyao up" in shown.stderr

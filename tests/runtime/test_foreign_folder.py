"""A folder that holds modules and prompts of the same names as Tongyao's: commands and workers started there ignore them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tongyao.runtime.local.temporal import LocalTemporal
from tongyao.runtime.local.worker_process import WorkerProcess

REPOSITORY = Path(__file__).resolve().parents[2]
TONGYAO = Path(sys.executable).with_name("tongyao")
IMPORTED = "imported-by-mistake"


@pytest.fixture
def foreign(tmp_path: Path) -> Path:
    """A folder of decoys; importing one of them leaves a file there and ends the program."""
    folder = tmp_path / "foreign"
    decoy = (
        f"import pathlib\npathlib.Path({str(folder / IMPORTED)!r}).touch()\nraise SystemExit('a decoy was imported')\n"
    )
    for name in (
        "worker.py",
        "activities/__init__.py",
        "workflows/__init__.py",
        "prompts/__init__.py",
        "temporalio.py",
    ):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(decoy)
    for language in ("en", "zh"):
        prompt = folder / "prompts" / language / "project.md"
        prompt.parent.mkdir()
        prompt.write_text("---\nversion: decoy\n---\nThis is a decoy.\n")
    return folder


async def test_a_worker_imports_nothing_of_the_current_directory(
    foreign: Path, temporal_server: LocalTemporal, database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(foreign)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    home = tmp_path / "home"
    environment = {
        "DATABASE_URL": database_url,
        "TEMPORAL_ADDRESS": temporal_server.address,
        "TONGYAO_HOME": str(home),
        "TONGYAO_ENGINE": "extractive",
    }
    worker = WorkerProcess(environment, log=home / "worker.log", role="process")
    try:
        await worker.start()
        assert worker.pid is not None
    finally:
        await worker.stop()
    assert not (foreign / IMPORTED).exists()


@pytest.mark.skipif(not TONGYAO.exists(), reason="Tongyao is not installed in this environment")
@pytest.mark.parametrize("words", [("prompts", "show", "project", "--lang", "en"), ("list",)])
def test_a_command_imports_nothing_of_the_current_directory(
    foreign: Path, tmp_path: Path, words: tuple[str, ...]
) -> None:
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY), "TONGYAO_HOME": str(tmp_path / "home")}
    done = subprocess.run([TONGYAO, *words], cwd=foreign, env=environment, capture_output=True, text=True)
    assert "decoy" not in done.stdout + done.stderr
    assert not (foreign / IMPORTED).exists()
    assert done.returncode == {"prompts": 0, "list": 3}[words[0]], done.stderr
    if words[0] == "prompts":
        assert (REPOSITORY / "prompts" / "en" / "project.md").read_text().splitlines()[-1] in done.stdout

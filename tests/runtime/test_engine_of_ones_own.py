"""An engine of one's own is named by `TONGYAO_ENGINE=package.module:factory`; a wrong name is refused with what to do."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tongyao.commands import doctor
from tongyao.llm.extractive.engine import ExtractiveEngine
from tongyao.protocol.model.steps import STEPS
from tongyao.runtime.engines import engines
from tongyao.runtime.errors import LocalServiceError
from tongyao.runtime.local.temporal import LocalTemporal
from tongyao.runtime.local.worker_process import WorkerProcess
from tongyao.runtime.settings import SettingsError, load_settings

MODULE = """
from tongyao.llm.extractive.engine import ExtractiveEngine

TITLE = "not a factory"


class Own(ExtractiveEngine):
    name = "own"

    def __init__(self, settings):
        self.home = settings.home


class Plain(ExtractiveEngine):
    name = "plain"


def nothing(settings):
    return None


def breaks(settings):
    raise RuntimeError("no licence")
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A module of somebody else's on the path, with good and bad factories; returns its name."""
    name = "an_engine_of_ones_own"
    (tmp_path / f"{name}.py").write_text(MODULE)
    (tmp_path / f"{name}_broken.py").write_text("import a_package_that_is_not_there\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield name
    for loaded in (name, f"{name}_broken"):
        sys.modules.pop(loaded, None)


def test_the_factory_is_called_with_the_settings_and_answers_every_step(
    package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TONGYAO_ENGINE", f"{package}:Own")
    chosen = engines(load_settings())
    assert {step: engine.name for step, engine in chosen.items()} == dict.fromkeys(STEPS, "own")


def test_one_step_may_have_it_and_the_others_another(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TONGYAO_ENGINE_STEPS", f'{{"plan": "{package}:Own"}}')
    chosen = engines(load_settings())
    assert (chosen["plan"].name, chosen["observe"].name) == ("own", ExtractiveEngine.name)


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("nowhere.at.all:factory", "cannot import nowhere.at.all (ModuleNotFoundError: No module named 'nowhere')"),
        ("{}_broken:factory", "No module named 'a_package_that_is_not_there'"),
        ("{}:Missing", "has no 'Missing'"),
        ("{}:TITLE", "'TITLE' is a str and cannot be called"),
        ("{}:nothing", "it returned a NoneType, which is no Engine: it lacks name, model_for, bound"),
        ("{}:breaks", "the factory failed (RuntimeError: no licence)"),
    ],
)
def test_a_name_that_gives_no_engine_is_refused_with_the_reason(
    package: str, monkeypatch: pytest.MonkeyPatch, name: str, problem: str
) -> None:
    named = name.format(package)
    monkeypatch.setenv("TONGYAO_ENGINE", named)
    settings = load_settings()
    with pytest.raises(SettingsError) as refused:
        engines(settings)
    assert problem in str(refused.value)
    assert f"TONGYAO_ENGINE (or TONGYAO_ENGINE_STEPS) names the engine {named!r}" in str(refused.value)
    row = next(row for row in doctor.examine(settings) if row.subject == "Engine")
    assert (row.finding, row.advice) == (doctor.CheckState.MISSING, str(refused.value))


def test_the_doctor_makes_each_engine_as_a_worker_does(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = f'{{"plan": "{package}:Own", "observe": "{package}:Plain"}}'
    monkeypatch.setenv("TONGYAO_ENGINE_STEPS", steps)
    rows = {row.found: row for row in doctor.examine(load_settings()) if row.subject in ("Engine", "Claude")}
    assert rows[f"{package}:Own, which calls itself 'own'"].finding is doctor.CheckState.OK
    assert rows[f"{package}:Plain"].finding is doctor.CheckState.MISSING
    assert "it is called with the settings" in rows[f"{package}:Plain"].advice
    assert len(rows) == 3, "the other steps have the engine without a model"


async def test_a_worker_that_is_given_such_a_name_ends_at_its_start_and_says_why(
    home: Path, temporal_server: LocalTemporal, fresh_database_url: str
) -> None:
    environment = {
        "TEMPORAL_ADDRESS": temporal_server.address,
        "DATABASE_URL": fresh_database_url,
        "TONGYAO_HOME": str(home),
        "TONGYAO_ENGINE": "nowhere:factory",
    }
    with pytest.raises(LocalServiceError) as refused:
        await WorkerProcess(environment, log=home / "worker.log").start()
    assert "names the engine 'nowhere:factory': cannot import nowhere" in str(refused.value)
    assert "Traceback" not in str(refused.value)

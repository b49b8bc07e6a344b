"""A real llama.cpp server: which of its addresses forces the form of an answer, and what is said where none does."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.llm import requests
from tongyao.commands.doctor import CheckState
from tongyao.commands.engine_check import check_engines
from tongyao.llm.anthropic.engine import AnthropicEngine
from tongyao.llm.errors import Transient, Unreadable
from tongyao.protocol.model import steps
from tongyao.protocol.model.steps import STEPS
from tongyao.runtime.settings import load_settings

pytest.importorskip("xllamacpp", reason="llama.cpp is not installed here")
pytest.importorskip("gguf", reason="gguf, which writes the test model, is not installed here")
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    folder = tmp_path_factory.mktemp("llama")
    arguments = [sys.executable, "-m", "tests.support.llama_cpp", str(folder), str(port)]
    with (folder / "log").open("wb") as log, subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=log) as server:
        assert server.stdout is not None
        told = server.stdout.readline().decode().strip()
        try:
            assert told == f"http://127.0.0.1:{port}", (folder / "log").read_text(errors="replace")[-2_000:]
            yield told
        finally:
            server.kill()


@pytest.mark.parametrize("provider", ["openai-chat", "ollama"])
async def test_over_its_chat_address_the_grammar_of_each_step_makes_an_answer_that_can_be_read(
    monkeypatch: pytest.MonkeyPatch, address: str, provider: str
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", f"{address}/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setenv("OLLAMA_BASE_URL", f"{address}/v1")
    rows = [row async for row in check_engines(load_settings(model=f"{provider}:random"))]
    assert [row.subject for row in rows[:-1]] == list(STEPS)
    assert [row.finding for row in rows] == [CheckState.OK] * 6, rows
    assert all("can be read" in row.found and "price unknown" in row.found for row in rows[:-1])


async def test_over_its_messages_address_it_answers_without_a_form_and_that_is_said(address: str) -> None:
    """llama.cpp reads no `output_config` at /v1/messages: only the prompt tells its model the form."""
    engine = AnthropicEngine(api_key="none", base_url=address, models=dict.fromkeys(STEPS, "random"))
    try:
        with pytest.raises(Unreadable) as caught:
            await _answered(engine)
    finally:
        await engine.aclose()
    assert caught.value.usage.requests >= 1


async def _answered(engine: AnthropicEngine) -> None:
    """Asks until it is no failure of the connection: llama.cpp closes one that was kept, now and then."""
    for _ in range(5):
        with contextlib.suppress(Transient):
            await engine.answer(steps.FORMULATE, requests.formulation(), requests.call("formulate"))
            return

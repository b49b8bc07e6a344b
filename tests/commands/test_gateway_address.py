"""Links that commands print lead to the gateway that runs."""

from __future__ import annotations

from pathlib import Path

from tongyao.commands.gateway import gateway_address
from tongyao.runtime.local.addresses import GATEWAY_FILE
from tongyao.runtime.settings import Settings


def test_with_port_0_links_lead_to_the_port_that_was_free(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path, gateway_port=0)
    (tmp_path / GATEWAY_FILE).write_text("http://127.0.0.1:41234", encoding="utf-8")
    assert gateway_address(settings) == "http://127.0.0.1:41234"


def test_a_command_without_a_port_finds_the_gateway_that_took_a_free_one(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path)
    assert gateway_address(settings) == "http://127.0.0.1:8700"
    (tmp_path / GATEWAY_FILE).write_text("http://127.0.0.1:41234", encoding="utf-8")
    assert gateway_address(settings) == "http://127.0.0.1:41234"


def test_a_port_or_a_public_address_that_is_set_counts(tmp_path: Path) -> None:
    (tmp_path / GATEWAY_FILE).write_text("http://127.0.0.1:41234", encoding="utf-8")
    assert gateway_address(Settings(home=tmp_path, gateway_port=8701)) == "http://127.0.0.1:8701"
    public = Settings(home=tmp_path, gateway_port=0, public_url="https://tongyao.example")
    assert gateway_address(public) == "https://tongyao.example"


def test_while_no_gateway_has_taken_a_port_none_is_named(tmp_path: Path) -> None:
    """Port 0 is none that anybody can open."""
    assert gateway_address(Settings(home=tmp_path, gateway_port=0)) == "http://127.0.0.1:PORT"

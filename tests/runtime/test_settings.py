"""Settings come from the environment; what is wrong is named by its variable, and secrets are never shown."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tongyao.cli import app
from tongyao.protocol.model.process_settings import ProcessSettings
from tongyao.protocol.model.steps import STEPS
from tongyao.runtime.local.addresses import ServiceAddresses
from tongyao.runtime.serve import openid_of
from tongyao.runtime.settings import SettingsError, every_variable, load_settings


def test_without_any_variable_the_defaults_of_the_protocol_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TONGYAO_PROCESS__CORRECTING_SECONDS")  # what tests/conftest.py sets
    settings = load_settings()
    assert settings.process == ProcessSettings()
    assert settings.home == Path.cwd() / ".tongyao"
    assert settings.chosen_engine == "extractive"


def test_well_known_names_are_honoured_and_the_prefixed_ones_win(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEMPORAL_ADDRESS", "theirs:7233")
    assert load_settings().temporal_address == "theirs:7233"
    monkeypatch.setenv("TONGYAO_TEMPORAL_ADDRESS", "ours:7233")
    assert load_settings().temporal_address == "ours:7233"


def test_a_group_is_set_member_by_member(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TONGYAO_PROCESS__QUORUM", "3")
    monkeypatch.setenv("TONGYAO_MODELS__OBSERVE", "some-model")
    settings = load_settings()
    assert settings.process.quorum == 3
    assert settings.process.max_rounds == ProcessSettings().max_rounds
    assert settings.models.observe == "some-model"


def test_a_key_may_come_from_a_file_and_chooses_the_engine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "key").write_text("sk-canary\n")
    monkeypatch.setenv("ANTHROPIC_API_KEY_FILE", str(tmp_path / "key"))
    settings = load_settings()
    assert settings.anthropic_api_key is not None
    assert settings.anthropic_api_key.get_secret_value() == "sk-canary"
    assert settings.chosen_engine == "anthropic"
    assert settings.engine_of("observe") == "anthropic"


def test_a_list_may_come_from_a_file_as_json(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "hosts").write_text('["keys.example"]\n')
    monkeypatch.setenv("TONGYAO_OPENID_HOSTS_FILE", str(tmp_path / "hosts"))
    assert load_settings().openid_hosts == ("keys.example",)
    (tmp_path / "hosts").write_text("keys.example")
    with pytest.raises(SettingsError, match=r"TONGYAO_OPENID_HOSTS_FILE: .* does not contain JSON"):
        load_settings()


def test_a_setting_that_is_given_twice_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "url").write_text("postgresql://host/a")
    monkeypatch.setenv("DATABASE_URL_FILE", str(tmp_path / "url"))
    monkeypatch.setenv("DATABASE_URL", "postgresql://host/b")
    with pytest.raises(SettingsError, match="DATABASE_URL and DATABASE_URL_FILE are both set"):
        load_settings()


def test_the_openid_provider_is_made_of_its_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert openid_of(load_settings()) is None
    (tmp_path / "secret").write_text("canary\n")
    for name, value in {
        "ISSUER": "https://id.example/realms/valley",
        "CLIENT_ID": "us",
        "CLIENT_SECRET_FILE": str(tmp_path / "secret"),
        "OPERATOR_GROUP": "keepers",
        "HOSTS": '["keys.example"]',
    }.items():
        monkeypatch.setenv(f"TONGYAO_OPENID_{name}", value)
    made = openid_of(load_settings())
    assert made is not None and made.client_secret is not None
    assert (made.issuer, made.operator_group, made.hosts) == (
        "https://id.example/realms/valley", "keepers", ("keys.example",)
    )  # fmt: skip
    assert made.client_secret.get_secret_value() == "canary" and "canary" not in repr(made)


@pytest.mark.parametrize(
    ("variables", "chosen"),
    [
        ({"TONGYAO_MODEL": "openai:gpt-5-mini"}, {"*": "models"}),
        ({"TONGYAO_MODEL": "ollama:qwen3:8b", "ANTHROPIC_API_KEY": "k"}, {"*": "models"}),
        ({"TONGYAO_MODELS__OBSERVE": "google:gemini-3-pro", "ANTHROPIC_API_KEY": "k"}, {"observe": "models", "*": "anthropic"}),
        ({"TONGYAO_MODEL": "qwen3:8b", "ANTHROPIC_BASE_URL": "http://127.0.0.1:11434"}, {"*": "anthropic"}),
        ({"TONGYAO_MODEL": "qwen3:8b"}, {"*": "extractive"}),
        ({"TONGYAO_MODEL": "openai:gpt-5", "TONGYAO_ENGINE": "extractive"}, {"*": "extractive"}),
    ],
)  # fmt: skip
def test_the_model_of_a_step_chooses_its_engine(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], chosen: dict[str, str]
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    settings = load_settings()
    assert {step: settings.engine_of(step) for step in STEPS} == {step: chosen.get(step, chosen["*"]) for step in STEPS}
    assert settings.chosen_engine == chosen["*"]


def test_the_file_of_an_engine_is_not_read_for_the_name_of_the_engine(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "run.jsonl").write_text('{"seats": []}\n')
    monkeypatch.setenv("TONGYAO_ENGINE_FILE", str(tmp_path / "run.jsonl"))
    monkeypatch.setenv("TONGYAO_ENGINE_STEPS", '{"plan": "recorded"}')
    settings = load_settings()
    assert (settings.engine_of("plan"), settings.engine_of("observe")) == ("recorded", "extractive")


def test_secrets_show_neither_in_the_settings_nor_in_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-canary")
    assert "canary" not in repr(load_settings())
    monkeypatch.setenv("DATABASE_URL", "mysql://user:canary@host/db")
    with pytest.raises(SettingsError) as caught:
        load_settings()
    assert "canary" not in str(caught.value)


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        (
            {"TONGYAO_PROCESS__QUORUM": "99"},
            "TONGYAO_PROCESS__QUORUM: Input should be less than or equal to 8",
        ),
        ({"TONGYAO_TEMPORAL_PORT": "http"}, "TONGYAO_TEMPORAL_PORT: Input should be a valid integer"),
        ({"DATABASE_URL": "mysql://h/d"}, "DATABASE_URL: must begin with postgresql://"),
        ({"TEMPORAL_ADDRESS": "http://h:7233"}, "TEMPORAL_ADDRESS: must be host:port, without http://"),
        *(
            (
                {"TONGYAO_OPENID_ISSUER": issuer, "TONGYAO_OPENID_CLIENT_ID": "us"},
                "TONGYAO_OPENID_ISSUER: must begin with https://",
            )
            for issuer in (
                "id.example",
                "http://id.example",
                "https://",
                "https://id.example/?realm=1",
                "https://id.example/#1",
            )
        ),
        ({"TONGYAO_OPENID_ISSUER": "https://id.example"}, "TONGYAO_OPENID_ISSUER needs TONGYAO_OPENID_CLIENT_ID"),
        ({"TONGYAO_OPENID_SCOPE": "profile"}, "TONGYAO_OPENID_SCOPE: String should match pattern"),
        (
            {"TONGYAO_ENGINE": "oracle"},
            "TONGYAO_ENGINE: must be one of auto, anthropic, models, extractive, delegated, recorded, or package",
        ),
        ({"TONGYAO_QUORUM": "3"}, "Unknown setting: TONGYAO_QUORUM"),
        ({"TONGYAO_PROCESS__QUORUMS": "3"}, "Unknown setting: TONGYAO_PROCESS__QUORUMS"),
        ({"TONGYAO_ENGINE_STEPS": "observe"}, "engine_steps"),
        ({"TONGYAO_ENGINE": "my.engine"}, "or package.module:factory"),
        ({"TONGYAO_ENGINE_STEPS": '{"plan": "oracle"}'}, "TONGYAO_ENGINE_STEPS__PLAN: must be one of"),
        ({"TONGYAO_ENGINE_STEPS": '{"watch": "auto"}'}, "TONGYAO_ENGINE_STEPS: unknown step watch"),
        ({"TONGYAO_ENGINE": "anthropic"}, "engine `anthropic` needs ANTHROPIC_API_KEY"),
        ({"TONGYAO_ENGINE": "recorded"}, "needs TONGYAO_ENGINE_FILE"),
        ({"TONGYAO_HIGHWAY__ENCODER": "model"}, "set TONGYAO_FIELD__MODEL too"),
        ({"TEMPORAL_ADDRESS": "h:1", "TONGYAO_TEMPORAL_PORT": "7233"}, "Unset one or the other"),
        ({"TONGYAO_TEMPORAL_PORT": "7233", "TONGYAO_TEMPORAL_UI_PORT": "7233"}, "are the same port"),
        ({"TONGYAO_TEMPORAL_ENCRYPTION": "0"}, "or set TONGYAO_TEMPORAL_AUTHENTICATED=true"),
        ({"TONGYAO_TEMPORAL_TAKES_PLAIN": "1"}, "or set TONGYAO_TEMPORAL_AUTHENTICATED=true"),
        ({"ANTHROPIC_API_KEY_FILE": "/no/such/file"}, "ANTHROPIC_API_KEY_FILE: cannot read /no/such/file"),
        (
            {"TONGYAO_PROCESS__QUORUM": "8", "TONGYAO_PROCESS__MAX_PARTICIPANTS": "3"},
            "quorum 8 is above max_participants 3",
        ),
    ],
)
def test_what_is_wrong_is_named_by_its_variable(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], said: str
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SettingsError) as caught:
        load_settings()
    assert said in str(caught.value)


def test_an_empty_variable_is_an_unset_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "")
    monkeypatch.setenv("TEMPORAL_ADDRESS", "")
    settings = load_settings()
    assert settings.chosen_engine == "extractive"
    assert settings.temporal_address is None


def test_a_worker_of_a_service_with_ports_of_its_own_reads_its_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """`up` with TONGYAO_TEMPORAL_PORT starts the server there, and its worker gets the server's address."""
    monkeypatch.setenv("TONGYAO_TEMPORAL_PORT", "17233")
    monkeypatch.setenv("TONGYAO_TEMPORAL_UI_PORT", "18233")
    running = ServiceAddresses(
        database_url="postgresql://localhost/tongyao", temporal_address="127.0.0.1:17233", temporal_namespace="default",
        owner_pid=1, owner_started=0.0, started_at=datetime.now(UTC),
    )  # fmt: skip
    for name, value in running.environment().items():
        monkeypatch.setenv(name, value)
    assert load_settings().temporal_address == "127.0.0.1:17233"


def test_an_unknown_name_points_to_the_list_of_all_and_no_value_stands_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TONGYAO_HOEM", "/elsewhere")
    refused = CliRunner().invoke(app, ["list"])
    assert isinstance(refused.exception, SettingsError)
    assert "TONGYAO_HOEM" in str(refused.exception)
    assert "`tongyao doctor --settings`" in str(refused.exception)

    monkeypatch.delenv("TONGYAO_HOEM")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-secret")
    listed = CliRunner(env={"COLUMNS": "200"}).invoke(app, ["doctor", "--settings"]).output
    assert "sk-secret" not in listed
    for name in ("DATABASE_URL", "TONGYAO_PROCESS__QUORUM", "TONGYAO_MODELS__OBSERVE", "TONGYAO_LOG_FORMAT"):
        assert name in listed
    key = next(line for line in listed.splitlines() if "ANTHROPIC_API_KEY" in line)
    assert key.split()[1] == "set"


def test_every_model_step_has_a_model_to_be_set() -> None:
    assert set(load_settings().models_by_step) == set(STEPS)


def test_every_setting_says_what_it_means() -> None:
    assert [variable.names[0] for variable in every_variable() if not variable.description] == []

"""The settings of an installation, from environment variables.

The variable of a field is ``TONGYAO_<NAME>``, and of a field in a group for example ``TONGYAO_PROCESS__QUORUM``. A few
variables that other programs also use have no prefix. A value may be in a file, as with mounted secrets of Docker and
Kubernetes: ``ANTHROPIC_API_KEY_FILE=/run/secrets/key``.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict
from pydantic_settings.exceptions import SettingsError as UnreadableError

from tongyao.app.context import LOOPBACK, Ceilings
from tongyao.app.gateway_options import GatewayOptions
from tongyao.protocol.contracts.process import FairBy
from tongyao.protocol.model.process_settings import ProcessSettings
from tongyao.protocol.model.steps import STEPS
from tongyao.records.budgets import DayBudgets
from tongyao.records.people.consents import ConsentQuotas
from tongyao.runtime.settings_groups import (
    PROVIDERS,
    EngineName,
    FieldSettings,
    HighwaySettings,
    MaintenanceSettings,
    Models,
)
from tongyao.runtime.settings_sources import PREFIX, NamedFiles, SettingsError, TemporalProfile, also, variable_names

__all__ = [
    "PREFIX", "FieldSettings", "HighwaySettings", "MaintenanceSettings", "Models", "Settings", "SettingsError", "Variable", "every_variable", "load_settings",
    "variable_names",
]  # fmt: skip


class Settings(BaseSettings):
    """All settings. Read them with :func:`load_settings`, which turns all faults into one readable error."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        env_nested_delimiter="__",
        env_ignore_empty=True,  # an empty variable counts as unset, because docker-compose passes unset ones as empty
        validate_by_name=True,
        extra="forbid",
        frozen=True,
    )

    home: Path = Field(default=Path(".tongyao"), description="Directory of all local state.")
    language: Literal["en", "zh"] | None = Field(
        default=None, description="Language of commands: en or zh; unset: by LC_ALL, LC_MESSAGES, LANG."
    )

    database_url: SecretStr | None = Field(
        default=None,
        validation_alias=also("DATABASE_URL"),
        description="postgresql://… of a database of your own; unset: an embedded one under `home`.",
    )
    database_pool: int = Field(default=10, ge=1, le=200, description="Connections of one process, at most.")

    master_key: SecretStr | None = Field(
        default=None,
        description="Seals all texts: base64 of 32 bytes, older keys after it; unset: `home`/master.key, made once.",
    )

    temporal_address: str | None = Field(
        default=None,
        validation_alias=also("TEMPORAL_ADDRESS"),
        description="host:port of a Temporal server of your own; unset: a dev server under `home`.",
    )
    temporal_namespace: str = Field(
        default="default",
        min_length=1,
        validation_alias=also("TEMPORAL_NAMESPACE"),
        description="Namespace of the processes on the Temporal server; `tongyao prepare` registers it.",
    )
    temporal_api_key: SecretStr | None = Field(
        default=None,
        validation_alias=also("TEMPORAL_API_KEY"),
        description="API key of Temporal Cloud; turns TLS on.",
    )
    temporal_tls: bool = Field(default=False, description="TLS to `temporal_address`.")
    temporal_tls_ca: Path | None = Field(
        default=None, description="File of the authorities that may have signed the server's certificate; turns TLS on."
    )
    temporal_tls_cert: Path | None = Field(default=None, description="File of our certificate, for mTLS.")
    temporal_tls_key: Path | None = Field(default=None, description="File of its private key.")
    temporal_tls_server_name: str | None = Field(
        default=None, description="The name in the server's certificate, if it is not the address."
    )
    temporal_profile: str | None = Field(
        default=None,
        validation_alias=also("TEMPORAL_PROFILE"),
        description="A profile of Temporal's configuration file; settings given here take precedence.",
    )
    temporal_config_file: Path | None = Field(
        default=None,
        validation_alias=also("TEMPORAL_CONFIG_FILE"),
        description="That file, if it is not at the place that the `temporal` program knows.",
    )
    temporal_encryption: bool = Field(
        default=True,
        description="Payloads and failures in Temporal are encrypted; off (needs `temporal_authenticated`): new ones are plain.",
    )
    temporal_takes_plain: bool = Field(
        default=False,
        description="Plain payloads are accepted although new ones are encrypted: needed while processes run that began before. Needs `temporal_authenticated`.",
    )
    temporal_authenticated: bool = Field(
        default=False,
        description="Declares that Temporal admits operators only, by mTLS or an authorizer: plain payloads may then be accepted.",
    )
    temporal_binary: Path | None = Field(default=None, description="The `temporal` program to start.")
    temporal_port: int | None = Field(
        default=None, ge=1, le=65535, description="Port of the Temporal dev server; unset: any free one."
    )
    temporal_ui_url: str = Field(
        default="",
        description="List of workflows in the Web UI of a Temporal of your own: `https://HOST/namespaces/NAMESPACE/workflows`.",
    )
    temporal_ui_port: int | None = Field(
        default=None, ge=1, le=65535, description="Port of Temporal's web UI; unset: any free one."
    )

    anthropic_api_key: SecretStr | None = Field(
        default=None,
        validation_alias=also("ANTHROPIC_API_KEY"),
        description="Opens the Messages API; with it the engine `anthropic` answers.",
    )
    anthropic_base_url: str | None = Field(
        default=None,
        validation_alias=also("ANTHROPIC_BASE_URL"),
        description="Any server that speaks the Messages API.",
    )

    engine: EngineName = Field(
        default="auto",
        description="Who answers: auto (models where a step's model is `provider:model`, anthropic when a key or an address is "
        "set, else extractive), anthropic, models, extractive, delegated (an assistant or a person answers, docs/models.md), "
        "recorded, or package.module:factory.",
    )
    engine_steps: dict[str, EngineName] = Field(
        default_factory=dict,
        description='JSON object: steps with an engine of their own, {"observe": "anthropic"}.',
    )
    engine_file: Path | None = Field(
        default=None, description="The recording of `recorded`, or a file for an engine of your own."
    )
    model: str | None = Field(
        default=None,
        validation_alias=also("ANTHROPIC_MODEL", prefixed="MODEL"),
        description="One model for every step, in place of `models`: a name, or `provider:model` (docs/models.md §1).",
    )
    models: Models = Field(default=Models(), description="The model of each step.")
    field: FieldSettings = Field(
        default=FieldSettings(), description="The field's encoder with weights (docs/field.md §5)."
    )
    retriever: Literal["chunks", "highway", "both"] = Field(
        default="chunks",
        description="Retriever of the passages of a profile of over 50,000 characters that matter to a tension.",
    )
    highway: HighwaySettings = Field(default=HighwaySettings(), description="Long memories (docs/highway.md).")
    prices: Path | None = Field(default=None, description="A price table over the shipped one (docs/models.md §5).")
    prompts: Path | None = Field(default=None, description="Directory whose prompts replace those of the package.")

    process: ProcessSettings = Field(
        default=ProcessSettings(), description="Defaults of new processes (docs/protocol.md §10)."
    )
    most: Ceilings = Field(
        default=Ceilings(), description="Upper limits of the settings that people may choose for a process."
    )
    consent: ConsentQuotas = Field(
        default=ConsentQuotas(), description="Quotas of questions for consent, and of choices of one person."
    )
    profile_max_chars: int = Field(default=2_000_000, ge=1, description="A longer profile is refused.")
    maintenance: MaintenanceSettings = Field(
        default=MaintenanceSettings(), description="Duties by Temporal Schedules (docs/operations.md §11)."
    )
    day: DayBudgets = Field(default=DayBudgets(), description="Budgets of all model calls of a day (UTC).")

    worker_activities: int = Field(default=200, ge=1, description="Activities at a time in one worker.")
    worker_workflow_tasks: int = Field(default=40, ge=2, description="Workflow tasks at a time in one worker.")
    worker_cached_workflows: int = Field(
        default=1000,
        ge=0,
        description="Should be no smaller than the live processes, else histories are replayed.",
    )
    models_per_second: float | None = Field(
        default=None,
        gt=0,
        description="Model steps (the proxies of a round are one) started per second on the models queue by all workers.",
    )
    model_calls_at_once: int | None = Field(
        default=None, ge=1, description="Model calls under way at a time, of all workers together; unset: no limit."
    )
    fair_by: FairBy = Field(
        default="demander",
        description="Fairness when tasks wait: the processes of each demander, or of each scene, share the workers evenly.",
    )
    worker_pollers: int = Field(default=5, ge=2, description="Polls in flight per task queue and kind.")
    shutdown_seconds: int = Field(
        default=20, ge=0, description="Seconds that activities have to end when a worker stops."
    )

    gateway_host: str = Field(default="127.0.0.1", description="Address that the API and MCP are bound to.")
    gateway_port: int = Field(default=8700, ge=0, le=65535, description="0: any free one.")
    behind_proxy: bool = Field(
        default=False,
        description="A reverse proxy is in front of the gateway, which may then listen beyond loopback (docs/deployment.md).",
    )
    gateway: GatewayOptions = Field(default=GatewayOptions(), description="Limits of requests to the gateway.")
    public_url: str = Field(default="", description="Public address of this installation, for links in notifications.")
    mail_host: str | None = Field(default=None, description="SMTP server that notifications go through; unset: none.")
    mail_port: int = Field(default=587, ge=1, le=65535, description="Port of the mail server.")
    mail_encryption: Literal["starttls", "tls", "none"] = Field(
        default="starttls",
        description="`tls`: encrypted from the first byte on; `starttls`: encrypted before anything else is sent.",
    )
    mail_username: str | None = Field(
        default=None, description="User name at the mail server; unset: it asks for none."
    )
    mail_password: SecretStr | None = Field(default=None, description="Password of `mail_username` at the mail server.")
    mail_from: str = Field(default="tongyao@localhost", description="Sender of notifications.")
    openid_issuer: str = Field(
        default="",
        description="Address of an OpenID provider, as its tokens name it; unset: nobody signs in by OpenID Connect (docs/deployment.md §6).",
    )
    openid_client_id: str = Field(default="", description="Id under which the provider knows this installation.")
    openid_client_secret: SecretStr | None = Field(
        default=None, description="Secret of `openid_client_id` at the provider; unset: it asks for none."
    )
    openid_label: str = Field(
        default="OpenID Connect", description="Name of the provider on the button that signs people in."
    )
    openid_scope: str = Field(
        default="openid profile", pattern=r"(^|.* )openid($| )", description="Scopes that the provider is asked for."
    )
    openid_groups_claim: str = Field(default="groups", description="Claim of the ID token that holds the groups.")
    openid_operator_group: str | None = Field(
        default=None, description="Group whose members sign in as operators; unset: nobody does by OpenID Connect."
    )
    openid_operator_hours: int = Field(
        default=8, ge=1, le=24, description="An operator is signed in by OpenID Connect so long, at most."
    )
    openid_hosts: tuple[str, ...] = Field(
        default=(), description="JSON list of further hosts that the provider's document may name."
    )
    metrics_port: int | None = Field(
        default=None, ge=1, le=65535, description="Prometheus, health and readiness; unset: none of them."
    )
    metrics_host: str = Field(default="127.0.0.1", description="Address that `metrics_port` is bound to.")
    traces_endpoint: str | None = Field(
        default=None,
        validation_alias=also("OTEL_EXPORTER_OTLP_ENDPOINT", prefixed="TRACES_ENDPOINT"),
        description="Address of an OpenTelemetry collector (OTLP over HTTP) that traces are sent to; unset: none are made.",
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="The lowest level that is logged."
    )
    log_format: Literal["console", "json"] = Field(default="console", description="`json`: one object a line.")

    @field_validator(
        "home", "temporal_binary", "engine_file", "prompts", "prices",
        "temporal_tls_ca", "temporal_tls_cert", "temporal_tls_key", "temporal_config_file",
    )  # fmt: skip
    @classmethod
    def _absolute(cls, path: Path | None) -> Path | None:
        return None if path is None else path.expanduser().absolute()

    @field_validator("retriever")
    @classmethod
    def _is_installed(cls, retriever: str) -> str:
        if retriever != "chunks" and importlib.util.find_spec("numba") is None:
            raise ValueError(
                f"{retriever!r} needs the extra `highway`, which is not installed: pip install 'tongyao[highway]' "
                "(in a clone: .venv/bin/uv pip install -e '.[highway]')"
            )
        return retriever

    @field_validator("database_url")
    @classmethod
    def _is_postgresql(cls, url: SecretStr | None) -> SecretStr | None:
        if url is not None and not url.get_secret_value().startswith(("postgresql://", "postgres://")):
            raise ValueError("must begin with postgresql://")
        return url

    @field_validator("temporal_address")
    @classmethod
    def _is_an_address(cls, address: str | None) -> str | None:
        if address is not None:
            host, _, port = address.rpartition(":")
            if not host or not port.isdigit() or "/" in host:
                raise ValueError("must be host:port, without http://")
        return address

    @field_validator("openid_issuer")
    @classmethod
    def _is_an_issuer(cls, issuer: str) -> str:
        parts = urlsplit(issuer)
        local = parts.scheme == "http" and parts.hostname in LOOPBACK
        if issuer and (not parts.hostname or parts.query or parts.fragment or not (parts.scheme == "https" or local)):
            raise ValueError("must begin with https:// (http:// on this machine alone), and have no ? and no #")
        return issuer

    @field_validator("engine_steps")
    @classmethod
    def _are_steps(cls, steps: dict[str, EngineName]) -> dict[str, EngineName]:
        unknown = sorted(set(steps) - set(STEPS))
        if unknown:
            raise ValueError(f"unknown step {', '.join(unknown)}; the steps are {', '.join(STEPS)}")
        return steps

    @model_validator(mode="after")
    def _agree(self) -> Settings:
        engines = {self.engine, *self.engine_steps.values()}
        if "anthropic" in engines and self.anthropic_api_key is None and self.anthropic_base_url is None:
            raise ValueError(
                "engine `anthropic` needs ANTHROPIC_API_KEY (or ANTHROPIC_BASE_URL of a server of one's own)"
            )
        if self.highway.encoder == "model" and self.field.model is None:
            raise ValueError("TONGYAO_HIGHWAY__ENCODER=model uses the field's model: set TONGYAO_FIELD__MODEL too")
        if "recorded" in engines and self.engine_file is None:
            raise ValueError("the engine `recorded` needs TONGYAO_ENGINE_FILE, the recording")
        if self.temporal_address is not None and (self.temporal_port or self.temporal_ui_port or self.temporal_binary):
            raise ValueError(
                "TEMPORAL_ADDRESS names a running server: TONGYAO_TEMPORAL_PORT, _UI_PORT and _BINARY are "
                "for one that Tongyao starts. Unset one or the other"
            )
        if self.openid_issuer and not self.openid_client_id:
            raise ValueError("TONGYAO_OPENID_ISSUER needs TONGYAO_OPENID_CLIENT_ID, which the provider gives")
        if (self.temporal_takes_plain or not self.temporal_encryption) and not self.temporal_authenticated:
            raise ValueError(
                "with plain payloads everybody who reaches Temporal can send messages in anybody's name: leave "
                "TONGYAO_TEMPORAL_ENCRYPTION on and _TAKES_PLAIN off, or set TONGYAO_TEMPORAL_AUTHENTICATED=true if "
                "Temporal admits operators only"
            )
        if (self.temporal_tls_cert is None) != (self.temporal_tls_key is None):
            raise ValueError("mTLS needs both: TONGYAO_TEMPORAL_TLS_CERT and TONGYAO_TEMPORAL_TLS_KEY")
        if self.temporal_port is not None and self.temporal_port == self.temporal_ui_port:
            raise ValueError("TONGYAO_TEMPORAL_PORT and TONGYAO_TEMPORAL_UI_PORT are the same port")
        return self

    @cached_property
    def chosen_engine(self) -> EngineName:
        """`engine`, with `auto` resolved by the model of the step `plan`."""
        return self.engine if self.engine != "auto" else self._by_model("plan")

    @property
    def delegates(self) -> bool:
        """Whether any step uses the engine `delegated`."""
        return any(self.engine_of(step) == "delegated" for step in STEPS)

    @property
    def models_by_step(self) -> dict[str, str]:
        """The model of each step."""
        return dict.fromkeys(STEPS, self.model) if self.model else dict(self.models.model_dump())

    def engine_of(self, step: str) -> EngineName:
        """Return the engine of one step, with `auto` resolved."""
        own = self.engine_steps.get(step, "auto")
        chosen = self.engine if own == "auto" else own
        return self._by_model(step) if chosen == "auto" else chosen

    def _by_model(self, step: str) -> EngineName:
        if self.models_by_step[step].partition(":")[0] in PROVIDERS and ":" in self.models_by_step[step]:
            return "models"
        return "anthropic" if self.anthropic_api_key or self.anthropic_base_url else "extractive"

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return init_settings, env_settings, NamedFiles(settings_cls), TemporalProfile(settings_cls)


def load_settings(**overrides: Any) -> Settings:
    """Return the settings from the environment. ``overrides`` (by field name) take precedence.

    Raises:
        SettingsError: a value is invalid, values contradict each other, or a ``TONGYAO_…`` variable is unknown.
    """
    unknown = sorted(set(_unknown_variables()))
    if unknown:
        raise SettingsError(f"Unknown setting: {', '.join(unknown)}. `tongyao doctor --settings` lists all.")
    try:
        return Settings(**overrides)
    except ValidationError as error:
        lines = []
        for problem in error.errors(include_url=False, include_context=False):
            message = problem["msg"].removeprefix("Value error, ")
            names = _variable_of(problem["loc"])
            lines.append(f"  {names}: {message}" if names else f"  {message}")
        raise SettingsError("The settings are wrong:\n" + "\n".join(lines)) from None
    except UnreadableError as error:  # a group or list that is not JSON
        raise SettingsError(f"The settings are wrong:\n  {error}") from None


def _variable_of(location: tuple[int | str, ...]) -> str:
    """Return the variable of a field: `TONGYAO_PROCESS__QUORUM` for `("process", "quorum")`. Prefers a set name."""
    if not location:
        return ""
    first, *rest = (str(part) for part in location)
    for field_name, field in Settings.model_fields.items():
        names = variable_names(field_name, field)
        if first in {field_name, *names}:
            first = next((name for name in names if name in os.environ), names[0])
    return "__".join([first, *(part.upper() for part in rest)])


def _unknown_variables() -> list[str]:
    known = {name for variable in every_variable() for name in (*variable.names, *variable.files)}
    return [name for name in os.environ if name.startswith(PREFIX) and name.upper() not in known]


@dataclass(frozen=True)
class Variable:
    """One setting: its names in the environment, its default and its description.

    `files`: the names of the variables that name a file with the value.
    """

    names: tuple[str, ...]
    default: Any
    description: str
    files: tuple[str, ...] = ()

    @property
    def is_set(self) -> bool:
        return any(os.environ.get(name) for name in (*self.names, *self.files))


def every_variable() -> Iterator[Variable]:
    """Yield every variable. A group yields one for the whole group, as a JSON object, and one for each of its parts."""
    for field_name, field in Settings.model_fields.items():
        names = tuple(variable_names(field_name, field))
        files = tuple(f"{name}_FILE" for name in names)
        default = field.get_default(call_default_factory=True)
        yield Variable(names, default, field.description or "", files)
        if isinstance(default, BaseModel):
            for part, info in type(default).model_fields.items():
                name = f"{PREFIX}{field_name.upper()}__{part.upper()}"
                yield Variable((name,), getattr(default, part), info.description or "")

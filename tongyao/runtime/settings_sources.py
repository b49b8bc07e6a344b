"""Sources of settings: variable names, files that variables name, and profiles of Temporal's configuration."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import AliasChoices
from pydantic.fields import FieldInfo
from pydantic_settings import PydanticBaseSettingsSource

if TYPE_CHECKING:
    from temporalio.envconfig import ClientConfigProfile

PREFIX = "TONGYAO_"


class SettingsError(ValueError):
    """The settings are invalid. The message names the variables and the faults, without secrets."""


def also(name: str, *, prefixed: str = "") -> AliasChoices:
    """Return the names of a variable: prefixed, then `name`. `prefixed`: follows the prefix in place of `name`."""
    return AliasChoices(f"{PREFIX}{prefixed or name}", name)


def variable_names(field_name: str, field: FieldInfo) -> list[str]:
    """Return the environment variables of one field, the prefixed one first."""
    if isinstance(field.validation_alias, AliasChoices):
        return [str(choice) for choice in field.validation_alias.choices]
    return [f"{PREFIX}{field_name.upper()}"]


class NamedFiles(PydanticBaseSettingsSource):
    """Reads a setting from the file that its variable with the suffix ``_FILE`` names, without the last line break."""

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        names = variable_names(field_name, field)
        for name in names:
            file = os.environ.get(f"{name}_FILE")
            if file and not self._is_setting(f"{name}_FILE"):
                try:
                    text = Path(file).read_text(encoding="utf-8").rstrip("\r\n")
                except (OSError, UnicodeDecodeError) as error:
                    raise SettingsError(f"{name}_FILE: cannot read {file}: {error}") from None
                if text and (twice := next(filter(os.environ.get, names), "")):
                    raise SettingsError(f"{twice} and {name}_FILE are both set: unset one of them")
                try:
                    # An empty file counts as unset, like an empty variable.
                    return self.prepare_field_value(field_name, field, text, False) if text else None, field_name, False
                except ValueError:
                    raise SettingsError(f"{name}_FILE: {file} does not contain JSON") from None
        return None, field_name, False

    def _is_setting(self, variable: str) -> bool:
        """Return whether this is a setting's own variable. `TONGYAO_ENGINE_FILE` is, although it ends in `_FILE`."""
        return any(variable in variable_names(name, field) for name, field in self.settings_cls.model_fields.items())

    def __call__(self) -> dict[str, Any]:
        values = {}
        for field_name, field in self.settings_cls.model_fields.items():
            value, key, _ = self.get_field_value(field, field_name)
            if value is not None:
                values[key] = value
        return values


class TemporalProfile(PydanticBaseSettingsSource):
    """Reads address, namespace and API key of the profile in the settings, if there is one."""

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        raise NotImplementedError  # a profile is read as a whole

    def __call__(self) -> dict[str, Any]:
        def given(name: str) -> Any:
            known = [name, *variable_names(name, self.settings_cls.model_fields[name])]
            return next((self.current_state[name] for name in known if self.current_state.get(name)), None)

        name, file = given("temporal_profile"), given("temporal_config_file")
        if name is None and file is None:
            return {}
        profile = temporal_profile(name, Path(file).expanduser() if file else None, environment={})
        found = {
            "temporal_address": profile.address,
            "temporal_namespace": profile.namespace,
            "temporal_api_key": profile.api_key,
        }
        return {name: value for name, value in found.items() if value and given(name) is None}


def temporal_profile(
    name: str | None, file: Path | None, *, environment: Mapping[str, str] | None = None
) -> ClientConfigProfile:
    """Return a profile of Temporal's configuration, from its file (if `name` or `file` is given) and `TEMPORAL_…`.

    `environment`: replaces the environment variables of this process. Raises `SettingsError`.
    """
    from temporalio.envconfig import ClientConfigProfile  # late: most commands name no profile

    if file is not None and not file.is_file():
        raise SettingsError(f"TEMPORAL_CONFIG_FILE: there is no file {file}")
    try:
        return ClientConfigProfile.load(
            name, config_source=file, disable_file=name is None and file is None, override_env_vars=environment
        )
    except (RuntimeError, ValueError) as error:
        raise SettingsError(f"the configuration of Temporal cannot be read: {error}") from None

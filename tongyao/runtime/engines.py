"""The engine of each step, chosen by the settings."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from tongyao.llm import prices
from tongyao.llm.engine import Engine
from tongyao.protocol.model.steps import STEPS
from tongyao.runtime.observability.instrumentation import Measured
from tongyao.runtime.settings import Settings, SettingsError


def engines(settings: Settings) -> dict[str, Engine]:
    """Return the engine of each step. Steps with the same setting share one instance. Raises `SettingsError`."""
    made: dict[str, Engine] = {}
    for step in STEPS:
        name = settings.engine_of(step)
        if name not in made:
            made[name] = engine_of(name, settings)
    return {step: made[settings.engine_of(step)] for step in STEPS}


def with_engines(settings: Settings, engine: str, models: Mapping[str, str]) -> Settings:
    """Return the settings with another engine for every step (empty: unchanged), and with other models for some steps.

    Raises `SettingsError`.
    """
    if unknown := sorted(set(models) - set(STEPS)):
        raise SettingsError(f"there is no step {', '.join(unknown)}: steps are {', '.join(STEPS)}")
    by_step = {**settings.models_by_step, **models}
    other = {"engine": engine, "engine_steps": {}} if engine else {}
    return settings.model_copy(
        update={**other, "model": None, "models": settings.models.model_copy(update=by_step)} if models else other
    )


def engine_of(name: str, settings: Settings) -> Engine:
    """Return the engine with this name, in a wrapper that times and counts its calls. Raises `SettingsError`."""
    return Measured(_engine(name, settings))


def _engine(name: str, settings: Settings) -> Engine:
    """Return the engine with this name. Imports only this engine, so a worker without a key needs no Claude SDK."""
    if ":" in name:
        return engine_of_factory(name, settings)
    if name == "extractive":
        from tongyao.llm.extractive.engine import ExtractiveEngine

        return ExtractiveEngine()
    if name == "delegated":
        from tongyao.llm.delegated import DelegatedEngine

        return DelegatedEngine(prompts_folder=settings.prompts)
    if name == "recorded":
        from tongyao.llm.recorded import RecordedEngine

        assert settings.engine_file is not None  # the validation of the settings requires it
        return RecordedEngine(settings.engine_file)
    if name == "models":
        return _any_models(settings)
    from tongyao.llm.anthropic.engine import AnthropicEngine

    key = settings.anthropic_api_key
    return AnthropicEngine(
        api_key=key.get_secret_value() if key else "none",  # a self-hosted server may need no key
        base_url=settings.anthropic_base_url,
        models=settings.models_by_step,
        prices=prices.load(settings.prices),
        prompts_folder=settings.prompts,
    )


def _any_models(settings: Settings) -> Engine:
    """Return the engine `models`. Raises `SettingsError` without the extra `models`, or for an invalid model."""
    try:
        from tongyao.llm.pydantic_ai_engine import PydanticAIEngine
    except ImportError as error:
        raise SettingsError(
            f"the engine `models` needs the extra `models` ({error}): pip install 'tongyao[models]' "
            "(in a clone: .venv/bin/uv pip install -e '.[models]')"
        ) from error
    chosen = {step: model for step, model in settings.models_by_step.items() if settings.engine_of(step) == "models"}
    try:
        return PydanticAIEngine(chosen, prices=prices.load(settings.prices), prompts_folder=settings.prompts)
    except ValueError as error:
        raise SettingsError(f"TONGYAO_MODEL (or TONGYAO_MODELS__…): {error}") from error


def engine_of_factory(name: str, settings: Settings) -> Engine:
    """Return the engine that `package.module:factory` makes from the settings (docs/extending.md §1).

    Raises `SettingsError` if the module cannot be imported, has no such factory, or if the factory cannot be called,
    fails, or returns no `Engine`.
    """
    module_name, _, attribute = name.partition(":")

    def refused(problem: str) -> SettingsError:
        return SettingsError(f"TONGYAO_ENGINE (or TONGYAO_ENGINE_STEPS) names the engine {name!r}: {problem}")

    try:
        module = import_module(module_name)
    except Exception as error:  # the import of a foreign module may raise any exception
        reason = f"{type(error).__name__}: {error}"
        raise refused(f"cannot import {module_name} ({reason}); install it, or add its folder to PYTHONPATH") from error
    factory = getattr(module, attribute, None)
    if factory is None:
        raise refused(f"{module_name} has no {attribute!r}")
    if not callable(factory):
        raise refused(f"{attribute!r} is a {type(factory).__name__} and cannot be called; name a function or a class")
    try:
        made = factory(settings)
    except Exception as error:
        raise refused(
            f"the factory failed ({type(error).__name__}: {error}); it is called with the settings"
        ) from error
    if not isinstance(made, Engine):
        missing = [member for member in ("name", "model_for", "bound", "answer") if not hasattr(made, member)]
        raise refused(f"it returned a {type(made).__name__}, which is no Engine: it lacks {', '.join(missing)}")
    return made

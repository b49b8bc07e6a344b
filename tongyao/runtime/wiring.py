"""Chooses and creates the implementation of each interface. Only this module, `worker.py` and the CLI do that.

Implementations are imported in the functions, because most commands need only the records.
"""

from __future__ import annotations

import dataclasses
import functools
import os
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import TYPE_CHECKING

from tongyao.protocol.contracts.maintenance import ModelSpec
from tongyao.protocol.model.steps import FORMULATE, STEPS
from tongyao.records.database import Pool, open_pool
from tongyao.records.privacy.master_keys import register_master_key
from tongyao.records.repositories import Repositories
from tongyao.runtime.master_key import keyring
from tongyao.runtime.settings import Settings, SettingsError

if TYPE_CHECKING:
    from temporalio.client import Client

    from activities.dependencies import Deps, ProfileMemory, Retriever
    from activities.maintain import ReciteLevel, RunDuty
    from crystalline_highway.highway import Highway
    from tongyao.app.context import AppContext, IntentReader, PersonalDataStore
    from tongyao.evals.anthropic_judge import AnthropicJudge
    from tongyao.field.encoders.encoder import Encoder
    from tongyao.field.intent_field import IntentField
    from tongyao.protocol.contracts.maintenance import Duty
    from tongyao.runtime.start_recitation import Recite


@asynccontextmanager
async def repositories(settings: Settings, *, database_url: str | None = None) -> AsyncIterator[Repositories]:
    """Open the records for the length of the block. Raises `DatabaseUnreachable`, `KeyMissing`, `SchemaMissing`."""
    url = database_url or (settings.database_url.get_secret_value() if settings.database_url else "")
    keys = keyring(settings)
    pool: Pool = await open_pool(url, max_size=settings.database_pool, keys=keys)
    try:
        await register_master_key(pool, keys)
        yield Repositories(pool)
    finally:
        await pool.close()


def app_context(settings: Settings, repositories: Repositories, client: Client, *, temporal_ui: str = "") -> AppContext:
    """Make the context of the use cases. `temporal_ui`: address of the Web UI, if the settings have none."""
    from tongyao.app.context import AppContext
    from tongyao.llm import delegated
    from tongyao.runtime.start_recitation import reciting

    uses_highway, keys = settings.retriever != "chunks", keyring(settings)
    return AppContext(
        repositories,
        client,
        options=settings.gateway,
        process_defaults=settings.process,
        ceilings=settings.most,
        consent_quotas=settings.consent,
        remember=uses_highway,
        profile_max_chars=settings.profile_max_chars,
        request_recitation=reciting(client) if uses_highway else None,
        personal_data_stores=personal_data_stores(repositories),
        temporal_ui=(settings.temporal_ui_url or temporal_ui).rstrip("/"),
        day_budgets=settings.day,
        public_url=settings.public_url,
        gateway_host=settings.gateway_host,
        behind_proxy=settings.behind_proxy,
        fair_by=settings.fair_by,
        fair_salt=keys.derive(keys.active, "fairness"),
        call_answers=delegated.DelegatedAnswers(),
    )


def personal_data_stores(records: Repositories) -> tuple[PersonalDataStore, ...]:
    """Return the stores of people's data besides the records: the Highway, also where its extra is not installed."""
    from crystalline_highway.deletion import StoredMemories

    return (StoredMemories(records.pool),)


def highway(settings: Settings, records: Repositories) -> Highway:
    """Make the Highway over these records. Raises `SettingsError` if its encoder cannot be used."""
    from crystalline_highway import settings as numbers
    from crystalline_highway.highway import Highway

    chosen, model = settings.highway, model_of(settings)
    most = numbers.MemorySettings(most_passes=chosen.most_passes)
    if chosen.encoder == "none" or model is None:
        return Highway(records.pool, settings=most)
    from tongyao.field.encoders.encoder import EncoderUnusable

    try:
        encoder = encoder_with_weights(model, settings.field.threads)
    except EncoderUnusable as error:
        raise SettingsError(f"TONGYAO_HIGHWAY__ENCODER=model: {error}") from None
    return Highway(records.pool, settings=most, encoder=encoder)


def deps(
    settings: Settings,
    records: Repositories,
    *,
    recite: Recite | None = None,
    client: Client | None = None,
) -> Deps:
    """Make the dependencies of the activities. `recite` queues a recitation.

    `client`: for the duties of maintenance. If it is None, the worker has no duties.
    """
    from activities.dependencies import Deps
    from activities.llm.budget import SpendingLimits
    from activities.llm.model_calls import ModelCalls
    from activities.plan import PROFILE_CHARS as PLAN_PROFILE_CHARS
    from tongyao.field.retriever import ChunkRetriever
    from tongyao.llm import prompts
    from tongyao.runtime.engines import engines, with_engines

    chosen = engines(settings)
    retriever, memory, reciting = long_profiles(settings, records, recite)
    field = intent_field(settings, records)
    return Deps(
        repositories=records,
        model_calls=ModelCalls(
            chosen,
            records.ledger,
            worker=f"{socket.gethostname()}/{os.getpid()}",
            limits=SpendingLimits(records.budgets, records.ledger, day=settings.day),
            most_at_once=settings.model_calls_at_once,
            prompt_folder=settings.prompts,
            make_engines=lambda engine, models: engines(with_engines(settings, engine, models)),
        ),
        retriever=retriever,
        brief=ChunkRetriever(budget_chars=PLAN_PROFILE_CHARS),
        field=field,
        indexing=field.indexer,
        memory=memory,
        reciting=reciting,
        consent_quotas=settings.consent,
        duties={}
        if client is None
        else duties(settings, dataclasses.replace(app_context(settings, records, client), people_search=field)),
        manifest={
            "engines": {step: engine.name for step, engine in chosen.items()},
            "models": {step: engine.model_for(step) for step, engine in chosen.items()},
            "retriever": retriever.name,
            "prompts": {
                f"{language}/{step}": {"version": prompt.version, "sha256": prompt.sha256}
                for language in ("zh", "en")
                for step in STEPS
                for prompt in [prompts.load(step, language, folder=settings.prompts)]
            },
        },
    )


def duties(settings: Settings, context: AppContext) -> Mapping[Duty, RunDuty]:
    from tongyao.app.operators import maintenance

    chosen = settings.maintenance
    return maintenance.duties(context, keep=timedelta(days=chosen.keep_days), most_backup_age=chosen.most_backup_age)


def long_profiles(
    settings: Settings, records: Repositories, recite: Recite | None = None
) -> tuple[Retriever, ProfileMemory | None, ReciteLevel | None]:
    """Make the retriever for long profiles. The Highway's compiled code is imported only if it is chosen."""
    if settings.retriever == "chunks":
        from tongyao.field.retriever import ChunkRetriever

        return ChunkRetriever(), None, None
    from tongyao.runtime import retrievers

    memories = highway(settings, records)
    chosen = retrievers.retriever(settings.retriever, memories, recite)
    return chosen, retrievers.HighwayFeedback(memories), memories.recite_level


def intent_field(settings: Settings, records: Repositories) -> IntentField:
    """Make the field over these records. An embedding model is loaded when an index needs it."""
    from tongyao.field.intent_field import IntentField

    chosen = settings.field

    def load(spec: ModelSpec) -> Encoder:
        return encoder_with_weights(spec, chosen.threads)

    return IntentField(records.pool, load=load, model=model_of(settings))


def intent_reader(settings: Settings, records: Repositories) -> IntentReader | None:
    """Make the reader of intents with the engine of formulations; None if no model formulates."""
    name = settings.engine_of(FORMULATE.name)
    if name in ("extractive", "recorded", "delegated"):
        return None
    from tongyao.runtime.engines import engine_of
    from tongyao.runtime.intent_reader import EngineIntentReader

    try:
        return EngineIntentReader(engine_of(name, settings), records.ledger)
    except SettingsError as error:
        import structlog  # late: most commands log nothing

        structlog.get_logger().warning(
            "the engine of formulations cannot be used by the gateway: it reads no intents", error=str(error)
        )
        return None


def models_cost(settings: Settings) -> bool:
    """Whether any step of a process uses an engine that asks a service."""
    return any(settings.engine_of(step) not in ("extractive", "recorded", "delegated") for step in STEPS)


def model_of(settings: Settings) -> ModelSpec | None:
    """Return the field's embedding model, which the Highway may share, or None if the field is only lexical."""
    chosen = settings.field
    return ModelSpec(**chosen.model_dump(exclude={"threads"})) if chosen.model is not None else None


@functools.cache
def encoder_with_weights(spec: ModelSpec, threads: int) -> Encoder:
    """Load an embedding model, once in each worker. Raises `EncoderUnusable`."""
    from tongyao.field.encoders.transformer import TransformerEncoder

    return TransformerEncoder(spec, threads=threads)


@asynccontextmanager
async def judge_of(settings: Settings) -> AsyncIterator[AnthropicJudge]:
    """Make a judge with the model of the step `observe`. Raises `SettingsError` without a key or an address."""
    from tongyao.evals.anthropic_judge import AnthropicJudge
    from tongyao.llm import prices

    key = settings.anthropic_api_key
    if key is None and settings.anthropic_base_url is None:
        raise SettingsError("judging needs ANTHROPIC_API_KEY (or ANTHROPIC_BASE_URL of a server of one's own)")
    judge = AnthropicJudge(
        api_key=key.get_secret_value() if key else "none",
        base_url=settings.anthropic_base_url,
        model=settings.models_by_step["observe"],
        prices=prices.load(settings.prices),
    )
    try:
        yield judge
    finally:
        await judge.aclose()

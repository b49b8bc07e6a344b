"""Asks the catalyst for the observation of a round (docs/protocol.md §5)."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from functools import partial

from temporalio import activity

from activities.dependencies import Deps
from activities.llm.model_calls import model_step, parks
from activities.record import observation_of_origin
from tongyao.llm.errors import ModelRefused, OutOfBudget, Unreadable
from tongyao.protocol.contracts.process import OBSERVE, ObserveInput, ObserveOutput
from tongyao.protocol.guards.observations import OBSERVATION_CHECKS, observation_of
from tongyao.protocol.model.observation import Observation, ObservationDraft
from tongyao.protocol.model.process import DEMANDER
from tongyao.protocol.rules import request_access
from tongyao.protocol.rules.standing import concerned, standing
from tongyao.records.privacy.texts import GONE, NewText, TextErased, text_id
from tongyao.records.process.process_rows import ProcessRow
from tongyao.records.process.rounds import ObservationRow


class Observing:
    def __init__(self, deps: Deps) -> None:
        self._deps = deps

    @activity.defn(name=OBSERVE.name)
    @parks
    async def observe(self, what: ObserveInput) -> ObserveOutput:
        """Observe one round. Without a readable answer, the observation is empty and its verdict is `more`."""
        repositories, calls = self._deps.repositories, self._deps.model_calls
        guards: Counter[str] = Counter()
        async with model_step(repositories, calls, OBSERVE.step, what) as run:
            began = time.monotonic()
            record = (await repositories.record(run.process)).model_copy(update={"round": what.round})
            strategy = await repositories.texts.get(run.settings.strategy) if run.settings.strategy else ""
            make = partial(request_access.for_catalyst, record, strategy=strategy)
            request = await asyncio.to_thread(make)
            question = run.question(request, round=what.round)
            if (found := await observation_of_origin(repositories, run.fork, what.round)) is not None:
                row, observation = found
                guards.update(row.guards)
            else:
                try:
                    draft = (await calls.ask_and_review(question, OBSERVATION_CHECKS, guards)).draft
                except (Unreadable, ModelRefused, OutOfBudget) as error:
                    guards[error.reason] += 1
                    draft = ObservationDraft()
                observation = observation_of(draft, request, struck=guards["struck"])
            observation = await self._write(what, run.process, observation, guards, time.monotonic() - began)
        rounds = (*request.exchange[:-1], request.exchange[-1].model_copy(update={"observation": observation}))
        state = standing(rounds)
        return ObserveOutput(
            verdict=observation.verdict,
            concerned=concerned(observation),
            asks_demander=any(note.asks == DEMANDER for note in observation.notes),
            relations=len(state.relations),
            notes=len(state.notes),
            gaps=len(state.open_gaps),
            items=sum(len(turn.items) for turn in rounds[-1].projections),
            struck=observation.struck,
            out_of_budget=found is None and bool(guards[OutOfBudget.reason]),
            spent=await calls.spent(what.process_id),
        )

    async def _write(
        self, what: ObserveInput, process: ProcessRow, observation: Observation, guards: Counter[str], seconds: float
    ) -> Observation:
        """Write the observation to the record. Returns the stored observation, which an earlier attempt may have
        written."""
        repositories = self._deps.repositories
        stored = text_id("observation", what.process_id, process.epoch, what.round)
        new = NewText(stored, f"process:{what.process_id}", "observation", observation.model_dump_json())
        stand = await repositories.shared.put_marked(process, [new])
        if stored not in stand:
            raise TextErased(GONE)
        observation = Observation.model_validate_json(stand[stored])
        await repositories.rounds.put_observation(
            what.process_id,
            ObservationRow(
                round=what.round,
                verdict=observation.verdict,
                text_id=stored,
                chars=len(observation.words),
                struck=observation.struck,
                guards={**guards},
                seconds=seconds,
            ),
        )
        return observation

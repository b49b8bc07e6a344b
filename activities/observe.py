"""Asks the catalyst for the observation of a round (docs/protocol.md §5)."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from functools import partial

from temporalio import activity

from activities.dependencies import Deps
from activities.llm.model_calls import Repair, model_step
from tongyao.llm.errors import OutOfBudget, Refused, Unreadable
from tongyao.protocol.contracts.process import OBSERVE, ObserveInput, ObserveOutput
from tongyao.protocol.guards.advice import breaches, strike
from tongyao.protocol.guards.complaints import complaint
from tongyao.protocol.guards.coverage import PairStatements, missing_pairs, ordered
from tongyao.protocol.guards.observation_review import settle_observation
from tongyao.protocol.model.observation import Basis, Observation, ObservationDraft
from tongyao.protocol.model.requests import CatalystRequest
from tongyao.protocol.rules import request_access
from tongyao.protocol.rules.news import concerned, news
from tongyao.records.privacy.texts import text_id
from tongyao.records.process.rounds import ObservationRow, RelationRow


class Observing:
    def __init__(self, deps: Deps) -> None:
        self._deps = deps

    @activity.defn(name=OBSERVE.name)
    async def observe(self, what: ObserveInput) -> ObserveOutput:
        """Observe one round. Without a readable answer every pair is `not_examined` and the verdict is `more`."""
        repositories, calls = self._deps.repositories, self._deps.model_calls
        guards: Counter[str] = Counter()
        async with model_step(repositories, calls, OBSERVE.step, what) as run:
            began = time.monotonic()
            record = (await repositories.record(run.process)).model_copy(update={"round": what.round})
            strategy = await repositories.texts.get(run.settings.strategy) if run.settings.strategy else ""
            make = partial(request_access.for_catalyst, record, strategy=strategy, round_limit=what.round_limit)
            request = await asyncio.to_thread(make)
            question = run.question(request, round=what.round)
            try:
                draft = await calls.ask_and_review(question, partial(_review, request), guards)
            except (Unreadable, Refused, OutOfBudget) as error:
                guards[error.reason] += 1
                draft = ObservationDraft()
            draft, struck = strike(draft)
            guards["struck"] += struck
            observation = settle_observation(draft, request, struck=struck, guards=guards)
            observation = await self._write(what, run.process.epoch, observation, guards, time.monotonic() - began)
        rounds = (*request.exchange[:-1], request.exchange[-1].model_copy(update={"observation": observation}))
        figures = news(rounds)
        return ObserveOutput(
            verdict=observation.verdict,
            news=bool(figures.links),
            new_links=len(figures.links),
            new_quotes=figures.new_quotes,
            concerned=concerned(rounds),
            relations=sum(pair.relation.related and pair.basis is Basis.STATED for pair in observation.pairs),
            inferred=sum(pair.relation.related and pair.basis is Basis.INFERRED for pair in observation.pairs),
            struck=struck,
            out_of_budget=bool(guards[OutOfBudget.reason]),
            spent=await calls.spent(what.process_id),
        )

    async def _write(
        self, what: ObserveInput, epoch: int, observation: Observation, guards: Counter[str], seconds: float
    ) -> Observation:
        """Write it to the record. Returns the one that counts: an earlier attempt's, if that one wrote it."""
        repositories = self._deps.repositories
        stored = text_id("observation", what.process_id, epoch, what.round)
        seen = await repositories.texts.first(
            f"process:{what.process_id}", "observation", observation.model_dump_json(), id=stored
        )
        observation = Observation.model_validate_json(seen)
        await repositories.rounds.put_observation(
            what.process_id,
            ObservationRow(
                round=what.round,
                verdict=observation.verdict,
                text_id=stored,
                chars=len(observation.markdown),
                struck=observation.struck,
                guards={**guards},
                seconds=seconds,
            ),
            [
                RelationRow(round=what.round, a=pair.a, b=pair.b, kind=one.relation, sources=one.sources)
                for pair in observation.pairs
                for one in (pair, pair.second)
                if one is not None
            ],
        )
        return observation


def _review(
    request: CatalystRequest, draft: ObservationDraft
) -> tuple[ObservationDraft, Repair[CatalystRequest, ObservationDraft, ObservationDraft] | None]:
    """Complains of pairs that are missing or cannot stand as they are, and of sentences that a catalyst may not say.

    Only those pairs are asked for again, each once.
    """
    statements = PairStatements(request)
    missing = missing_pairs(draft.pairs, statements.wanted)
    faults = statements.faults(draft.pairs)
    found = breaches(draft)
    if not (missing or faults or found):
        return draft, None
    language = request.language
    complaints = [complaint(language, "missing_pair", a=a, b=b) for a, b in missing]
    complaints += [complaint(language, "pair", a=a, b=b, what=fault) for a, b, fault in faults]
    complaints += [
        complaint(
            language, "sentence", sentence=breach.sentence, words=breach.words, what=complaint(language, breach.reason)
        )
        for breach in found
        if breach.reason
    ]
    wanted = tuple(sorted({*missing, *((a, b) for a, b, _ in faults)}))
    return draft, Repair(
        tuple(complaints),
        partial(_merged, draft, wanted=wanted, reworded=bool(found)),
        request=request.model_copy(update={"only_pairs": wanted}),
        counts={"missing_pairs": len(missing), "faulty_pairs": len(faults), "breaches": len(found)},
    )


def _merged(
    first: ObservationDraft, again: ObservationDraft, wanted: tuple[tuple[str, str], ...], reworded: bool
) -> ObservationDraft:
    """`first` with the `wanted` pairs of `again`; with all that `again` worded anew, if that was asked for as well.

    The verdict stays the first one: a repair is no second chance to end the process.
    """
    asked = set(wanted)
    repaired = {ordered(pair.a, pair.b): pair for pair in again.pairs if reworded or ordered(pair.a, pair.b) in asked}
    kept = [repaired.pop(ordered(pair.a, pair.b), pair) for pair in first.pairs]
    changes: dict[str, object] = {"pairs": [*kept, *repaired.values()]}
    if reworded:
        for name in ("contributions", "translations", "gaps", "ignored", "frameworks", "third_party_value", "markdown"):
            if value := getattr(again, name):
                changes[name] = value
    return first.model_copy(update=changes)

"""The catalyst's turn (docs/protocol.md §5): reads the exchange, makes relations visible, and nothing more."""

from __future__ import annotations

import time
from collections import Counter

from temporalio import activity

from activities import scene_prompts
from activities.dependencies import Deps
from activities.model_calls import model_step
from tongyao.llm.engine import CallKey, Reask
from tongyao.llm.errors import OutOfBudget, Refused, Unreadable
from tongyao.protocol.contracts.process import OBSERVE, ObserveInput, ObserveOutput
from tongyao.protocol.guards.coverage import missing_pairs, settle_observation, unfounded_pairs
from tongyao.protocol.guards.naming import named_alias
from tongyao.protocol.guards.visibility import breaches, strike
from tongyao.protocol.model.observation import Observation, ObservationDraft, PairDraft, all_pairs
from tongyao.protocol.model.record import Record
from tongyao.protocol.model.requests import CatalystRequest
from tongyao.protocol.model.settings import ProcessSettings
from tongyao.protocol.rules import views
from tongyao.records.privacy.texts import text_id
from tongyao.records.process.rounds import ObservationRow, RelationRow

CALL_SECONDS = 4
"""The catalyst reads everybody and may take so many times as long as a proxy."""


class Observing:
    def __init__(self, deps: Deps) -> None:
        self._deps = deps

    @activity.defn(name=OBSERVE.name)
    async def observe(self, what: ObserveInput) -> ObserveOutput:
        """Observe one round. An answer that cannot be read leaves every pair `not_examined` and the verdict `more`."""
        library = self._deps.library
        guards: Counter[str] = Counter()
        async with model_step(library, self._deps.settling, what):
            began = time.monotonic()
            row = await library.processes.get(what.process_id)
            settings = ProcessSettings.model_validate(row.settings)
            record = (await library.record(row)).model_copy(update={"round": what.round})
            strategy = await library.texts.get(settings.strategy) if settings.strategy else ""
            request = views.for_catalyst(record, strategy=strategy)
            draft = await self._drafted(what, request, record, settings.proxy_seconds * CALL_SECONDS, guards)
            draft, struck = strike(draft)
            guards["struck"] += struck
            observation = settle_observation(
                draft,
                round_number=what.round,
                contributors=request.contributors,
                targets=request.tension.target_names(),
                item_texts=record.item_ids(),
                verdict_counts=request.verdict_counts,
                struck=struck,
                earlier=_before(record),
            )
            observation = await self._write(what, observation, guards, time.monotonic() - began)
        return ObserveOutput(
            verdict=observation.verdict,
            relations=sum(pair.relation.related for pair in observation.pairs),
            struck=struck,
            out_of_budget=bool(guards[OutOfBudget.reason]),
            spent=await self._deps.settling.spent(what.process_id),
        )

    async def _drafted(
        self, what: ObserveInput, request: CatalystRequest, record: Record, seconds: float, guards: Counter[str]
    ) -> ObservationDraft:
        """The draft, sent back once for pairs that are missing or stand on nothing, and for what is not the catalyst's."""
        settling = self._deps.settling
        key = CallKey(what.process_id, "observe", round=what.round)
        owner = f"process:{what.process_id}"
        prompt = await scene_prompts.override(self._deps.library, what.process_id, "observe")
        try:
            settled, mended = await settling.readable(
                key,
                lambda engine, call: engine.observe(request, call),
                ObservationDraft,
                request=request,
                owner=owner,
                seconds=seconds,
                prompt_override=prompt,
                units=len(all_pairs(request.contributors)),
            )
        except (Unreadable, Refused, OutOfBudget) as error:
            guards[error.reason] += 1
            return ObservationDraft()
        draft = settled.draft
        missing = missing_pairs(draft.pairs, request.contributors)
        unfounded = unfounded_pairs(draft.pairs, request.contributors, record.item_ids(), _before(record))
        found = breaches(draft)
        if mended or not (missing or unfounded or found):
            return draft
        guards["missing_pairs"] += len(missing)
        guards["unfounded_pairs"] += len(unfounded)
        guards["breaches"] += len(found)
        complaints = [f"the pair {a} and {b} is missing" for a, b in missing]
        complaints += [f"the relation of {a} and {b} cites no item of {without}" for a, b, without in unfounded]
        complaints += [f"{breach.sentence[:120]!r}: {breach.reason}" for breach in found]
        wanted = tuple(sorted((*missing, *((a, b) for a, b, _ in unfounded))))
        mending = request.model_copy(update={"only_pairs": wanted})
        try:
            again = await settling.answer(
                key,
                lambda engine, call: engine.observe(mending, call),
                ObservationDraft,
                request=mending,
                owner=owner,
                seconds=seconds,
                reask=Reask(previous=settled.text, complaints=tuple(complaints)),
                prompt_override=prompt,
                units=len(wanted),
            )
        except (Unreadable, Refused, OutOfBudget) as error:
            guards[error.reason] += 1
            return draft
        return _merged(draft, again.draft, wanted, bool(found))

    async def _write(
        self, what: ObserveInput, observation: Observation, guards: Counter[str], seconds: float
    ) -> Observation:
        """Write it down; returns the one that counts, which is an earlier attempt's if that came so far."""
        library = self._deps.library
        stored = text_id("observation", what.process_id, what.round)
        seen = await library.texts.first(
            f"process:{what.process_id}", "observation", observation.model_dump_json(), id=stored
        )
        observation = Observation.model_validate_json(seen)
        await library.rounds.put_observation(
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
                RelationRow(round=what.round, a=pair.a, b=pair.b, kind=pair.relation, sources=pair.sources)
                for pair in observation.pairs
            ],
        )
        return observation


def _before(record: Record) -> tuple[Observation, ...]:
    return tuple(seen for seen in record.observations if seen.round < record.round)


def _merged(
    first: ObservationDraft, again: ObservationDraft, wanted: tuple[tuple[str, str], ...], reworded: bool
) -> ObservationDraft:
    """`first` with the `wanted` pairs of `again`; with all that `again` worded anew, if that was asked for as well.

    The verdict stays the first one: a mending is no second chance to end the process.
    """
    asked = {frozenset(pair) for pair in wanted}
    mended = {_names(pair): pair for pair in again.pairs if reworded or _names(pair) in asked}
    kept = [mended.pop(_names(pair), pair) for pair in first.pairs]
    changes: dict[str, object] = {"pairs": [*kept, *mended.values()]}
    if reworded:
        for name in ("contributions", "translations", "gaps", "ignored", "frameworks", "third_party_value", "markdown"):
            if value := getattr(again, name):
                changes[name] = value
    return first.model_copy(update=changes)


def _names(pair: PairDraft) -> frozenset[str]:
    return frozenset((named_alias(pair.a), named_alias(pair.b)))

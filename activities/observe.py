"""The catalyst's observation of a round (docs/protocol.md §5)."""

from __future__ import annotations

import time
from collections import Counter
from functools import partial

from temporalio import activity

from activities.dependencies import Deps
from activities.model_calls import Repair, model_step
from tongyao.llm.errors import OutOfBudget, Refused, Unreadable
from tongyao.protocol.contracts.process import OBSERVE, ObserveInput, ObserveOutput
from tongyao.protocol.guards.coverage import missing_pairs, settle_observation, unfounded_pairs
from tongyao.protocol.guards.naming import named_alias
from tongyao.protocol.guards.visibility import breaches, strike
from tongyao.protocol.model.observation import Observation, ObservationDraft, PairDraft
from tongyao.protocol.model.record import Record
from tongyao.protocol.model.requests import CatalystRequest
from tongyao.protocol.rules import views
from tongyao.records.privacy.texts import text_id
from tongyao.records.process.rounds import ObservationRow, RelationRow


class Observing:
    def __init__(self, deps: Deps) -> None:
        self._deps = deps

    @activity.defn(name=OBSERVE.name)
    async def observe(self, what: ObserveInput) -> ObserveOutput:
        """Observe one round. Without a readable answer every pair is `not_examined` and the verdict is `more`."""
        library, calls = self._deps.library, self._deps.model_calls
        guards: Counter[str] = Counter()
        async with model_step(library, calls, OBSERVE.step, what) as run:
            began = time.monotonic()
            record = (await library.record(run.process)).model_copy(update={"round": what.round})
            strategy = await library.texts.get(run.settings.strategy) if run.settings.strategy else ""
            request = views.for_catalyst(record, strategy=strategy)
            question = run.question(request, round=what.round)
            try:
                draft = await calls.ask_and_review(question, partial(_review, request, record), guards)
            except (Unreadable, Refused, OutOfBudget) as error:
                guards[error.reason] += 1
                draft = ObservationDraft()
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
            observation = await self._write(what, run.process.epoch, observation, guards, time.monotonic() - began)
        return ObserveOutput(
            verdict=observation.verdict,
            relations=sum(pair.relation.related for pair in observation.pairs),
            struck=struck,
            out_of_budget=bool(guards[OutOfBudget.reason]),
            spent=await calls.spent(what.process_id),
        )

    async def _write(
        self, what: ObserveInput, epoch: int, observation: Observation, guards: Counter[str], seconds: float
    ) -> Observation:
        """Write it to the record. Returns the one that counts: an earlier attempt's, if that one wrote it."""
        library = self._deps.library
        stored = text_id("observation", what.process_id, epoch, what.round)
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


def _review(
    request: CatalystRequest, record: Record, draft: ObservationDraft
) -> tuple[ObservationDraft, Repair[CatalystRequest, ObservationDraft, ObservationDraft] | None]:
    """Complains of pairs that are missing or rest on no item, and of sentences that a catalyst may not say.

    Only those pairs are asked for again.
    """
    missing = missing_pairs(draft.pairs, request.contributors)
    unfounded = unfounded_pairs(draft.pairs, request.contributors, record.item_ids(), _before(record))
    found = breaches(draft)
    if not (missing or unfounded or found):
        return draft, None
    complaints = [f"the pair {a} and {b} is missing" for a, b in missing]
    complaints += [f"the relation of {a} and {b} cites no item of {without}" for a, b, without in unfounded]
    complaints += [f"{breach.sentence[:120]!r}: {breach.reason}" for breach in found]
    wanted = tuple(sorted((*missing, *((a, b) for a, b, _ in unfounded))))
    return draft, Repair(
        complaints=tuple(complaints),
        merge=lambda again: _merged(draft, again, wanted, bool(found)),
        request=request.model_copy(update={"only_pairs": wanted}),
        counts={"missing_pairs": len(missing), "unfounded_pairs": len(unfounded), "breaches": len(found)},
    )


def _before(record: Record) -> tuple[Observation, ...]:
    return tuple(seen for seen in record.observations if seen.round < record.round)


def _merged(
    first: ObservationDraft, again: ObservationDraft, wanted: tuple[tuple[str, str], ...], reworded: bool
) -> ObservationDraft:
    """`first` with the `wanted` pairs of `again`; with all that `again` worded anew, if that was asked for as well.

    The verdict stays the first one: a repair is no second chance to end the process.
    """
    asked = {frozenset(pair) for pair in wanted}
    repaired = {_names(pair): pair for pair in again.pairs if reworded or _names(pair) in asked}
    kept = [repaired.pop(_names(pair), pair) for pair in first.pairs]
    changes: dict[str, object] = {"pairs": [*kept, *repaired.values()]}
    if reworded:
        for name in ("contributions", "translations", "gaps", "ignored", "frameworks", "third_party_value", "markdown"):
            if value := getattr(again, name):
                changes[name] = value
    return first.model_copy(update=changes)


def _names(pair: PairDraft) -> frozenset[str]:
    return frozenset((named_alias(pair.a), named_alias(pair.b)))

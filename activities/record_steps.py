"""Steps of a process that only read and write the records. They make no model calls and no searches."""

from __future__ import annotations

from temporalio import activity

from activities.dependencies import Deps
from activities.record import write_outbox
from tongyao.protocol.contracts.process import (
    BRANCH,
    CANCEL_CHILDREN,
    CHECK_DEADLINE,
    CONSENT,
    RECORD,
    REMEMBER,
    BranchInput,
    BranchOutput,
    CancelChildrenInput,
    CheckDeadlineInput,
    CheckDeadlineOutput,
    ConsentInput,
    ConsentOutput,
    RecordInput,
    RememberInput,
)
from tongyao.protocol.guards.quoting import find_pieces
from tongyao.protocol.model.projection import EndpointKind
from tongyao.protocol.model.record import Record
from tongyao.protocol.rules.consent import consents_of
from tongyao.records.process.announcements import NotAnnounced, announce_child
from tongyao.records.process.lineage import cancel_children


class RecordSteps:
    """Each step writes the outbox first. All steps are idempotent."""

    def __init__(self, deps: Deps) -> None:
        self._deps, self._repositories = deps, deps.repositories

    @activity.defn(name=RECORD.name)
    async def record(self, what: RecordInput) -> None:
        """Write the outbox. The workflow wants this step if no other step follows soon."""
        await write_outbox(self._repositories, what)

    @activity.defn(name=CHECK_DEADLINE.name)
    async def check_deadline(self, what: CheckDeadlineInput) -> CheckDeadlineOutput:
        """Return whether these lanes have stored messages without a verdict, and for how many seconds since `since` no
        gateway ran (docs/protocol.md §3.3).

        Messages that were set aside are ignored.
        """
        await write_outbox(self._repositories, what)
        return CheckDeadlineOutput(
            undelivered=await self._repositories.messages.undelivered(what.process_id, what.lanes),
            shut_seconds=await self._repositories.door.shut_seconds(what.process_id, what.since),
        )

    @activity.defn(name=CONSENT.name)
    async def consent(self, what: ConsentInput) -> ConsentOutput:
        """Look up the consents of the chosen people in this scene, and the quotas (docs/protocol.md §3.11)."""
        repositories, quotas = self._repositories, self._deps.consent_quotas
        await write_outbox(repositories, what)
        row = await repositories.processes.get(what.process_id)
        people = [choice.profile_id for choice in what.choices]
        await repositories.shared.publish_tension(row)
        await repositories.shared.hide_people(row, [row.demander, *people])
        by_hand = [choice.profile_id for choice in what.choices if choice.endpoint is not EndpointKind.PROXY]
        return consents_of(
            what,
            await repositories.consents.standing(people, row.scene_id or ""),
            over_quota=(
                *await repositories.consents.over_quota(row.demander, people, quotas),
                *await repositories.consents.chosen_too_often(row.demander, by_hand, quotas),
            ),
            may_ask=quotas.demander_per_day - await repositories.consents.asked_by(row.demander),
        )

    @activity.defn(name=BRANCH.name)
    async def branch(self, what: BranchInput) -> BranchOutput:
        """Insert the row of the child process for one residual, before the workflow starts the child. The id of the
        child is derived from the residual (docs/protocol.md §3.6)."""
        await write_outbox(self._repositories, what)
        least = self._deps.model_calls.minimum_budget()
        try:
            child = await announce_child(
                self._repositories, what.process_id, what.residual, tokens=least.tokens, cost=least.cost
            )
        except NotAnnounced as refused:
            return BranchOutput(reason=refused.reason)
        return BranchOutput(child=child)

    @activity.defn(name=CANCEL_CHILDREN.name)
    async def cancel_children(self, what: CancelChildrenInput) -> None:
        """Send `cancel` to every child process that has not ended, including children that were never started."""
        await write_outbox(self._repositories, what)
        await cancel_children(self._repositories.pool, what.process_id)

    @activity.defn(name=REMEMBER.name)
    async def remember(self, what: RememberInput) -> None:
        """Strengthen, in the indexes of the participants' long profiles, the passages that their items quote. The parts
        of the tension are the queries (docs/highway.md)."""
        await write_outbox(self._repositories, what)
        memory, record = self._deps.memory, await self._repositories.record(what.process_id, own=what.aliases)
        if memory is None or record.tension is None:
            return
        queries = tuple(record.tension.targets().values())
        profiles = {alias: profile for alias in what.aliases if (profile := record.participant(alias).profile)}
        texts = await self._repositories.profile_texts(list(profiles.values()))
        for alias, profile in profiles.items():
            if profile in texts and (spans := _quoted(record, alias, texts[profile])):
                await memory.strengthen(profile, what.process_id, queries, spans)


def _quoted(record: Record, alias: str, text: str) -> list[tuple[int, int]]:
    """Return the spans, sorted, of the passages of `text` that items of `alias` quote."""
    said = (turn for turn in record.projections if turn.alias == alias)
    quotes = {quote for turn in said for item in turn.items for quote in item.quotes}
    return sorted({span for quote in quotes for span in find_pieces(text, quote)})

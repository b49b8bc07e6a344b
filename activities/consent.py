"""Finds the people who must be asked for consent before they get a seat (docs/protocol.md §3.11)."""

from __future__ import annotations

from temporalio import activity

from activities.record import write_outbox
from tongyao.protocol.contracts.process import CONSENT, ConsentInput, ConsentOutput
from tongyao.protocol.model.projection import EndpointKind
from tongyao.protocol.rules.consent import consents_of
from tongyao.records.people.consents import ConsentQuotas
from tongyao.records.repositories import Repositories


class Consenting:
    def __init__(self, repositories: Repositories, quotas: ConsentQuotas) -> None:
        self._library, self._quotas = repositories, quotas

    @activity.defn(name=CONSENT.name)
    async def consent(self, what: ConsentInput) -> ConsentOutput:
        """Look up what the chosen have decided for this scene, and whether they were asked too often."""
        repositories, quotas = self._library, self._quotas
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

"""The current plan with its answers, as far as the reader may know them, and its changes for one participant. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tongyao.protocol.documents.plan_answers import GivenAnswer, OwnAnswer
from tongyao.protocol.documents.plan_page import plan_markdown
from tongyao.protocol.model.plan import Delivery, Plan
from tongyao.protocol.model.process import DEMANDER, Phase
from tongyao.protocol.model.projection import EndpointKind
from tongyao.protocol.model.record import EarlierAnswer, Record
from tongyao.protocol.model.value import Value


def asked_about(record: Record) -> tuple[str, ...]:
    """Return the aliases that are asked to answer the current plan, in order: seats with a delivery, including a
    demander."""
    if not record.plans:
        return ()
    latest = record.plans[-1].revision
    given = {delivery.alias for delivery in record.deliveries if delivery.plan_revision == latest}
    seated = {participant.alias for participant in record.participants}
    return tuple(sorted((given | set(record.answers)) - ({DEMANDER} - seated)))


def own_answer(record: Record, alias: str) -> OwnAnswer | None:
    """Return the state of this person's answer to the current plan (docs/protocol.md §7.5); None without a delivery."""
    latest = record.plans[-1].revision if record.plans else 0
    if not any((delivery.alias, delivery.plan_revision) == (alias, latest) for delivery in record.deliveries):
        return None
    if alias in record.answers:
        return "given"
    if record.phase in (Phase.PLANNING, Phase.DELIVERING):
        return "later"
    seat = next((participant for participant in record.participants if participant.alias == alias), None)
    by_proxy = seat is not None and seat.endpoint is EndpointKind.PROXY
    if record.phase is not Phase.ANSWERING or seat is None or not seat.active:
        return "unasked" if by_proxy and seat is not None and seat.active else "over"
    return "possible" if by_proxy else "asked"


def answers_now(record: Record) -> dict[str, str]:
    """Return the answers to the current plan, by alias. The answer of a person who was erased since is `erased`."""
    gone = {participant.alias for participant in record.participants if participant.erased}
    return {alias: "erased" if alias in gone else answer for alias, answer in record.answers.items()}


def given_answers(
    asked: Sequence[str], answers: Mapping[str, str], words: Mapping[str, str], identities: Mapping[str, str]
) -> tuple[GivenAnswer, ...]:
    """Return the answer of each participant who is asked. Decisions, words and names are by alias, as readable."""
    return tuple(
        GivenAnswer(
            alias=alias,
            decision=answers.get(alias, ""),
            words=words.get(alias, ""),
            name=identities.get(alias, ""),
        )
        for alias in asked
    )


def answered_plan(record: Record, answers: Sequence[GivenAnswer], earlier: Sequence[EarlierAnswer]) -> Plan | None:
    """Return the last plan under aliases. Its Markdown states `answers`, and `earlier` answers to replaced plans."""
    if not record.plans:
        return None
    plan = record.plans[-1]
    return plan.model_copy(update={"markdown": plan_markdown(plan, answers, earlier)}) if answers or earlier else plan


class DeliveryChanges(Value):
    """Sentences on requests, gains and conditions that only the last delivery has, or only the one before it."""

    added: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()


def delivery_changes(deliveries: Sequence[Delivery], alias: str) -> DeliveryChanges | None:
    """Return the changes; None if this participant has no earlier delivery. `deliveries`: oldest first."""
    mine = [_sentences(delivery) for delivery in deliveries if delivery.alias == alias]
    if len(mine) < 2:
        return None
    before, now = mine[-2:]
    return DeliveryChanges(
        added=tuple(sentence for sentence in now if sentence not in before),
        dropped=tuple(sentence for sentence in before if sentence not in now),
    )


def _sentences(delivery: Delivery) -> tuple[str, ...]:
    claims = (*delivery.asked, *delivery.gains, *delivery.conditions)
    return tuple(dict.fromkeys(claim.text for claim in claims if claim.text.strip()))

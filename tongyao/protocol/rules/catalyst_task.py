"""What the catalyst is told about the round besides the exchange: counted by code from the exchange (docs/protocol.md §5.6). Pure."""

from __future__ import annotations

from tongyao.protocol.guards.advice import Remark, remarks
from tongyao.protocol.model.observation import Note, Pair
from tongyao.protocol.model.requests import CatalystRequest
from tongyao.protocol.model.value import Value
from tongyao.protocol.rules.news import News, items_that_can_be_news, news
from tongyao.protocol.rules.relations import (
    Names,
    items_of,
    last_observation,
    observations_of,
    open_framework,
    standing,
    to_examine,
    untouched,
)


class CatalystTask(Value):
    """The task of one round."""

    examine: tuple[Names, ...]
    """Pairs that the answer must hold."""
    carried: tuple[Pair, ...]
    """The relations of all other pairs, as they stand."""
    untouched: tuple[str, ...]
    """Parts of the tension that no item is aimed at."""
    framework: Note | None
    """The framework that was answered in this round and stays open."""
    news: tuple[News, ...]
    """The figures of every round so far; the last one is the round to observe, whose links are not stated yet."""
    can_be_news: tuple[str, ...]
    """The items of the round to observe on which news can rest, in order. Empty if all of its items are such."""
    not_taken: tuple[str, ...]
    """What of the last answer was not taken over, and why, a sentence each."""
    remarks: tuple[Remark, ...]
    """Sentences of the last observation that may have gone beyond what is visible."""


def catalyst_task(request: CatalystRequest) -> CatalystTask:
    rounds = request.exchange
    earlier = rounds[:-1]
    examine = request.only_pairs or to_examine(rounds, request.contributors)
    ledger = standing(observations_of(earlier))
    last = last_observation(earlier)
    said = [item.id for item in items_of(rounds[-1:])]
    can_be_news = items_that_can_be_news(rounds)
    return CatalystTask(
        examine=examine,
        carried=tuple(pair for names, pair in sorted(ledger.items()) if names not in examine),
        untouched=untouched(request.tension.target_names(), rounds),
        framework=open_framework(rounds),
        news=tuple(news(rounds[:number]) for number in range(1, len(rounds) + 1)),
        can_be_news=tuple(id for id in said if id in can_be_news) if len(can_be_news) < len(said) else (),
        not_taken=last.not_taken if last is not None else (),
        remarks=remarks(last) if last is not None else (),
    )

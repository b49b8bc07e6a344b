"""No invention: every fact carries a verbatim span of what its owner wrote or said (docs/protocol.md §4.4). Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Literal

from tongyao.protocol.guards.complaints import complaint
from tongyao.protocol.guards.forbidden import Forbidden
from tongyao.protocol.guards.naming import named_ids, named_targets
from tongyao.protocol.guards.quoting import Shown
from tongyao.protocol.model.projection import Item, ItemDraft, Span, item_id
from tongyao.protocol.model.requests import Language
from tongyao.protocol.model.value import Value


class Checked(Value):
    """Items that stand, and for every one that does not: its draft and what is wrong with it."""

    items: tuple[Item, ...]
    rejected: tuple[tuple[ItemDraft, str], ...] = ()


def check_items(
    drafts: Sequence[ItemDraft],
    *,
    text: str,
    shown: Sequence[tuple[int, int]] = (),
    source: Literal["profile", "words"],
    round_number: int,
    alias: str,
    targets: Collection[str],
    known_ids: Collection[str] = (),
    answerable: Collection[str] = (),
    never: Sequence[str] = (),
    language: Language = "en",
    first_number: int = 1,
) -> Checked:
    """Turn drafts into items, numbered from `first_number`.

    - A fact needs at least one quote that stands in `text` (see `quoting` for what may differ). `shown`: the spans of it that the speaker
      was shown; empty: the whole.
    - An inference keeps the quotes that stand and the ids it may know, and is never rejected for lacking them.
    - `withdraws` keeps the ids among `known_ids`. What is wrong with an item is said in `language`.
    - `answers` keeps the ids among `answerable`. Targets the tension does not have are dropped; an item with a phrase of `never` in it is rejected.
    """
    items: list[Item] = []
    read, forbidden = Shown(text, shown), Forbidden(never)
    rejected: list[tuple[ItemDraft, str]] = []
    for draft in drafts:
        problem = _problem(draft, read, forbidden, language)
        if problem:
            rejected.append((draft, problem))
            continue
        items.append(
            Item(
                id=item_id(round_number, alias, first_number + len(items)),
                dimension=draft.dimension,
                premise=draft.premise.strip(),
                claim=draft.claim.strip(),
                targets=named_targets(draft.targets, targets),
                spans=tuple(
                    Span(source=source, start=start, end=end)
                    for quote in draft.quotes
                    for start, end in read.find_pieces(quote)
                ),
                inferred=draft.inferred,
                starts_from=named_ids(draft.starts_from, known_ids),
                mapping=tuple(step.strip() for step in draft.mapping if step.strip()),
                answers=named_ids(draft.answers, answerable),
                withdraws=named_ids(draft.withdraws, known_ids),
            )
        )
    return Checked(items=tuple(items), rejected=tuple(rejected))


def _problem(draft: ItemDraft, read: Shown, never: Forbidden, language: Language) -> str:
    if not draft.claim.strip():
        return complaint(language, "empty_claim")
    if never.stands_in(draft.premise, draft.claim, *draft.mapping) or never.stands_in(*draft.quotes):
        return complaint(language, "disclosed")
    if draft.inferred:
        return ""
    if not draft.quotes:
        return complaint(language, "no_quote")
    missing = [quote for quote in draft.quotes if not read.find_pieces(quote)]
    if len(missing) == len(draft.quotes):
        return complaint(language, "quote_not_found", quote=missing[0].strip())
    return ""

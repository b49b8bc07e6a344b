"""No invention: every fact carries a verbatim span of what its owner wrote or said (docs/protocol.md §4.4). Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Literal

from tongyao.protocol.projection import Item, ItemDraft, Span, item_id
from tongyao.protocol.value import Value

_SPACE = re.compile(r"\s+")


class Checked(Value):
    """Items that stand, and for every one that does not: its draft and what is wrong with it."""

    items: tuple[Item, ...]
    rejected: tuple[tuple[ItemDraft, str], ...] = ()


def check_items(
    drafts: Sequence[ItemDraft],
    *,
    text: str,
    source: Literal["profile", "words"],
    round_number: int,
    alias: str,
    targets: Collection[str],
    known_ids: Collection[str] = (),
    never: Sequence[str] = (),
    first_number: int = 1,
) -> Checked:
    """Turn drafts into items, numbered from `first_number`.

    - A fact needs at least one quote that stands in `text` (white space may differ: lines are wrapped somewhere).
    - An inference keeps the quotes that stand and the ids it may know, and is never rejected for lacking them.
    - Targets the tension does not have are dropped; an item with a phrase of `never` in it is rejected.
    """
    items: list[Item] = []
    rejected: list[tuple[ItemDraft, str]] = []
    for draft in drafts:
        problem = _problem(draft, text, never)
        if problem:
            rejected.append((draft, problem))
            continue
        items.append(
            Item(
                id=item_id(round_number, alias, first_number + len(items)),
                dimension=draft.dimension,
                claim=draft.claim.strip(),
                targets=tuple(dict.fromkeys(target for target in draft.targets if target in targets)),
                spans=tuple(
                    Span(source=source, start=start, end=end)
                    for start, end in (find_quote(text, quote) or (0, 0) for quote in draft.quotes)
                    if end > start
                ),
                inferred=draft.inferred,
                starts_from=tuple(known for known in draft.starts_from if known in known_ids),
                mapping=tuple(step.strip() for step in draft.mapping if step.strip()),
            )
        )
    return Checked(items=tuple(items), rejected=tuple(rejected))


def find_quote(text: str, quote: str) -> tuple[int, int] | None:
    """Where `quote` stands in `text`, as (start, end) in characters; None when it does not. White space is folded."""
    wanted = quote.strip()
    if not wanted:
        return None
    exact = text.find(wanted)
    if exact >= 0:
        return exact, exact + len(wanted)
    if not _SPACE.search(wanted):
        return None
    # Two plain searches instead of one pattern: a pattern of many words and `\s+` backtracks for hours on a long text.
    at = _SPACE.sub(" ", text).find(folded := _SPACE.sub(" ", wanted))
    return None if at < 0 else (_unfolded(text, at), _unfolded(text, at + len(folded) - 1) + 1)


def _unfolded(text: str, folded_at: int) -> int:
    """Where the character at `folded_at` of the folded text stands in `text`."""
    surplus = 0
    for run in _SPACE.finditer(text):
        if run.start() - surplus >= folded_at:
            break
        surplus += run.end() - run.start() - 1
    return folded_at + surplus


def _problem(draft: ItemDraft, text: str, never: Sequence[str]) -> str:
    if not draft.claim.strip():
        return "the claim is empty"
    shown = "\n".join((draft.claim, *draft.quotes, *draft.mapping)).casefold()
    if any(phrase.strip() and phrase.strip().casefold() in shown for phrase in never):
        return "it discloses what its owner does not let the proxy speak of"
    if draft.inferred:
        return ""
    if not draft.quotes:
        return "a fact without a quote: quote it word for word, or mark it as inferred and name what it starts from"
    missing = [quote for quote in draft.quotes if find_quote(text, quote) is None]
    if len(missing) == len(draft.quotes):
        return f"this quote is not in the source: {missing[0][:120]!r}"
    return ""

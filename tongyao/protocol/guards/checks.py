"""Checks of a model's answer: find faults, merge the second answer, strike the remaining faults. Pure.

A check is a function that takes an answer and its request, and yields complaints. Each step has a tuple of checks. The
loop that asks the model, `activities.llm.model_calls.ModelCalls.ask_and_review`, is the same for all steps.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from tongyao.protocol.model.requests import Language
from tongyao.protocol.model.steps import DraftT, RequestT
from tongyao.protocol.model.value import Draft, Value
from tongyao.texts.catalogue import table

_SENTENCE: Final = re.compile(
    r"(?:“[^“”\n]{0,400}”|「[^「」\n]{0,400}」|『[^『』\n]{0,400}』|\.(?=\S)|[^.。！？!?；;\n])*"
    r"(?:[。！？!?；;\n]+|\.+(?:\s+|$)|$)"
)
"""One sentence with its final marks. No sentence ends inside quotation marks or at a full stop in a number."""


class Complaint(Value):
    """One fault of an answer.

    `text`: the words for the model, in the language of its request. If empty, the fault is struck without asking again.
    `reason`: the name under which the fault is counted.
    `fields`: fields of the draft that the model must give again; empty: the whole answer. A fault without a field is
    never struck.
    `entry`: the position in the list `fields[0]`. None: the whole field, or a missing part.
    `sentence`: the faulty sentence of that entry or field, as `sentences` returns it; empty: all of it.
    """

    text: str
    reason: str
    fields: tuple[str, ...] = ()
    entry: int | None = None
    sentence: str = ""


_WORDS: Final = table("protocol", "complaints")


def complaint(language: Language, fault: str, **named: object) -> str:
    """Return the text of a complaint with these values. Raises `KeyError` for an unknown fault or a missing value."""
    return _WORDS[language][fault].format(**named)


Check = Callable[[DraftT, RequestT], Iterable[Complaint]]
Checks = Sequence[Check[DraftT, RequestT]]


def sentences(text: str) -> list[str]:
    """Split `text` into sentences, each with its final marks and white space. Joined, they are `text`."""
    return [match.group() for match in _SENTENCE.finditer(text) if match.group()]


def complaints_of(draft: DraftT, request: RequestT, checks: Checks[DraftT, RequestT]) -> tuple[Complaint, ...]:
    """Return the complaints of all checks, in the order of the checks."""
    return tuple(complaint for check in checks for complaint in check(draft, request))


def merged(first: DraftT, second: DraftT, complaints: Sequence[Complaint]) -> DraftT:
    """Return `first` with the repaired parts of `second`. `complaints`: those about `first`.

    A complaint without fields replaces the whole answer. In a list, the faulty entries are removed, and the entries of
    `second` are put at the place of the first one. New entries equal to kept entries are left out. A faulty text is
    replaced. All other fields come from `first`, so a verdict without a complaint does not change.
    """
    if any(complaint.text and not complaint.fields for complaint in complaints):
        return second
    changes: dict[str, Any] = {}
    for name in {field for complaint in complaints for field in complaint.fields if complaint.text}:
        old, new = getattr(first, name), getattr(second, name)
        if isinstance(old, list):
            faulty = {complaint.entry for complaint in complaints if complaint.text and complaint.fields[:1] == (name,)}
            kept = {number: entry for number, entry in enumerate(old) if number not in faulty}
            at = min((number for number in faulty if number is not None), default=len(old))
            mended = [entry for entry in new if entry not in kept.values()]
            new = [*(kept[n] for n in kept if n < at), *mended, *(kept[n] for n in kept if n > at)]
        changes[name] = new
    return first.model_copy(update=changes)


def strike(draft: DraftT, complaints: Sequence[Complaint]) -> tuple[DraftT, int]:
    """Return `draft` without the entries, texts and sentences that `complaints` name, and the number of struck parts.

    An entry whose `text` has no sentence left is struck completely.
    """
    changes: dict[str, Any] = {}
    struck = 0
    for name in {complaint.fields[0]: None for complaint in complaints if complaint.fields}:
        named = [complaint for complaint in complaints if complaint.fields[:1] == (name,)]
        value = getattr(draft, name)
        if isinstance(value, list):
            kept = []
            for number, entry in enumerate(value):
                left, gone = _struck(entry, [complaint for complaint in named if complaint.entry == number])
                struck += gone
                kept += [] if left is None else [left]
            changes[name] = kept
        else:
            left, gone = _struck(value, named)
            struck += gone
            changes[name] = left or ""
    return draft.model_copy(update=changes), struck


def _struck(value: Any, complaints: Sequence[Complaint]) -> tuple[Any, int]:
    """Return the rest of an entry or a text, None if nothing is left, and the number of struck parts."""
    if not complaints:
        return value, 0
    faulty = {complaint.sentence for complaint in complaints}
    if "" in faulty:
        return None, 1
    texts = {"": value} if isinstance(value, str) else _texts(value)
    left = {
        name: "".join(part for part in sentences(text) if part not in faulty).strip() for name, text in texts.items()
    }
    if isinstance(value, str):
        return left[""] or None, len(faulty)
    nothing = "text" in left and not left["text"]
    return None if nothing else value.model_copy(update=left), len(faulty)


def _texts(entry: Any) -> dict[str, str]:
    """Return the free texts of an entry, by field."""
    if not isinstance(entry, Draft):
        return {}
    return {name: getattr(entry, name) for name in type(entry).model_fields if type(getattr(entry, name)) is str}

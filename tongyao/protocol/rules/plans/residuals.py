"""Residual tensions: holes after a decline, texts for another room, duplicates in a tree (docs/plans.md). Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from math import sqrt
from typing import Final

from tongyao.protocol.model.ids import ALIAS
from tongyao.protocol.model.plan import Plan, Residual
from tongyao.protocol.model.requests import Language, known_language
from tongyao.protocol.model.tension import MISSING, Lineage, Tension, TensionDraft, from_draft, within_limits
from tongyao.protocol.model.unicode_text import normalized
from tongyao.texts.catalogue import table

NEAR: Final = 0.8
"""Least similarity at which a residual counts as a duplicate in its lineage (measured: tests/plans/test_lineage.py)."""

_CJK = r"\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u3040-\u30ff\uac00-\ud7af"
_RUN = re.compile(rf"[{_CJK}]+|[^\W_{_CJK}]+")
_IS_CJK = re.compile(rf"[{_CJK}]")


_HOLE: Final = table("protocol", "hole")
_NAMELESS: Final = table("protocol", "another_room")
"""Words in place of aliases of another room: for P00, then for the others in order of occurrence."""


def title_for_another_room(title: str, language: Language) -> str:
    """Return the title of a residual without the aliases of its process."""
    return _nameless(title, language, {})


def _nameless(text: str, language: Language, called: dict[str, str]) -> str:
    """`called`: the words chosen so far, by alias. Aliases of this text are added to it."""
    demander, *words = _NAMELESS[language].values()
    called.setdefault("P00", demander)
    for alias in ALIAS.findall(text):
        called.setdefault(alias, words[min(len(called), len(words)) - 1])
    return ALIAS.sub(lambda found: called[found[0]], text)


def for_another_room(tension: Tension) -> Tension:
    """Return `tension` without the aliases of its process, because in a child's room they belong to other people."""
    called: dict[str, str] = {}

    def said(text: str) -> str:
        return _nameless(text, tension.language, called)

    draft = TensionDraft(
        transition=said(tension.transition),
        initial_state=said(tension.initial_state),
        barriers=[said(barrier) for barrier in tension.barriers],
        exchange=said(tension.exchange),
    )
    there = from_draft(within_limits(draft), language=tension.language)
    return there.model_copy(update={"lineage": tension.lineage})


def duplicate_of(tension: Tension, lineage: Mapping[str, Tension]) -> str | None:
    """Return the id of the process in `lineage` with a nearly equal tension; None if there is none."""
    found = [(likeness(tension, asked), process) for process, asked in sorted(lineage.items())]
    nearest, process = max(found, default=(0.0, ""), key=lambda pair: pair[0])
    return process if nearest >= NEAR else None


def likeness(a: Tension, b: Tension) -> float:
    """Return the similarity of the wordings of two tensions, 0 to 1: the larger cosine of T, and of T and B together.

    I and E are left out, because a child inherits them from its parent. Paraphrases are not recognised.
    """
    changes = cosine(_change(a), _change(b))
    wholes = cosine(_change(a) + _hindrances(a), _change(b) + _hindrances(b))
    return max(changes, wholes)


def cosine(a: Mapping[str, int], b: Mapping[str, int]) -> float:
    """Return the cosine of two counts; 0 if one is empty."""
    dot = sum(count * b.get(gram, 0) for gram, count in a.items())
    norms = sqrt(sum(n * n for n in a.values())) * sqrt(sum(n * n for n in b.values()))
    return dot / norms if norms else 0.0


def grams(text: str) -> Counter[str]:
    """Count character n-grams, case and width folded: pairs in CJK runs, triples in all
    other words, with a space added at both ends of each word."""
    counts: Counter[str] = Counter()
    for run in _RUN.findall(normalized("NFKC", text).casefold()):
        size, padded = (2, run) if _IS_CJK.match(run) else (3, f" {run} ")
        counts.update(padded[at : at + size] for at in range(max(1, len(padded) - size + 1)))
    return counts


def _change(tension: Tension) -> Counter[str]:
    return grams(tension.transition)


def _hindrances(tension: Tension) -> Counter[str]:
    return grams(" ".join(barrier for barrier in tension.barriers if barrier != MISSING))


def hole_title(alias: str, language: str) -> str:
    return _HOLE[known_language(language)]["title"].format(alias=alias)


def hole(plan: Plan, alias: str, tension: Tension, lineage: Lineage) -> Residual | None:
    """Return the part of `alias`, who declines `plan`, as a residual (docs/protocol.md §7.7); None without a task.

    T and B are their tasks, I the tasks that wait for theirs, E the exchange of `tension`, the process's own.
    """
    words = _HOLE[known_language(plan.language)]
    mine = [task for task in plan.tasks if task.assignee == alias and not task.question]
    if not mine:
        return None
    ids = {task.id for task in mine}
    waiting = [task.title for task in plan.tasks if task.assignee != alias and ids & set(task.prerequisites)]
    stands = [words["stands"]] + ([words["waits"].format(tasks=words["between"].join(waiting))] if waiting else [])
    stands += [tension.initial_state] if tension.initial_state != MISSING else []
    draft = TensionDraft(
        transition=words["change"].format(what=words["between"].join(task.title for task in mine)),
        initial_state=" ".join(stands),
        barriers=[words["gone"].format(what=task.title) for task in mine[:2]],
        exchange=tension.exchange,
    )
    left = from_draft(within_limits(draft), language=tension.language)
    return Residual(
        id=lineage.residual,
        title=hole_title(alias, plan.language),
        tension=left.model_copy(update={"lineage": lineage}),
        sources=tuple(dict.fromkeys(source for task in mine for source in task.sources)),
    )

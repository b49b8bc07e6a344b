"""Removes an erased person from the stored parts of a process (docs/erasure.md). Pure.

The person's items are removed. Every other element is removed if it rests only on these items or mentions the person's
alias. Texts are not searched for the person's words. Names in texts for others are already replaced by marks. Other
people's own words belong to these other people.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from tongyao.protocol.documents.plan_page import plan_markdown
from tongyao.protocol.model.ids import child_id
from tongyao.protocol.model.observation import Ended, Observation, Statement
from tongyao.protocol.model.plan import Claim, Plan, PlanRole, Residual, Task
from tongyao.protocol.model.process import DEMANDER
from tongyao.protocol.model.tension import MISSING, Tension

ERASED: Final = "[erased]"
ERASED_ZH: Final = "[已抹去]"
_ITEM: Final = re.compile(r"(?:(?P<process>.+)/)?(?:R\d+/(?P<alias>P\d{2,3})/\d+|(?P<line>T/\w+))")
_ALIAS: Final = re.compile(r"(?<![A-Za-z0-9])P\d{2,3}(?![A-Za-z0-9])")
_LINES: Final = re.compile(r"[TIE]|B\d+")


class Erasure:
    """Removes one person from one process."""

    def __init__(self, process_id: str, seats: Mapping[str, str], fallen: Iterable[str] = ()) -> None:
        """
        Args:
            seats: process id → the person's alias, for every process of the tree in which the person takes part.
            fallen: ids (`ids.child_id`) of the child processes whose residuals rested only on the person's items.
        """
        self._process, self._seats = process_id, dict(seats)
        self.alias = self._seats.get(process_id, "")
        self._fallen = frozenset(fallen)
        self._gone = set[str]()
        """Ids of the removed relations, notes and lines of the tension of this process."""

    def _names(self, text: str) -> bool:
        """Whether `text` mentions the person's alias in this process."""
        return self.alias != DEMANDER and self.alias in _ALIAS.findall(text)

    def is_theirs(self, item_id: str) -> bool:
        """Whether the id names an item of the person, a removed element, or a line of an erased demander's tension."""
        match = _ITEM.fullmatch(item_id)
        if match is None:
            return item_id in self._gone
        return item_id in self._gone or self._seats.get(match["process"] or self._process) == (
            match["alias"] or DEMANDER
        )

    def observation(self, seen: Observation) -> Observation:
        """Return the observation without the person. Its `words` are removed, because they concern all participants.

        If a removed statement had replaced earlier statements, these are ended. Otherwise they would be valid again.
        """
        relations = tuple(relation for relation in seen.relations if not self._falls(relation, relation.between))
        notes = tuple(note for note in seen.notes if not self._falls(note, (*note.about, note.asks)))
        stays = {*(relation.id for relation in relations), *(note.id for note in notes)}
        fallen = [statement for statement in seen.statements if statement.id not in stays]
        self._gone.update(statement.id for statement in fallen)
        return seen.model_copy(
            update={
                "why": self._text(seen.why),
                "relations": tuple(
                    relation.model_copy(update={"sources": self._sources(relation.sources)}) for relation in relations
                ),
                "none": tuple(pair for pair in seen.none if self.alias not in pair),
                "notes": tuple(note.model_copy(update={"sources": self._sources(note.sources)}) for note in notes),
                "ended": (
                    *(ended.model_copy(update={"why": self._text(ended.why)}) for ended in seen.ended),
                    *(Ended(id=old) for statement in fallen for old in statement.replaces),
                ),
                "words": "",
            }
        )

    def _falls(self, statement: Statement, about: Iterable[str]) -> bool:
        """Whether the statement must be removed. `about`: the aliases and lines that it concerns."""
        theirs = any(self._is_of(one) for one in about)
        return theirs or self._stands_on(statement.sources) or self._names(statement.text)

    def _is_of(self, about: str) -> bool:
        if _LINES.fullmatch(about):
            return self.alias == DEMANDER or f"T/{about}" in self._gone
        return bool(self.alias) and about == self.alias

    def plan(self, plan: Plan) -> Plan:
        """Return the plan without the person. `removed` names the person's alias, and the Markdown is made again."""
        tasks = {
            task.id: task
            for task in plan.tasks
            if task.assignee != self._assignee and not any(map(self._names, (task.title, task.when, task.outside)))
        }
        left = plan.model_copy(
            update={
                "date": next(iter(self._claims([plan.date] if plan.date else [])), None),
                "possible": self._claims(plan.possible),
                "roles": tuple(self._role(role) for role in plan.roles if role.alias != self.alias),
                "tasks": tuple(self._task(task, tasks) for task in tasks.values()),
                "offsets": self._claims(plan.offsets),
                "residuals": tuple(residual for residual in plan.residuals if not self._residual(residual)),
                "references": tuple(one for one in plan.references if not self.is_theirs(one.id)),
                "unused": tuple(one for one in plan.unused if not self.is_theirs(one.id)),
                "removed": tuple(sorted({*plan.removed, self.alias or ERASED})),
            }
        )
        if not self.alias and left == plan.model_copy(update={"removed": left.removed}):
            return plan
        return left.model_copy(update={"markdown": plan_markdown(left)})

    def tension(self, tension: Tension) -> Tension:
        """Return the tension of a child of the person's process. If its residual was removed, its lines are replaced;
        if it is the person's hole, all lines but I. Elements that rest only on these lines are removed."""
        lineage = tension.lineage
        if lineage is None:
            return tension
        hole = lineage.residual.endswith(f"/hole/{self._seats.get(lineage.parent)}")
        if not hole and child_id(lineage.parent, lineage.residual) not in self._fallen:
            return tension
        self._gone.update(f"T/{line}" for line in tension.target_names() if line != "I" or not hole)
        return tension.model_copy(
            update={
                "transition": ERASED_ZH if tension.language == "zh" else ERASED,
                "initial_state": tension.initial_state if hole else MISSING,
                "barriers": (MISSING,) * len(tension.barriers),
                "exchange": MISSING,
                "lineage": lineage.model_copy(update={"title": ""}),
                "names": (),
                "spans": (),
            }
        )

    def fallen_residuals(self, plan: Plan) -> frozenset[str]:
        """Return the ids of the residuals of `plan` that rest only on the person's items or mention the person."""
        return frozenset(residual.id for residual in plan.residuals if self._residual(residual))

    @property
    def without_tension(self) -> bool:
        """Whether `tension` has removed lines of this process's tension."""
        return any(id.startswith("T/") for id in self._gone)

    @property
    def _assignee(self) -> str:
        return self.alias or ERASED

    def _text(self, text: str) -> str:
        return "" if self._names(text) else text

    def _sources(self, sources: Iterable[str]) -> tuple[str, ...]:
        return tuple(source for source in sources if not self.is_theirs(source))

    def _stands_on(self, sources: Iterable[str]) -> bool:
        """Whether there are sources, and all of them are the person's or were removed."""
        named = tuple(sources)
        return bool(named) and not self._sources(named)

    def _claims(self, claims: Iterable[Claim]) -> tuple[Claim, ...]:
        return tuple(
            claim.model_copy(
                update={"sources": (left := self._sources(claim.sources)), "supported": claim.supported and bool(left)}
            )
            for claim in claims
            if not self._stands_on(claim.sources) and not self._names(claim.text)
        )

    def _role(self, role: PlanRole) -> PlanRole:
        return role.model_copy(update={"role": self._text(role.role), "conditions": self._claims(role.conditions)})

    def _task(self, task: Task, left: Mapping[str, Task]) -> Task:
        return task.model_copy(
            update={
                "prerequisites": tuple(one for one in task.prerequisites if one in left),
                "sources": self._sources(task.sources),
            }
        )

    def _residual(self, residual: Residual) -> bool:
        parts = (residual.title, *residual.tension.lines())
        return self._stands_on(residual.sources) or any(map(self._names, parts))

"""What remains of a process when somebody has themselves erased (docs/erasure.md). Pure.

What others made of their words goes as well: every element that stands on their items, speaks of their alias, names
them, or uses words that nobody else in the room had used before hearing of theirs. Rather too much than too little.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Final

from tongyao.protocol.documents.plan_page import plan_markdown
from tongyao.protocol.model.observation import Ended, Observation, Statement
from tongyao.protocol.model.plan import Claim, Plan, Residual, Role, Task
from tongyao.protocol.model.process import DEMANDER
from tongyao.protocol.model.projection import Item, Projection
from tongyao.protocol.model.sizes import language_of
from tongyao.protocol.model.tension import MISSING, Tension
from tongyao.protocol.model.unicode_text import normalized
from tongyao.protocol.rules.identity.program_words import OF_DOCUMENTS

ERASED: Final = "[erased]"
ERASED_ZH: Final = "[已抹去]"

_CJK = r"\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_CJK_RUN = re.compile(rf"[{_CJK}]+")
_WORD = re.compile(rf"[^\W_{_CJK}]+")
_ID = re.compile(r"(?<![\w./-])(?:[\w.-]+/)*R\d+/(?:P\d{2,3}/|[rn])\d+|\b(?:T/[TIBE]\d*|[TB]\d+|P\d{2,3}|R\d+)\b")
_ITEM = re.compile(r"(?:(?P<process>.+)/)?R\d+/(?P<alias>P\d{2,3})/\d+")
_RUN: Final = 4
"""Characters of a CJK run, letters of a word: shorter ones are everybody's."""
_CJK_CHAR: Final = re.compile(f"[{_CJK}]")
_PIECE: Final = 20_000
"""Characters that are searched at a time: while a pattern is searched for, no other thread runs."""
_LONGEST_WORD: Final = 200
_PHRASE_WORDS: Final = 5

_EVERYBODYS: Final = frozenset(
    "that this with from they have were will what when which than then them there these those your their into about "
    "over under between after before also each could would should must only more most some such very need needs want "
    "wants make makes made take takes give gives help helps people person time year years work works other others "
    "where while because through without within against both does doing done same once every here like still even "
    "participant contributes offers offer knows know keeps keep brings bring capability direction boundary barrier "
    "tension transition exchange plan task tasks round nothing something anything someone nobody everybody".split()
)


def _phrases(text: str) -> Iterator[str]:
    """Every five words in a row, in small letters."""
    for piece in _pieces(text):
        words = _WORD.findall(normalized("NFKC", piece).casefold())
        for at in range(len(words) - _PHRASE_WORDS + 1):
            yield " ".join(words[at : at + _PHRASE_WORDS])


class Erasure:
    """One person, as far as one process is concerned."""

    def __init__(
        self,
        process_id: str,
        *,
        seats: Mapping[str, str],
        words: Iterable[str],
        elsewhere: Iterable[str],
        within: AbstractSet[str] | None = None,
        later: Iterable[tuple[str, Sequence[str]]] = (),
        identities: Iterable[str] = (),
        program: Iterable[str] = (),
        quoted: Iterable[str] = (),
        parent: Erasure | None = None,
    ) -> None:
        """
        Args:
            seats: process id → alias, of every process of the tree in which the person has a seat (`P00`: demander).
            words: everything of theirs that the process could read: profile, what they said, what was said for them.
            within: the words (`grams`) of all texts that are looked at, of the whole tree. Others of theirs are not remembered: a profile may
                have millions of them. None: all are.
            elsewhere: what others in this process had said before they could know of it.
            later: what others said afterwards, each with what its author had read before. A word in it that its author had not read
                is their own.
            identities: what names the person.
            program: sentences that an engine of the program writes around people's words. They are nobody's.
            quoted: of a demander, their intent and tension: five words of them in a row are theirs, also where each of the words is
                everybody's.
            parent: of the process above this one, made of the same `words`. A word that others had used there of their own is not theirs
                here either: a child's tension is written of what was said in its parent.
        """
        self._process, self._seats = process_id, dict(seats)
        self.alias = self._seats.get(process_id, "")
        own = {gram for text in words for gram in _each_gram(text) if within is None or gram in within}
        own -= _EVERYBODYS
        self._phrases = {phrase for text in quoted for phrase in _phrases(text)}
        for text in (*OF_DOCUMENTS, *program):
            own.difference_update(_each_gram(text))
        for text in elsewhere:  # one after the other: all words of long profiles together take gigabytes
            own.difference_update(_each_gram(text))
            if self._phrases:
                self._phrases.difference_update(_phrases(text))
        for said, read in later:
            own -= grams([said]) - grams(read)
            if self._phrases:
                self._phrases -= set(_phrases(said)) - {one for text in read for one in _phrases(text)}
        if parent is not None:
            own &= parent._own
        self._own: set[str] = own
        patterns = [_as_name(name) for name in identities if len(name.strip()) > 1]
        if self.alias and self.alias != DEMANDER:
            patterns.append(rf"(?<![A-Za-z0-9]){self.alias}(?![A-Za-z0-9])")
        self._named = re.compile("|".join(patterns), re.IGNORECASE) if patterns else None

    def names(self, text: str) -> bool:
        """Whether `text` names them: by name or by their alias here."""
        return self._named is not None and self._named.search(text) is not None

    def touches(self, text: str) -> bool:
        """Whether `text` names them, or speaks with words that are theirs alone."""
        if self.names(text) or not grams([text]).isdisjoint(self._own):
            return True
        return bool(self._phrases) and not self._phrases.isdisjoint(_phrases(text))

    def is_theirs(self, item_id: str) -> bool:
        """Whether an item id, as it is written in this process, is of something they said."""
        match = _ITEM.fullmatch(item_id)
        if match is None:
            return False
        return self._seats.get(match["process"] or self._process) == match["alias"]

    def observation(self, seen: Observation) -> Observation:
        """What the catalyst saw between the others. Its words for the participants are given up: they speak of all at once.

        What a fallen statement had replaced is ended, so that it does not hold again.
        """
        relations = tuple(relation for relation in seen.relations if not self._falls(relation, relation.between))
        notes = tuple(note for note in seen.notes if not self._falls(note, (*note.about, note.asks)))
        stays = {*(relation.id for relation in relations), *(note.id for note in notes)}
        fallen = [statement for statement in seen.statements if statement.id not in stays]
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
        """`about`: the aliases and lines that the statement is about. Where the person has no seat, none is theirs."""
        theirs = bool(self.alias) and self.alias in about
        return theirs or self._stands_on(statement.sources) or self.touches(statement.text)

    def projection(self, said: Projection, *, independent: bool) -> Projection:
        """What another participant said. `independent`: before they could have heard of the person; names still go.

        A fallen item that had replaced others stays without its words, so that these do not hold again.
        """
        goes = self.names if independent else self.touches
        left = []
        for item in said.items:
            if not any(map(goes, (item.text, *item.quotes))):
                left.append(item)
            elif item.replaces:
                text = ERASED_ZH if language_of(item.text) == "zh" else ERASED
                left.append(Item(id=item.id, text=text, replaces=item.replaces))
        return said.model_copy(update={"items": tuple(left)})

    def plan(self, plan: Plan) -> Plan:
        """The plan without them; it says that something was removed, and is written anew from its structure."""
        tasks = {
            task.id: task
            for task in plan.tasks
            if task.assignee != self._assignee and not any(map(self.touches, (task.title, task.when, task.outside)))
        }
        left = plan.model_copy(
            update={
                "date": next(iter(self._claims([plan.date] if plan.date else [])), None),
                "possible": self._claims(plan.possible),
                "roles": tuple(self._role(role) for role in plan.roles if role.alias != self.alias),
                "tasks": tuple(self._task(task, tasks) for task in tasks.values()),
                "offsets": self._claims(plan.offsets),
                "residuals": tuple(residual for residual in plan.residuals if not self._residual(residual)),
                "references": tuple(
                    one for one in plan.references if not self.is_theirs(one.id) and not self.touches(one.text)
                ),
                "unused": tuple(
                    one for one in plan.unused if not self.is_theirs(one.id) and not self.touches(one.text)
                ),
                "removed": tuple(sorted({*plan.removed, self.alias or ERASED})),
            }
        )
        return left.model_copy(update={"markdown": plan_markdown(left)})

    def tension(self, tension: Tension) -> Tension:
        """A tension that grew out of a process they were in, without what is theirs. Their hole is made of what they said, but for I."""
        lineage = tension.lineage
        hole = lineage is not None and lineage.residual.endswith(f"/hole/{self._seats.get(lineage.parent)}")
        if lineage is not None and self.touches(lineage.title):
            lineage = lineage.model_copy(update={"title": ""})

        def left(text: str) -> bool:
            return not (hole or self.touches(text))

        erased = ERASED_ZH if tension.language == "zh" else ERASED
        return tension.model_copy(
            update={
                "transition": tension.transition if left(tension.transition) else erased,
                "initial_state": MISSING if self.touches(tension.initial_state) else tension.initial_state,
                "barriers": tuple(barrier if left(barrier) else MISSING for barrier in tension.barriers),
                "exchange": tension.exchange if left(tension.exchange) else MISSING,
                "lineage": lineage,
                "names": tuple(one for one in tension.names if not self.touches(one.name)),
            }
        )

    @property
    def _assignee(self) -> str:
        return self.alias or ERASED

    def _text(self, text: str) -> str:
        return "" if self.touches(text) else text

    def _sources(self, sources: Iterable[str]) -> tuple[str, ...]:
        return tuple(source for source in sources if not self.is_theirs(source))

    def _stands_on(self, sources: Iterable[str]) -> bool:
        """Whether nothing but theirs is under it."""
        named = tuple(sources)
        return bool(named) and not self._sources(named)

    def _claims(self, claims: Iterable[Claim]) -> tuple[Claim, ...]:
        return tuple(
            claim.model_copy(
                update={"sources": (left := self._sources(claim.sources)), "supported": claim.supported and bool(left)}
            )
            for claim in claims
            if not self._stands_on(claim.sources) and not self.touches(claim.text) and not self.touches(claim.doubt)
        )

    def _role(self, role: Role) -> Role:
        told = {"benefits": self._claims(role.benefits), "conditions": self._claims(role.conditions)}
        return role.model_copy(update={"role": self._text(role.role), **told})

    def _task(self, task: Task, left: Mapping[str, Task]) -> Task:
        return task.model_copy(
            update={
                "prerequisites": tuple(one for one in task.prerequisites if one in left),
                "sources": self._sources(task.sources),
            }
        )

    def _residual(self, residual: Residual) -> bool:
        tension = residual.tension
        parts = (residual.title, tension.transition, tension.initial_state, *tension.barriers, tension.exchange)
        return self._stands_on(residual.sources) or any(map(self.touches, parts))


def grams(texts: Iterable[str]) -> set[str]:
    """What tells one author from another: longer words and figures, and runs of four CJK characters; no item ids."""
    return {gram for text in texts for gram in _each_gram(text)}


def _each_gram(text: str) -> Iterator[str]:
    for piece in _pieces(text):
        plain = normalized("NFKC", _ID.sub(" ", piece)).casefold()
        for word in _WORD.findall(plain):
            if len(word) >= _RUN or (len(word) > 1 and word.isdigit()):
                yield word
        for run in _CJK_RUN.findall(plain):
            for at in range(len(run) - _RUN + 1):
                yield run[at : at + _RUN]


def _pieces(text: str) -> Iterator[str]:
    """`text` in pieces, cut between words. A run of CJK characters that is cut is continued with its last three in the next piece."""
    start = 0
    while len(text) - start > _PIECE:
        end = start + _PIECE
        cut = next((at for at in range(end, end - _LONGEST_WORD, -1) if _is_edge(text[at])), end)
        yield text[start:cut]
        start = cut
        while cut - start < _RUN - 1 and _CJK_CHAR.match(text[start - 1]):
            start -= 1
    yield text[start:]


def _is_edge(char: str) -> bool:
    return char.isspace() or _CJK_CHAR.match(char) is not None


def _as_name(name: str) -> str:
    escaped = re.escape(name.strip())
    return rf"(?<![A-Za-z0-9]){escaped}(?![A-Za-z0-9])" if name.isascii() else escaped

"""The tension: the subject of a process (docs/protocol.md §2)."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Any, Final, Literal, Self

from pydantic import Field, JsonValue, ModelWrapValidatorHandler, model_validator

from tongyao.protocol.model.sizes import cut, units
from tongyao.protocol.model.value import Draft, Value

TENSION_UNITS: Final = 450
"""Hard limit of a whole tension, in units (docs/protocol.md §2.3)."""

TENSION_CHARS: Final = 9_000
"""Maximum length of a tension in characters: 20 for each unit. Signs are no units, and words may have any length."""

MISSING: Final = "[data_insufficient]"
"""The mark for missing material. Nothing is invented in its place (docs/protocol.md §2.2)."""

MAX_BARRIERS: Final = 6
"""Maximum number of barriers. With more, each could not be stated within `TENSION_UNITS`."""


Lens = StrEnum("Lens", {"T": "T", "I": "I", "B": "B", "E": "E"})
"""The four lenses of a tension, by their letters in the protocol."""


class Grade(StrEnum):
    """A: all four lenses have material. B: T and I have material, but B or E has none. C: T or I has none."""

    A = "A"
    B = "B"
    C = "C"


class Audit(Value):
    """States for each lens whether the material is sufficient. Code decides this, not the model's judgement alone."""

    transition: bool
    initial_state: bool
    barriers: bool
    exchange: bool

    @property
    def grade(self) -> Grade:
        if not (self.transition and self.initial_state):
            return Grade.C
        return Grade.A if self.barriers and self.exchange else Grade.B

    def missing(self) -> tuple[Lens, ...]:
        """Return the lenses without sufficient material, in the order T, I, B, E."""
        flags = (self.transition, self.initial_state, self.barriers, self.exchange)
        return tuple(lens for lens, sufficient in zip(Lens, flags, strict=True) if not sufficient)


class Lineage(Value):
    """The origin of a residual tension: the processes above it in the tree, the root first."""

    root: str
    parent: str
    residual: str = Field(description="Item id of the residual in the parent's plan, e.g. `plan/1/residual/2`.")
    depth: int = Field(ge=1)
    title: str = Field(default="", description="Of the residual; only in the tension itself, which is a text.")


Source = Literal["intent", "profile"]


class LineSpan(Value):
    """The source of a line: `text[start:end]`. `text` is the unchanged intent or the demander's profile version."""

    line: str = Field(description="T, I, B1…, E.")
    source: Source
    start: int = Field(ge=0)
    end: int = Field(gt=0)


MOST_NAMES: Final = 60
"""Maximum number of names of one text. Further names are dropped."""


MOST_NAME_CHARS: Final = 80
"""Maximum length of a name, in characters."""


class NameFound(Value):
    """A name in a text of the process. In all texts, other people read the same mark in place of this name."""

    name: str = Field(min_length=1, max_length=MOST_NAME_CHARS)
    kind: Literal["person", "firm"] = "person"


_MARK: Final = re.compile(r"\[(?:person|firm|某人|某单位) \d{1,6}\]|\[…\]")
"""A mark in place of a name or a contact. A mark may be longer than the name, so its units are not counted."""


class Tension(Value):
    """A formulated need of at most `TENSION_UNITS` units. A lens without material is `[data_insufficient]`.

    Raises `ValueError` if the tension is too long, has no transition, or has a blank barrier. An existing `Tension`
    object is not validated again, because marks in place of names may make it longer than the limit.
    """

    transition: str = Field(min_length=1)
    initial_state: str = MISSING
    barriers: tuple[str, ...] = (MISSING,)
    exchange: str = MISSING
    language: Literal["zh", "en"] = "en"
    lineage: Lineage | None = None
    spans: tuple[LineSpan, ...] = Field(default=(), description="Of a formulated tension: what its lines rest on.")
    names: tuple[NameFound, ...] = Field(
        default=(),
        max_length=MOST_NAMES,
        description="Persons and firms: others read marks in their place.",
    )

    @model_validator(mode="wrap")
    @classmethod
    def _checked_once(cls, given: Any, make: ModelWrapValidatorHandler[Self]) -> Self:
        return given if isinstance(given, cls) else make(given)._within_limits()

    def _within_limits(self) -> Self:
        if not self.transition.strip():
            raise ValueError("a tension needs a transition: say what should change")
        if not self.barriers or any(not barrier.strip() for barrier in self.barriers):
            raise ValueError(f"a barrier may not be blank: write what stands in the way, or {MISSING}")
        if len(self.barriers) > MAX_BARRIERS:
            raise ValueError(f"{len(self.barriers)} barriers: at most {MAX_BARRIERS}; join those that are one")
        bare = sum(units(_MARK.sub("", line)) for line in self.lines())
        if bare > TENSION_UNITS:
            raise ValueError(f"the tension has {self.units} units (CJK characters or words); at most {TENSION_UNITS}")
        return self

    @property
    def units(self) -> int:
        return sum(map(units, self.lines()))

    @property
    def chars(self) -> int:
        return sum(map(len, self.lines()))

    @property
    def audit(self) -> Audit:
        return Audit(
            transition=_known(self.transition),
            initial_state=_known(self.initial_state),
            barriers=any(_known(barrier) for barrier in self.barriers),
            exchange=_known(self.exchange),
        )

    @property
    def grade(self) -> Grade:
        return self.audit.grade

    def targets(self) -> dict[str, str]:
        """Return the text of every line with material, by name: `T`, `I`, `B1`…, `E`. Items can refer to these
        names."""
        named = {"T": self.transition, "I": self.initial_state}
        named |= {f"B{number}": barrier for number, barrier in enumerate(self.barriers, 1)}
        named["E"] = self.exchange
        return {name: text for name, text in named.items() if _known(text)}

    def lines(self) -> tuple[str, ...]:
        """Return all lines, including those without material."""
        return (self.transition, self.initial_state, *self.barriers, self.exchange)

    def target_names(self) -> tuple[str, ...]:
        return ("T", "I", *(f"B{number}" for number in range(1, len(self.barriers) + 1)), "E")


_LABELS: Final[list[JsonValue]] = ["T", "I", *(f"B{number}" for number in range(1, MAX_BARRIERS + 1)), "E"]


class LineQuoteDraft(Draft):
    """The schema lists the possible labels of `line`. With any other word, the quote belongs to no line."""

    line: str = Field(json_schema_extra={"enum": _LABELS})
    quote: str = ""


class NameDraft(Draft):
    """The schema lists the two kinds. Any other word is read as `person`."""

    name: str
    kind: str = Field(default="person", json_schema_extra={"enum": ["person", "firm"]})


class TensionDraft(Draft):
    """A model's formulation of a tension. A blank lens has no material. Quotes are the evidence for each line."""

    transition: str = ""
    initial_state: str = ""
    barriers: list[str] = Field(default_factory=list)
    exchange: str = ""
    quotes: list[LineQuoteDraft] = Field(default_factory=list)
    names: list[NameDraft] = Field(default_factory=list)


def from_draft(
    draft: TensionDraft,
    *,
    language: Literal["zh", "en"],
    spans: tuple[LineSpan, ...] = (),
    names: tuple[NameFound, ...] = (),
) -> Tension:
    """Return the tension in `draft`. Blank parts become `[data_insufficient]`.

    Raises `ValueError` as `Tension` does. A draft that is too long is not cut, because the caller sends it back.
    """
    barriers = tuple(barrier.strip() for barrier in draft.barriers if barrier.strip()) or (MISSING,)
    return Tension(
        transition=draft.transition.strip() or MISSING,
        initial_state=draft.initial_state.strip() or MISSING,
        barriers=barriers,
        exchange=draft.exchange.strip() or MISSING,
        language=language,
        spans=spans,
        names=names,
    )


def within_limits(draft: TensionDraft) -> TensionDraft:
    """Return `draft` with all lenses shortened in proportion, and with at most `MAX_BARRIERS` barriers.

    Used if the model's repair is still too long. A shortened draft describes the need better than the intent does.
    """
    barriers = [barrier for barrier in draft.barriers if barrier.strip()][:MAX_BARRIERS]
    total = sum(units(part) for part in (draft.transition, draft.initial_state, *barriers, draft.exchange))
    blanks = sum(not part.strip() for part in (draft.initial_state, draft.exchange, "".join(barriers)))
    share = min(1.0, (TENSION_UNITS - blanks * units(MISSING)) / max(1, total))
    chars = sum(map(len, (draft.transition, draft.initial_state, *barriers, draft.exchange)))

    def shortened(text: str) -> str:
        if chars > TENSION_CHARS:
            text = text[: max(1, len(text) * TENSION_CHARS // chars)]
        return text if share == 1.0 else cut(text.strip(), max(1, int(units(text) * share)))

    return TensionDraft(
        transition=shortened(draft.transition),
        initial_state=shortened(draft.initial_state),
        barriers=[shortened(barrier) for barrier in barriers],
        exchange=shortened(draft.exchange),
        quotes=draft.quotes,
        names=draft.names,
    )


def from_raw(intent: str, *, language: Literal["zh", "en"], names: tuple[NameFound, ...] = ()) -> Tension:
    """Return the tension after a failed formulation (docs/protocol.md §2.1): the intent as T, cut to the limit.

    Its grade is always C, because I has no material. Raises `ValueError` for a blank intent.
    """
    return Tension(transition=cut(intent.strip(), TENSION_UNITS - 3 * units(MISSING)), language=language, names=names)


def _known(text: str) -> bool:
    return bool(text.strip()) and MISSING not in text

"""The recorded engine: plays back the stored answers of a process by key, without any service.

A recording is a text file of JSON lines. The first line is `{"recording": 1, "title": …, "seats": […], "authored": …}`.
`seats` are the participants in the order of their aliases. The answers contain aliases. So a process must have the
setting `aliases_as_named` and name its participants in that order to play the recording.

Each further line is an answer with these fields: `step`, `round`, `alias`, `revision`, `reask` (the key, without the
process, because any process may play the answer), `input_hash` (of the answered request, for information), `draft`,
`text`, `engine`, `model`, `usage`, `cost`, `labels`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Final, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from tongyao.llm.engine import PRICE_UNKNOWN, Answer, Bound, Call, CallKey, Usage
from tongyao.llm.errors import StepFailed
from tongyao.protocol.model.steps import DraftT, RequestT, Step, StepName

FORMAT: Final = 1
NAME: Final = "recorded"
AUTHORED: Final = "authored"


class RecordingError(ValueError):
    """The file is not a recording. The error's text states the file, the line and the fault."""


class Header(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    recording: Literal[1] = FORMAT
    title: str = ""
    seats: tuple[str, ...] = Field(
        default=(), description="The participants' profile ids, in the order of their aliases."
    )
    authored: bool = Field(
        default=False, description="The answers were written by hand in the form of a model's answers."
    )


class RecordedTokens(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    input_tokens: int = 0
    cache_write_tokens: int = 0
    cache_read_tokens: int = 0
    output_tokens: int = 0


class RecordedRow(BaseModel):
    """One settled answer. `draft` has the fields of the step's draft. It is checked when it is played."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    step: StepName
    round: int = 0
    alias: str = ""
    revision: int = 1
    reask: int = 0
    input_hash: str = ""
    draft: dict[str, JsonValue]
    text: str = ""
    engine: str = ""
    model: str = ""
    usage: RecordedTokens = RecordedTokens()
    cost: Decimal = Decimal(0)
    labels: tuple[str, ...] = ()

    @property
    def key(self) -> CallKey:
        """The key of the answer, without a process."""
        return CallKey("", self.step, self.round, self.alias, self.revision, self.reask)


def _in_words(key: CallKey) -> str:
    parts = [key.step]
    parts += [f"round {key.round}"] if key.round else []
    parts += [key.alias] if key.alias else []
    parts += [f"revision {key.revision}"] if key.revision != 1 else []
    parts += ["re-ask"] if key.reask else []
    return ", ".join(parts)


def write_recording(
    rows: Iterable[RecordedRow], path: Path, *, title: str = "", authored: bool = False, seats: Iterable[str] = ()
) -> int:
    """Write `rows` in the order of their keys. Returns the number of rows. The same rows give the same bytes.

    An existing file is replaced atomically. Raises `ValueError` if two rows have the same key, `OSError` if writing
    fails.
    """
    by_key: dict[CallKey, RecordedRow] = {}
    for row in rows:
        if row.key in by_key:
            raise ValueError(f"two answers for {_in_words(row.key)}: a recording holds one settled answer per key")
        by_key[row.key] = row
    ordered = sorted(by_key.values(), key=lambda row: (row.round, row.step, row.alias, row.revision, row.reask))
    lines = [
        Header(title=title, authored=authored, seats=tuple(seats)).model_dump_json(),
        *(row.model_dump_json() for row in ordered),
    ]
    draft = path.with_name(f"{path.name}.new")
    draft.write_text("\n".join(lines) + "\n", encoding="utf-8")
    draft.replace(path)
    return len(ordered)


def read_recording(path: Path) -> tuple[Header, dict[CallKey, RecordedRow]]:
    """Read the header and the answers of the recording at `path`. Raises `RecordingError`."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise RecordingError(f"{path}: cannot be read ({error})") from error
    if not lines:
        raise RecordingError(f"{path}: the file is empty; a recording begins with a line {Header().model_dump_json()}")
    header = _parsed(Header, path, 1, lines[0])
    rows: dict[CallKey, RecordedRow] = {}
    for number, line in enumerate(lines[1:], 2):
        if line.strip():
            row = _parsed(RecordedRow, path, number, line)
            if row.key in rows:
                raise RecordingError(f"{path}:{number}: a second answer for {_in_words(row.key)}")
            rows[row.key] = row
    return header, rows


ModelT = TypeVar("ModelT", bound=BaseModel)


def _parsed(model: type[ModelT], path: Path, number: int, line: str) -> ModelT:
    try:
        return model.model_validate_json(line)
    except ValidationError as error:
        problems = "; ".join(
            f"{'.'.join(map(str, fault['loc'])) or 'line'}: {fault['msg']}" for fault in error.errors()
        )
        raise RecordingError(f"{path}:{number}: {problems}") from error


class RecordedEngine:
    """An `Engine` that plays a recording. It raises `StepFailed` with key and file if the recording lacks the key."""

    name: Final = NAME

    def __init__(self, path: Path) -> None:
        """Read the recording at `path`. Raises `RecordingError`."""
        self.path = path
        self.header, self._rows = read_recording(path)

    def model_for(self, step: str) -> str:
        """The model that answered `step` in the recording. Empty if several models or none did."""
        models = {row.model for row in self._rows.values() if row.step == step}
        return models.pop() if len(models) == 1 else ""

    def bound(self, step: str, prompt: str, units: int = 0) -> Bound:
        """Zero, because no service is asked."""
        return Bound()

    async def answer(self, step: Step[RequestT, DraftT], request: RequestT, call: Call) -> Answer[DraftT]:
        """The recorded answer of this key, at no cost. Raises `StepFailed` if there is none, or if it is no draft of
        this step.
        """
        key = replace(call.key, process="")
        row = self._rows.get(key)
        if row is None:
            raise StepFailed(
                f"no recorded answer for {_in_words(key)} in {self.path}: the process took another course than "
                "the recorded one; use the settings and participants it was recorded with, or another engine"
            )
        try:
            draft = step.draft.model_validate(row.draft)
        except ValidationError as error:
            raise StepFailed(
                f"{self.path}: the answer for {_in_words(row.key)} is not a {step.draft.__name__}: {error}"
            ) from error
        marks = (
            *(label for label in row.labels if label != PRICE_UNKNOWN),
            NAME,
            *((AUTHORED,) if self.header.authored else ()),
        )
        return Answer(
            draft=draft,
            text=row.text or draft.model_dump_json(),
            engine=self.name,
            model=row.model,
            usage=Usage(**row.usage.model_dump()),
            labels=tuple(dict.fromkeys(marks)),
        )

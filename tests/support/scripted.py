"""The scripted engine: a script decides its answers and its failures.

Tests and the histories of `tests/replay` use it. In a worker process it is a custom engine, with the settings
`TONGYAO_ENGINE=tests.support.scripted:from_settings` and `TONGYAO_ENGINE_FILE=<script>`.

A script is a list of rules. The first rule that fits a call decides it. A call without a fitting rule gets a short
valid draft. So a script states only the calls that matter for a test::

    script = Script(verdicts=["more", "more", "exhausted", "exhausted"], rules=[
        Rule(step="project", alias="P02", round=2, do="silent"),
        Rule(step="observe", round=1, reask=0, spoil=["missing_pair"]),
        Rule(step="plan", do="operator_needed", until="key"),
    ])

A script in a JSON (or YAML) file also works in a worker of another process. The calls are then appended to
`<file>.calls.jsonl`. Tests read this file with `read_calls`, and a restarted worker takes the number of earlier calls
from it.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final, Literal, NoReturn

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tests.support import scripted_drafts
from tongyao.llm.engine import Answer, Bound, Call, CallKey, Usage
from tongyao.llm.errors import Cut, EngineError, ModelRefused, OperatorNeeded, StepFailed, Transient, Unreadable
from tongyao.protocol.model.observation import RelationKind, Verdict
from tongyao.protocol.model.requests import (
    CatalystRequest,
    DeliveryRequest,
    EndpointRequest,
    FormulationRequest,
    PlannerRequest,
    Request,
)
from tongyao.protocol.model.steps import DraftT, RequestT, Step, StepName
from tongyao.protocol.model.value import Draft
from tongyao.runtime.settings import Settings

Do = Literal["answer", "cut", "unreadable", "refused", "silent", "transient", "operator_needed", "step_failed", "crash"]

NAME: Final = "scripted"


class ScriptError(ValueError):
    """The script cannot be read. The message states the file and the place in it."""


class TokenCounts(BaseModel):
    """The usage that a call reports; see `Usage`."""

    model_config = ConfigDict(extra="forbid")

    input_tokens: int = 0
    cache_write_tokens: int = 0
    cache_read_tokens: int = 0
    output_tokens: int = 0


class Rule(BaseModel):
    """A rule: the calls to which it applies, and their outcome. A field that is left out fits any call."""

    model_config = ConfigDict(extra="forbid")

    step: StepName | Literal["*"] | list[StepName | Literal["*"]] = "*"
    round: int | list[int] | None = None
    alias: str = Field(default="*", description="A pattern like a file name pattern: `P0[12]`, `*`.")
    process: str = Field(default="*", description="Also such a pattern.")
    revision: int | None = None
    reask: int | None = Field(default=None, description="0: the first answer. 1: the repaired answer.")
    attempt: int | list[int] | None = Field(
        default=None,
        description="The number of the call with the same key, from 1. With `[1, 2]` only the first two fail.",
    )
    until: str = Field(
        default="",
        description="The rule applies until a file with this path exists or `mend(<this>)` was called.",
    )

    do: Do = "answer"
    seconds: float | None = Field(default=None, ge=0, description="The wait before the outcome, with heartbeats.")
    message: str = ""
    text: str | None = Field(default=None, description="Raw text of the answer, or of the unreadable answer.")
    retry_after: float | None = None
    model: str = ""
    usage: TokenCounts | None = None
    cost: Decimal | None = None

    draft: dict[str, Any] = Field(
        default_factory=dict, description="Fields of the draft that differ from the default draft."
    )
    relate: dict[str, RelationKind] = Field(
        default_factory=dict,
        description='`{"P01-P02": "aligned", "P01-B1": "complementary"}`: sources are the first items of the participants. '
        "A relation that is already valid is not stated again.",
    )
    gaps: list[str] = Field(
        default_factory=list, description="One gap for each: the alias that it asks, or an empty string for nobody."
    )
    spoil: list[scripted_drafts.Spoil] = Field(
        default_factory=list, description="Faults in the draft that the guards must find."
    )

    def fits(self, key: CallKey, attempt: int) -> bool:
        return (
            _among(key.step, self.step, "*")
            and _among(key.round, self.round, None)
            and _among(attempt, self.attempt, None)
            and fnmatchcase(key.alias, self.alias)
            and fnmatchcase(key.process, self.process)
            and self.revision in (None, key.revision)
            and self.reask in (None, key.reask)
        )


class Script(BaseModel):
    """Rules and defaults. `verdicts`: by round, from 1. The last verdict applies to all later rounds."""

    model_config = ConfigDict(extra="forbid")

    rules: list[Rule] = Field(default_factory=list)
    verdicts: list[Verdict] = Field(
        default_factory=lambda: [Verdict.MORE, Verdict.MORE, Verdict.EXHAUSTED], min_length=1
    )
    seconds: float = Field(default=0.0, ge=0, description="Seconds of every answer whose rule states none.")
    names: list[str] = Field(default_factory=list, description="The names that a default projection lists.")
    quote_chars: int = Field(default=40, ge=1, description="Length of a default item's quote.")
    residuals: int = Field(default=0, ge=0, description="Residual tensions of a default plan.")
    usage: TokenCounts = TokenCounts(input_tokens=100, output_tokens=20)
    cost: Decimal = Decimal(0)
    model: str = "script"

    @classmethod
    def load(cls, path: Path) -> Script:
        """Read a script from a `.json`, `.yaml` or `.yml` file. Raises `ScriptError`."""
        try:
            written = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ScriptError(f"{path}: the script cannot be read ({error})") from error
        try:
            if path.suffix in (".yaml", ".yml"):
                import yaml  # only for tests: an installation does not need scripts in YAML

                return cls.model_validate(yaml.safe_load(written))
            return cls.model_validate_json(written)
        except ImportError as error:
            raise ScriptError(f"{path}: reading YAML needs the package pyyaml; or write the script as JSON") from error
        except ValidationError as error:
            places = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors())
            raise ScriptError(f"{path}: {places}") from error


@dataclass(frozen=True)
class Received:
    """A received call. `request`: the whole request that a model would get. `seconds`: its time-out."""

    key: CallKey
    attempt: int
    request: BaseModel
    complaints: tuple[str, ...] = ()
    seconds: float | None = None

    def mentions(self, text: str) -> bool:
        """Whether the request contains `text` anywhere. Canary tests use it."""
        return json.dumps(text, ensure_ascii=False)[1:-1] in self.request.model_dump_json()


class ScriptedEngine:
    """An `Engine` that follows its script. Raises the error of a rule, from `tongyao.llm.errors`."""

    name: Final = NAME

    def __init__(
        self,
        script: Script | None = None,
        *,
        journal: Path | None = None,
        crash: Callable[[], object] = lambda: os.kill(os.getpid(), signal.SIGKILL),
    ) -> None:
        """`journal`: the file to which calls are appended; attempts continue its count. `crash`: the effect of the outcome `crash`."""
        self.script = script or Script()
        self.received: list[Received] = []
        self._journal = journal
        self._crash = crash
        self._mended: set[str] = set()
        self._attempts: Counter[CallKey] = Counter(
            CallKey(**one["key"]) for one in (read_calls(journal) if journal else ())
        )

    @classmethod
    def from_file(cls, path: Path) -> ScriptedEngine:
        """The engine for a script file, with the journal beside the file. Raises `ScriptError`."""
        return cls(Script.load(path), journal=journal_of(path))

    def mend(self, flag: str) -> None:
        """End the rules that apply `until` this flag."""
        self._mended.add(flag)

    def model_for(self, step: str) -> str:
        return self.script.model

    def bound(self, step: str, prompt: str, units: int = 0) -> Bound:
        """Zero, because no service is asked."""
        return Bound()

    async def answer(self, step: Step[RequestT, DraftT], request: RequestT, call: Call) -> Answer[DraftT]:
        rule = await self._heard(request, call)
        return self._answer(rule, step.draft, self._default(request, rule))

    def _default(self, request: Request, rule: Rule) -> Draft:
        """The answer if the rule states nothing else."""
        match request:
            case FormulationRequest():
                return scripted_drafts.tension(request, self.script.quote_chars)
            case EndpointRequest():
                draft = scripted_drafts.projection(request, self.script.quote_chars)
                return draft.model_copy(update={"names": self.script.names})
            case CatalystRequest():
                verdict = self.script.verdicts[min(request.round, len(self.script.verdicts)) - 1]
                return scripted_drafts.observation(request, verdict, rule.relate, rule.gaps)
            case PlannerRequest():
                return scripted_drafts.plan(request, self.script.residuals)
            case DeliveryRequest():
                return scripted_drafts.delivery(request)
        raise TypeError(f"no step has a request of type {type(request).__name__}")

    async def _heard(self, request: BaseModel, call: Call) -> Rule:
        """Note the call, find its rule, wait for the rule's time, and fail if the rule requires it."""
        self._attempts[call.key] += 1
        complaints = call.reask.complaints if call.reask else ()
        received = Received(call.key, self._attempts[call.key], request, complaints, call.seconds)
        self.received.append(received)
        if self._journal is not None:
            _append(self._journal, received)
        rule = next(
            (rule for rule in self.script.rules if self._holds(rule) and rule.fits(call.key, received.attempt)),
            Rule(),
        )
        await asyncio.sleep(self.script.seconds if rule.seconds is None else rule.seconds)
        if rule.do == "silent":
            await asyncio.Event().wait()
        if rule.do == "crash":
            self._crash()
        if rule.do != "answer":
            self._fail(rule)
        return rule

    def _holds(self, rule: Rule) -> bool:
        return not rule.until or not (rule.until in self._mended or Path(rule.until).exists())

    def _fail(self, rule: Rule) -> NoReturn:
        said = rule.message or f"the script says {rule.do}"
        text = rule.text if rule.text is not None else '{"verdict": "mo'
        error: EngineError
        match rule.do:
            case "cut":
                error = Cut(said, text=text)
            case "unreadable":
                error = Unreadable(said, text=text)
            case "refused":
                error = ModelRefused(said)
            case "operator_needed":
                error = OperatorNeeded(said)
            case "step_failed":
                error = StepFailed(said)
            case _:
                error = Transient(said, retry_after=rule.retry_after)
        error.usage, error.cost, error.model = (
            self._usage(rule),
            self._cost(rule),
            rule.model or self.script.model,
        )
        raise error

    def _answer(self, rule: Rule, draft_type: type[DraftT], default: Draft) -> Answer[DraftT]:
        try:
            draft = draft_type.model_validate(default.model_dump() | rule.draft)
        except ValidationError as error:
            # a structure that fits no draft is the equivalent of a model's broken answer
            raise Unreadable(f"not a {draft_type.__name__}", text=json.dumps(rule.draft, ensure_ascii=False)) from error
        for spoil in rule.spoil:
            draft = scripted_drafts.spoiled(draft, spoil)
        return Answer(
            draft=draft,
            text=rule.text if rule.text is not None else draft.model_dump_json(),
            engine=self.name,
            model=rule.model or self.script.model,
            usage=self._usage(rule),
            cost=self._cost(rule),
            labels=(NAME,),
        )

    def _usage(self, rule: Rule) -> Usage:
        return Usage(**(rule.usage or self.script.usage).model_dump())

    def _cost(self, rule: Rule) -> Decimal:
        return self.script.cost if rule.cost is None else rule.cost


def from_settings(settings: Settings) -> ScriptedEngine:
    """The factory for `TONGYAO_ENGINE`. Raises `ScriptError`."""
    if settings.engine_file is None:
        raise ScriptError("TONGYAO_ENGINE_FILE must name the script")
    return ScriptedEngine.from_file(settings.engine_file)


def journal_of(script: Path) -> Path:
    """The file with the calls of a script file's engine."""
    return script.with_name(f"{script.name}.calls.jsonl")


def read_calls(journal: Path) -> list[dict[str, Any]]:
    """The calls in a journal, oldest first: `key` (fields of `CallKey`), `attempt`, `complaints`, `request`,
    `pid`."""
    if not journal.exists():
        return []
    return [json.loads(line) for line in journal.read_text(encoding="utf-8").splitlines() if line]


def _append(journal: Path, received: Received) -> None:
    line = {
        "key": asdict(received.key),
        "attempt": received.attempt,
        "complaints": received.complaints,
        "pid": os.getpid(),
        "request": received.request.model_dump(mode="json"),
    }
    with journal.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line, ensure_ascii=False) + "\n")


def _among(value: object, wanted: object, anything: object) -> bool:
    if wanted == anything:
        return True
    if isinstance(wanted, Sequence) and not isinstance(wanted, str):
        return value in wanted or anything in wanted
    return value == wanted

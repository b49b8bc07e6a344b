"""Names and types by which workflows, activities and clients address each other (docs/protocol.md §12).

Inputs and outputs contain only references and counts, because they are stored in Temporal's history.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, Final, Generic, Literal, TypeVar

from pydantic import Field

from tongyao.protocol.model import steps
from tongyao.protocol.model.events import Outbox
from tongyao.protocol.model.messages import Decision
from tongyao.protocol.model.observation import Verdict
from tongyao.protocol.model.process import ROOM_OF_OTHERS, Choice, Phase, ProfileRef, Seat, Spent, TensionRef
from tongyao.protocol.model.process_settings import Fallback, ProcessSettings
from tongyao.protocol.model.projection import EndpointKind, Outcome
from tongyao.protocol.model.steps import Step
from tongyao.protocol.model.tension import Lineage
from tongyao.protocol.model.value import Value

InputT = TypeVar("InputT")
OutputT = TypeVar("OutputT")

CRYSTALLIZATION: Final = "Crystallization"

PROCESS_QUEUE: Final = "tongyao-process"
MODELS_QUEUE: Final = "tongyao-models"
FIELD_QUEUE: Final = "tongyao-field"

ROLES: Final[dict[str, str]] = {PROCESS_QUEUE: "process", MODELS_QUEUE: "models", FIELD_QUEUE: "field"}
"""Task queue → role of the workers that poll it. Workers of the role `all` poll every queue (docs/operations.md §3)."""

QUEUE_PATIENCE: Final = timedelta(minutes=20)
"""Time that a step waits for a worker before the process is suspended and reports the missing role. It is longer than
the backlog at which no process is started (15 minutes), so a step that only waits for its turn keeps its place in the
queue. Steps on the process queue have no such limit, because the workflow needs the same worker."""


class Readable(str):
    """A summary of a workflow, step or timer. It is not encrypted, so it contains no name and no text of people."""

    __slots__ = ()


class SearchAttribute:
    """Custom search attributes. They must be registered before a worker polls (docs/operations.md §2)."""

    PHASE: Final = "TongyaoPhase"
    ROUND: Final = "TongyaoRound"
    SCENE: Final = "TongyaoScene"
    DEPTH: Final = "TongyaoDepth"
    ROOT: Final = "TongyaoRoot"
    WAITING: Final = "TongyaoWaiting"
    SUSPENDED: Final = "TongyaoSuspended"


SEARCH_ATTRIBUTES: Final[dict[str, str]] = {
    SearchAttribute.PHASE: "Keyword",
    SearchAttribute.ROUND: "Int",
    SearchAttribute.SCENE: "Keyword",
    SearchAttribute.DEPTH: "Int",
    SearchAttribute.ROOT: "Keyword",
    SearchAttribute.WAITING: "Bool",
    SearchAttribute.SUSPENDED: "KeywordList",
}


class ForkSeat(Value):
    """A seat of a fork, under the alias of the origin."""

    alias: str
    choice: Choice
    version: int | None = Field(default=None, description="Of their profile; None: they have none.")
    joined_round: int = 1
    left_round: int = Field(default=0, description="The round in or after which they left the origin; 0: they did not.")
    left_in_round: bool = Field(default=False, description="They left before that round was over.")
    replaced: bool = Field(
        default=False, description="Somebody else sat there in the origin: their words are not taken."
    )


class Fork(Value):
    """The data that a fork takes over from its origin (docs/forks.md). A fork asks no person."""

    origin: str
    round: int = Field(default=1, ge=1, description="Rounds before it are the origin's, turn by turn.")
    again: Literal["", "project", "observe", "plan"] = Field(
        default="", description="From this step of `round` on no answer of the origin is taken."
    )
    seats: tuple[ForkSeat, ...] = ()
    spoke: dict[int, tuple[str, ...]] = Field(
        default_factory=dict, description="Round → aliases for whom a person or an agent has a turn in the origin."
    )
    decisions: dict[int, Decision] = Field(default_factory=dict, description="Round after which it was decided so.")
    concluded: int = Field(default=0, description="The round after which the demander asked for the plan; 0: none.")

    def takes(self, step: str, round_number: int) -> bool:
        """Whether an answer of the origin may be copied for a step. `round_number`: 0 outside the rounds."""
        if not self.again or step in ("formulate", "deliver"):
            return True
        order = ("project", "observe", "plan")
        at = (round_number if step != "plan" else _AFTER_ALL_ROUNDS, order.index(step))
        begins = self.round if self.again != "plan" else _AFTER_ALL_ROUNDS
        return at < (begins, order.index(self.again))


_AFTER_ALL_ROUNDS: Final = 1_000

NO_WORDS: Final = "no_words_in_origin"
"""Counter of turns that lapsed because the origin of a fork has no words of the person for this round."""


FairBy = Literal["demander", "scene"]
"""The unit among which workers are shared evenly (docs/operations.md §8)."""


class ProcessInput(Value):
    """The input of a process. The row in `processes` is written before the workflow is started."""

    process_id: str
    scene: str = ""
    demander: str = Field(description="Owner of the intent: a profile id, or the id of a person without a profile.")
    demander_profile: ProfileRef | None = None
    intent_text_id: str
    tension: TensionRef | None = Field(default=None, description="Brought ready-made; then nothing is formulated.")
    participants: tuple[Choice, ...] = ()
    excluded: tuple[str, ...] = Field(default=(), description="Profile ids the field leaves out.")
    settings: ProcessSettings = ProcessSettings()
    lineage: Lineage | None = None
    fork: Fork | None = Field(default=None, exclude_if=lambda fork: fork is None)
    remember: bool = Field(default=False, description="Long profiles have memories that this process strengthens.")
    signal_key: str = Field(default="", description="Ignored. Older inputs have it, also those of children.")

    @property
    def root(self) -> str:
        return self.lineage.root if self.lineage else self.process_id

    @property
    def depth(self) -> int:
        return self.lineage.depth if self.lineage else 0

    def fairness_key(self, by: FairBy, salt: bytes) -> str:
        """Return a digest, because Temporal shows the key unencrypted. A process without a scene uses its demander.

        `salt`: a secret of the installation, without which nobody can compute the digest of an id that they guess.
        """
        whose = f"scene/{self.scene}" if by == "scene" and self.scene else f"demander/{self.demander}"
        return hashlib.sha256(salt + whose.encode()).hexdigest()[:16]

    @property
    def summary(self) -> str:
        """The summary of this process in the Temporal UI. It contains no text of a person."""
        origin = f"residual of {self.lineage.parent}" if self.lineage else "raw intent"
        if self.fork:
            origin = f"fork of {self.fork.origin} from round {self.fork.round}"
        where = f", scene {self.scene}" if self.scene else ""
        who = f", {people_of(self.participants)}" if self.participants else ", people to be found"
        return f"{origin.capitalize()}{where}{who}"


def people_of(choices: Sequence[Choice]) -> str:
    """Return the number of people and of those without a proxy, such as `5 people, 2 of them human`."""
    kinds = [
        f"{count} of them {kind}"
        for kind in ("human", "agent")
        if (count := sum(choice.endpoint == kind for choice in choices))
    ]
    return ", ".join([f"{len(choices)} people", *kinds])


class ProcessResult(Value):
    """The result of a process."""

    process_id: str
    outcome: Phase
    rounds: int
    plan_revision: int = 0


class ActivityInput(Value):
    """Input of every activity. `outbox`: the transitions before this step. The activity writes them first."""

    process_id: str
    outbox: Outbox | None = None
    token_budget: int | None = Field(default=None, description="Of the tree, as its root has it now.")
    cost_budget: Decimal | None = Field(default=None, description="US dollars; of the tree, as its root has it now.")


class ModelOutput(Value):
    """The process's use so far. `out_of_budget`: a call was not made, because the tree's budget could not cover it."""

    spent: Spent = Spent()
    out_of_budget: bool = False


class Pending(Value):
    """Output of a model step that waits for answers from outside: the ids of its waiting calls."""

    waiting_calls: tuple[str, ...]


class FormulateInput(ActivityInput):
    pass


class FormulateOutput(ModelOutput):
    tension: TensionRef
    fallback: bool = Field(default=False, description="The raw intent stands as T: it could not be formulated.")


class DiscoverInput(ActivityInput):
    scene: str
    tension_text_id: str
    limit: int = Field(ge=1, description="At most so many people.")
    excluded: tuple[str, ...] = ()


class Candidate(Value):
    """A person whom the field found. The reasons, with their texts, are in the records."""

    profile_id: str
    perspective: str
    score: float
    endpoint: EndpointKind = Field(
        default=EndpointKind.PROXY,
        description="What speaks for them if nobody says otherwise: in a child as in its parent.",
    )


class DiscoverOutput(Value):
    candidates: tuple[Candidate, ...]


class ProposeInput(ActivityInput):
    """Search for people for the open points after a round. The demander may add them."""

    scene: str
    round: int
    limit: int = Field(ge=1, description="At most so many people.")
    excluded: tuple[str, ...] = ()


class FreezeInput(ActivityInput):
    """Seat people, and freeze the profile versions that are read for them."""

    choices: tuple[Choice, ...]
    aliases: tuple[str, ...] = Field(description="One for each choice, in the same order.")
    round: int = 1
    fallback: Fallback = Field(default=Fallback.LAPSE, description="For those who chose none of their own.")
    versions: dict[str, int] = Field(
        default_factory=dict,
        description="Profile id → version, in a fork; else the one that it has when they are seated.",
    )


def fewest_seated(quorum: int, *, later: bool, others: int, expected: int) -> int:
    """Return the least number of newcomers who are seated.

    It is the quorum (at least one) before the rounds, and one for later additions. If several participants were
    expected, at least two besides the demander must be in the room, because people agreed to a room of several.

    Args:
        quorum: of the process.
        later: whether rounds have been held.
        others: number of participants besides the demander.
        expected: that number if every chosen person is seated.
    """
    fewest = 1 if later else max(1, quorum)
    return max(fewest, ROOM_OF_OTHERS - others) if expected >= ROOM_OF_OTHERS else fewest


class FreezeOutput(Value):
    """The seated participants. Empty if too few of the chosen people remained, after erasures or withdrawn consents."""

    seats: tuple[Seat, ...]


class TurnInput(Value):
    """One turn: either the words of a person or their agent, or a call of a proxy.

    If the demander has no seat, a proxy's turn of the demander answers the gaps that ask `P00`.
    """

    alias: str
    submissions: tuple[str, ...] = Field(
        default=(),
        description="Text ids of what was said, in the order in which it was said. Empty: the proxy is asked.",
    )
    author: str = "proxy"
    revision: int = Field(default=1, ge=1, description="Counts corrections of one turn.")


class ProjectInput(ActivityInput):
    """Turns of one round that are brought into the record concurrently. No turn reads another."""

    round: int
    turns: tuple[TurnInput, ...]


class TurnOutput(Value):
    alias: str
    revision: int = Field(ge=1, description="Of the input: words that came later are not among these.")
    outcome: Outcome
    items: int = 0
    struck: int = 0
    reason: str = Field(default="", description="Of a failed turn: the closed word of the ledger.")


class ProjectOutput(ModelOutput):
    turns: tuple[TurnOutput, ...] = Field(description="One for each of the input's, in the same order.")


class ObserveInput(ActivityInput):
    round: int


class ObserveOutput(ModelOutput):
    """The part of an observation that the process needs, and figures for display, on which no decision depends."""

    verdict: Verdict
    concerned: tuple[str, ...] = Field(default=(), description="Aliases whom something of this observation concerns.")
    asks_demander: bool = Field(default=False, description="A gap of this observation asks `P00`.")
    relations: int = Field(default=0, description="Relations that stand after this round.")
    notes: int = Field(default=0, description="Notes that stand, gaps among them.")
    gaps: int = Field(default=0, description="Gaps that nobody has answered.")
    items: int = Field(default=0, description="Items of this round.")
    struck: int = 0


class PlanInput(ActivityInput):
    revision: int
    unconverged: bool = Field(default=False, description="Rounds ended without converging: name what is open.")
    without: tuple[str, ...] = ()
    proposals: tuple[str, ...] = Field(default=(), description="Aliases whose proposals the plan is made anew with.")
    readable: tuple[str, ...] = Field(
        default=(), description="Aliases whose profiles may be read: their owners allow a proxy to speak for them."
    )
    children: tuple[str, ...] = ()


class PlanOutput(ModelOutput):
    claims: int
    supported: int
    residuals: tuple[str, ...] = Field(default=(), description="Residuals for which the process has no child yet.")
    reduced: bool = False
    has_parts: bool = Field(default=True, description="Whether the plan has a claim or a task for anybody.")


class BranchInput(ActivityInput):
    residual: str


class BranchOutput(Value):
    """The child, or the reason why no child is started: `depth`, `duplicate`, `budget`, `unknown`, `nobody`, `nothing`,
    `cancelled`."""

    child: ProcessInput | None = None
    reason: str = ""


class DeliverInput(ActivityInput):
    revision: int
    aliases: tuple[str, ...]


class DeliverOutput(ModelOutput):
    delivered: tuple[str, ...] = ()


class RememberInput(ActivityInput):
    """After the plan, strengthen the passages that were used in the indexes of these participants' long profiles."""

    aliases: tuple[str, ...]


class ConsentInput(ActivityInput):
    """The chosen people whose consents are looked up."""

    choices: tuple[Choice, ...]
    others_expected: int = Field(ge=1, description="So many would sit beside the demander if all of them took part.")

    @property
    def alone(self) -> bool:
        """Whether a person would be the only participant besides the demander."""
        return self.others_expected < ROOM_OF_OTHERS


class ConsentOutput(Value):
    """Profile ids. People in none of the lists take part without being asked, and a proxy may speak for them."""

    ask: tuple[str, ...] = ()
    refused: tuple[str, ...] = Field(default=(), description="They take no part.")
    without_proxy: tuple[str, ...] = Field(
        default=(), description="Chosen as a person or agent: they take part, and no proxy may speak for them."
    )


class CheckDeadlineInput(ActivityInput):
    """After a deadline has passed, check whether a stored message of the person is still undelivered."""

    lanes: tuple[str, ...] = Field(description="Lanes that their messages come by.")
    since: datetime = Field(description="When they were asked.")


class CheckDeadlineOutput(Value):
    undelivered: bool = Field(default=False, description="A message is stored and has no verdict yet.")
    shut_seconds: float = Field(
        default=0.0, ge=0, description="For how long since then no message could be handed in, suspensions left out."
    )


class CancelChildrenInput(ActivityInput):
    """Send `cancel` to every child of the process that has not ended."""


class RecordInput(ActivityInput):
    """Write only the outbox. Used for transitions that no other step follows soon."""


@dataclass(frozen=True)
class ActivityContract(Generic[InputT, OutputT]):
    """An activity by name and types, independent of its implementation."""

    name: str
    input: type[InputT]
    output: type[OutputT]


@dataclass(frozen=True)
class ModelActivity(ActivityContract[InputT, OutputT]):
    """The activity of a model step. Its step determines the timeout and the number of calls."""

    step: Step[Any, Any]


FORMULATE: Final = ModelActivity("formulate", FormulateInput, FormulateOutput, steps.FORMULATE)
DISCOVER: Final = ActivityContract("discover", DiscoverInput, DiscoverOutput)
PROPOSE: Final = ActivityContract("propose", ProposeInput, DiscoverOutput)
FREEZE: Final = ActivityContract("freeze", FreezeInput, FreezeOutput)
PROJECT: Final = ModelActivity("project", ProjectInput, ProjectOutput, steps.PROJECT)
OBSERVE: Final = ModelActivity("observe", ObserveInput, ObserveOutput, steps.OBSERVE)
PLAN: Final = ModelActivity("plan", PlanInput, PlanOutput, steps.PLAN)
BRANCH: Final = ActivityContract("branch", BranchInput, BranchOutput)
DELIVER: Final = ModelActivity("deliver", DeliverInput, DeliverOutput, steps.DELIVER)
REMEMBER: Final = ActivityContract("remember", RememberInput, type(None))
CONSENT: Final = ActivityContract("consent", ConsentInput, ConsentOutput)
CHECK_DEADLINE: Final = ActivityContract("check_deadline", CheckDeadlineInput, CheckDeadlineOutput)
CANCEL_CHILDREN: Final = ActivityContract("cancel_children", CancelChildrenInput, type(None))
RECORD: Final = ActivityContract("record", RecordInput, type(None))


def queue_of(contract: ActivityContract[Any, Any]) -> str:
    """Return the task queue of the workers that execute a step."""
    if isinstance(contract, ModelActivity):
        return MODELS_QUEUE
    return FIELD_QUEUE if contract in (DISCOVER, PROPOSE) else PROCESS_QUEUE


def start_worker(role: str) -> str:
    """Return the advice to start a worker of this role."""
    return f"start a worker with `python worker.py {role}`"


def rules_marker(logic: int) -> str:
    """Return the name of the version marker in a run with these rules. Temporal indexes it as `TemporalChangeVersion`."""
    return f"logic-{logic}"


STATE_QUERY: Final = "state"
"""The query that returns the whole `State` of a process, from which the records can be rebuilt."""

OPERATOR_NEEDED: Final = "OperatorNeeded"
"""Type of the activity failure that suspends a process instead of failing its step."""

STEP_FAILED: Final = "StepFailed"
"""Type of an activity failure that retries cannot repair. Its message states the remedy."""

REFUSED: Final = "Refused"
"""Type of the failure with which an update is refused; its first detail is the `MessageVerdict`."""

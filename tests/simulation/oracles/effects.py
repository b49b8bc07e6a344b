"""The effects of each kind of message, and that it has no others (docs/protocol.md §3, §8.3)."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from tests.simulation.oracles.base import Frozen, Oracle, check
from tongyao.protocol.life.state import Words
from tongyao.protocol.model import messages as m
from tongyao.protocol.model.events import Event, EventKind

if TYPE_CHECKING:
    from tests.simulation.world import World

ALWAYS: Final = frozenset({"seq", "urgent", "lanes", "deadlines_set"})
"""Fields that any message may change: counters. `lanes` is compared with the rows after every input."""

MAY_CHANGE: Final[dict[str, frozenset[str]]] = {
    "revise_tension": frozenset({"tension", "deadline", "revisions"}),
    "consent": frozenset({"invitations", "selected", "without_proxy"}),
    "submit_projection": frozenset(
        {"turns", "late_words", "batches", "correcting_until", "gate_open", "demander_asked", "parked"}
    ),
    "switch_endpoint": frozenset({"seats", "turns", "batches", "parked"}),
    "extend_deadline": frozenset({"deadline", "turns", "invitations"}),
    "leave": frozenset({"seats", "turns", "late_words", "gate_open", "correcting_until", "parked"}),
    "decide": frozenset({"decision", "token_budget", "cost_budget", "deciding_cause", "decisions"}),
    "conclude": frozenset({"concluded"}),
    "set_mandate": frozenset(),
    "resume": frozenset({"causes", "stopped_at", "stopped_for", "resumed_at"}),
    "answer_plan": frozenset({"answers", "residuals"}),
    "approve_residual": frozenset({"residuals"}),
    "replan": frozenset({"proposals", "left_out", "replanned"}),
    "child_ended": frozenset({"residuals"}),
    "call_answered": frozenset({"answered_calls", "parked"}),
    "cancel": frozenset({"cancel_branch"}),
    "upgrade": frozenset({"upgrade_wanted"}),
}
"""By kind: the fields that a message may change if phase and round stay the same."""

CAUSES: Final = frozenset({"causes", "stopped_at", "stopped_for", "resumed_at"})
"""Fields of suspensions. A cause ends if its step is no longer wanted."""


class Effects(Oracle):
    def heard(self, world: World, message: m.Message, before: Frozen, events: list[Event]) -> None:
        after = world.frozen
        moved = after["phase"] != before["phase"] or after["round"] != before["round"]
        if not moved:
            changed = {name for name, value in after.items() if value != before[name]}
            allowed = MAY_CHANGE.get(message.kind, frozenset()) | ALWAYS | CAUSES
            over = before["correcting_until"] is not None  # the time for corrections may have ended
            if over or message.kind in ("submit_projection", "leave"):  # the gate may close, or the round fail
                allowed |= {"results", "deciding_cause", "batches", "turns", "gate_open", "correcting_until"}
            check(changed <= allowed, f"{message.kind} changes", changed - allowed)
            at_once = any(
                event.kind is EventKind.RESUMED for event in events
            )  # all endpoints failed, and none is a proxy
            if message.kind not in ("resume", "call_answered") and before["causes"] == after["causes"] and not at_once:
                check(not changed & CAUSES, message.kind, "moves the clock")
        check(before["lanes"].get(message.lane) != message.number or not message.number, "applied twice", message)
        getattr(self, f"_{message.kind}")(world, message, before, after, events)

    def _revise_tension(self, world: World, message: Any, before: Frozen, after: Frozen, events: list[Event]) -> None:
        check(after["tension"] == message.tension and after["phase"] == "confirming", "the revised tension stands")
        check(after["revisions"] == before["revisions"] + 1, "the ask to confirm it is another one")
        check((EventKind.TENSION_REVISED, {"grade": message.tension.grade.value}) in _data(events), events)

    def _confirm_tension(self, world: World, message: Any, before: Frozen, after: Frozen, events: list[Event]) -> None:
        named = world.state.start.participants
        check(after["phase"] == ("consenting" if named else "discovering"), "confirmed, and then", after["phase"])
        if named:
            self._asks(after, named, before)

    def _asks(self, after: Frozen, choices: Any, before: Frozen) -> None:
        check(after["selected"] == choices and not after["invitations"], "who is asked for consent", after["selected"])
        check(not after["consents_known"] and after["seatings"] == before["seatings"] + 1, "asked anew")

    def _select_participants(
        self, world: World, message: Any, before: Frozen, after: Frozen, events: list[Event]
    ) -> None:
        check(after["phase"] == "consenting", "selected, and then", after["phase"])
        self._asks(after, message.participants, before)

    def _consent(self, world: World, message: Any, before: Frozen, after: Frozen, events: list[Event]) -> None:
        kept = {one["number"]: one for one in after["invitations"]}
        was = {one["number"]: one for one in before["invitations"]}
        check((EventKind.CONSENT_ANSWERED, {"number": message.invitation}) in _data(events), events)
        if after["phase"] == "consenting":
            check(kept[message.invitation]["allowed"] is message.allow, "the answer", kept)
            check(all(kept[n] == was[n] for n in was if n != message.invitation), "somebody else's answer changes")
            choice = was[message.invitation]["choice"].model_copy(update={"endpoint": message.endpoint})
            check((choice in after["selected"]) == message.allow, "who said yes is seated", after["selected"])
            silent = choice.profile_id in after["without_proxy"]
            check(silent == (message.allow and message.endpoint.value != "proxy"), "for whom no proxy speaks", silent)

    def _submit_projection(
        self, world: World, message: Any, before: Frozen, after: Frozen, events: list[Event]
    ) -> None:
        alias = message.alias
        said = Words(lane=message.lane, round=message.round, text_id=message.text_id)
        open_now = before["phase"] == "crystallizing" and before["gate_open"]
        told = (EventKind.WORDS_ARRIVED, {"alias": alias, "round": before["round"] + (not open_now)})
        check(told in _data(events), "nobody is told of words", events)
        check(alias != "P00" or not after["demander_asked"], "the demander has answered, and is still asked")
        check(alias == "P00" or after["demander_asked"] == before["demander_asked"], "somebody else answers for P00")
        if not open_now:
            kept = [*before["late_words"].get(alias, []), said]
            check(after["late_words"] == before["late_words"] | {alias: kept}, "words for the next round")
            check(after["turns"] == before["turns"], "the round is over, and its words change")
            return
        if (
            after["round"] != before["round"]
            or after["phase"] != before["phase"]
            or after["causes"] != before["causes"]
        ):
            return
        turn, was = after["turns"][alias], before["turns"].get(alias)
        place, now = (message.lane, message.round), message.round == before["round"]
        kept = [one for one in was["words"] if not now or (one.lane, one.round) != place] if was else []
        words = kept + [said] * bool(message.text_id)
        check((turn["words"], turn["nothing_new"]) == (words, not words), "the words", turn, words)
        check(turn["revision"] == (was["revision"] if was else 0) + 1, "counted as said anew", turn)
        check(turn["author"] == world.state.endpoint_of(alias), "who spoke", turn)
        corrects = world.state.start.settings.correcting_seconds > 0
        check(not turn["reason"] and (not corrects or turn["outcome"] is None), "the turn", turn)
        check(not (turn["batch"] and corrects), "what may be corrected is brought into the record", turn)
        check(
            turn["batch"] != (was["batch"] if was else 0) or not turn["batch"], "words go to a step of their own", turn
        )
        if corrects:
            self._other_turns(before, after, alias)
        check(after["late_words"] == before["late_words"], "words for this round are kept for later")

    def _other_turns(self, before: Frozen, after: Frozen, alias: str) -> None:
        """Check that only the turn of `alias` changes, except if a failed round is repeated or corrections end."""
        if after["causes"] == before["causes"] and not _corrections_end(before, after):
            same = all(after["turns"][one] == before["turns"][one] for one in before["turns"] if one != alias)
            check(same, "somebody else's turn changes", before["turns"], after["turns"])

    def _switch_endpoint(self, world: World, message: Any, before: Frozen, after: Frozen, events: list[Event]) -> None:
        seat, was = after["seats"][message.alias], before["seats"][message.alias]
        proxy = "proxy" in (message.endpoint.value, message.fallback.value if message.fallback else "")
        consented = was["consented"] or (proxy and message.author.role != "operator" and message.number > 0)
        expected = was | {
            "endpoint": message.endpoint,
            "fallback": message.fallback or was["fallback"],
            "consented": consented,
        }
        check(seat == expected, "the seat", seat, expected)
        check(_others(after["seats"], message.alias) == _others(before["seats"], message.alias), "another seat changes")
        data = {"alias": message.alias, "to": message.endpoint.value, "fallback": expected["fallback"].value}
        told = (EventKind.ENDPOINT_SWITCHED, data)
        check(told in _data(events), "nobody is told of the switch", events)
        turn = before["turns"].get(message.alias)
        rounds = before["phase"] == "crystallizing"
        if not rounds or turn is None or after["round"] != before["round"]:
            check(
                turn is None or before["phase"] != after["phase"] or after["turns"] == before["turns"] or rounds,
                "turns",
            )
            return
        now = after["turns"].get(message.alias)
        spoken = turn["words"] or turn["nothing_new"] or turn["outcome"] is not None
        if spoken or was["endpoint"] == message.endpoint:
            check(
                now == turn or _corrections_end(before, after), "what was said does not change with the seat", turn, now
            )
        elif message.endpoint.value == "proxy":
            check(
                now["deadline"] is None and now["batch"] and now["author"].value == "proxy", "the proxy is asked", now
            )
        elif was["endpoint"].value == "proxy":
            check(now["deadline"] is not None and not now["batch"], "the person is asked", now)
        else:
            check(now == turn, "a person and their agent have one turn", turn, now)
        self._other_turns(before, after, message.alias)

    def _extend_deadline(self, world: World, message: Any, before: Frozen, after: Frozen, events: list[Event]) -> None:
        told = [one for one in events if one.kind is EventKind.DEADLINE_EXTENDED]
        changed = after["turns"] != before["turns"] or after["deadline"] != before["deadline"]
        check(
            (bool(told) == changed or _corrections_end(before, after))
            and all(one.data["alias"] == message.alias for one in told),
            "extended",
            events,
        )
        self._other_turns(before, after, message.alias)
        check(message.alias == "P00" or after["deadline"] == before["deadline"], "extends the phase")

    def _leave(self, world: World, message: Any, before: Frozen, after: Frozen, events: list[Event]) -> None:
        alias = message.alias
        check(after["seats"][alias] == before["seats"][alias] | {"active": False}, "who left sits")
        check(_others(after["seats"], alias) == _others(before["seats"], alias), "another seat changes")
        told = (EventKind.PARTICIPANT_LEFT, {"alias": alias, "round": before["round"]})
        check(told in _data(events) and alias not in after["late_words"], "left", events)
        unused = [one.data for one in events if one.kind is EventKind.WORDS_UNUSED and one.data["alias"] == alias]
        check(all(one == told[1] for one in unused), "unused words of another round", unused)
        check(bool(unused) or alias not in before["late_words"], "nobody is told of the unused words", alias)
        turn = before["turns"].get(alias)
        if turn is not None and turn["outcome"] is None and not turn["words"] and not turn["nothing_new"]:
            ended = [one.data for one in events if one.kind is EventKind.PROJECTION_RECEIVED]
            check([(one["alias"], one["outcome"]) for one in ended[:1]] == [(alias, "left")], "the turn ends", events)
        elif turn is not None and all(after[name] == before[name] for name in ("round", "phase", "causes")):
            same = after["turns"][alias]["words"] == turn["words"] and after["turns"][alias]["outcome"] != "left"
            check(same, "what was said before stays", turn, after["turns"][alias])

    def _decide(self, world: World, message: Any, before: Frozen, after: Frozen, events: list[Event]) -> None:
        decision = message.decision.value
        budgets = before["token_budget"], before["cost_budget"]
        if decision == "raise_budget":
            budgets = message.tokens or budgets[0], Decimal(message.cost) if message.cost else budgets[1]
        check((after["token_budget"], after["cost_budget"]) == budgets, "the budget after", decision, budgets)
        at_limit = decision == "raise_budget" and before["round"] >= before["round_limit"]
        follows = {
            "accept_as_is": "planning",
            "abandon": "abandoned",
            "add_participants": "consenting",
            "extend": "crystallizing",
            "raise_budget": "deciding" if at_limit else "crystallizing",
        }[decision]
        check(after["phase"] == follows, decision, "and then", after["phase"])
        if follows == "deciding":
            cause = "limit" if before["deciding_cause"] == "budget" else before["deciding_cause"]
            check((EventKind.DECISION_NEEDED, {"cause": cause}) in _data(events), "asked again, and not told", events)
            check(after["decisions"] == before["decisions"] + 1, "the second decision has the id of the first")
        if decision == "add_participants":
            self._asks(after, message.participants, before)
        check(decision != "accept_as_is" or after["unconverged"], "accepted as it is: the plan names what is open")

    def _conclude(self, world: World, message: Any, before: Frozen, after: Frozen, events: list[Event]) -> None:
        starting = any(one["status"] == "approved" for one in before["residuals"].values())
        phase = before["phase"].value
        if phase == "crystallizing" and before["deciding_cause"] is not None:
            check(after["phase"] == "planning" and after["unconverged"], "the rounds have stopped: planned at once")
        elif phase == "crystallizing":
            check(after["concluded"] and after["phase"] == "crystallizing", "the present round is finished first")
        elif phase == "answering":
            check(after["phase"] in ("awaiting_children", "completed", "planning"), "answers are waited for no longer")
        else:
            check(after["phase"] != phase or (starting and after["concluded"]), "children are waited for no longer")

    def _set_mandate(self, world: World, message: Any, before: Frozen, after: Frozen, events: list[Event]) -> None:
        check(events[0].data == {"alias": message.alias}, "a mandate is only noted", events)

    def _resume(self, world: World, message: Any, before: Frozen, after: Frozen, events: list[Event]) -> None:
        kept = {name for name, cause in before["causes"].items() if cause["kind"] == "infrastructure"}
        check(set(after["causes"]) <= kept, "resumed, and still suspended by an operator's cause", after["causes"])
        check(all(cause["retry_at"] is None for cause in after["causes"].values()), "is tried again at once")

    def _cancel(self, world: World, message: Any, before: Frozen, after: Frozen, events: list[Event]) -> None:
        check(after["phase"] == "cancelled" and after["cancel_branch"] is message.branch, "cancelled")
        check(not after["turns"] and not after["causes"] and after["deadline"] is None, "and nobody is waited for")

    def _answer_plan(self, world: World, message: Any, before: Frozen, after: Frozen, events: list[Event]) -> None:
        told = {
            "alias": message.alias,
            "decision": message.answer,
            "revision": message.revision,
            "text_id": message.text_id,
        }
        check((EventKind.ANSWER_RECEIVED, told) in _data(events), events)
        check(after["answers"] == before["answers"] | {message.alias: message.answer}, "the answer")
        settings = world.state.start.settings
        goes_back = settings.residuals != "off" and world.state.start.depth < settings.depth_limit
        hole = f"plan/{message.revision}/hole/{message.alias}"
        leaves = message.answer == "decline" and goes_back and message.alias != "P00"
        check((hole in after["residuals"]) == leaves, "whoever declines leaves a hole", after["residuals"])

    def _approve_residual(self, world: World, message: Any, before: Frozen, after: Frozen, events: list[Event]) -> None:
        status = after["residuals"][message.residual]["status"]
        check(status == ("approved" if message.approve else "refused"), message, status)
        check(
            _others(after["residuals"], message.residual) == _others(before["residuals"], message.residual),
            "another one",
        )
        if not message.approve:
            told = {"residual": message.residual, "reason": "declined"}
            check((EventKind.CHILD_REFUSED, told) in _data(events), events)

    def _replan(self, world: World, message: Any, before: Frozen, after: Frozen, events: list[Event]) -> None:
        check(after["phase"] == "planning" and after["replanned"] and not before["replanned"], "planned anew, once")
        check(after["left_out"] == message.without, "who is left out")
        check(after["proposals"] == message.proposals, "what is taken up")

    def _child_ended(self, world: World, message: Any, before: Frozen, after: Frozen, events: list[Event]) -> None:
        ended = {name for name, one in after["residuals"].items() if one != before["residuals"][name]}
        check(len(ended) == 1, "one child ends", ended)
        one = after["residuals"][ended.pop()]
        check((one["status"], one["child"], one["outcome"]) == ("ended", message.child, message.outcome), one)
        told = [event.data for event in events if event.kind is EventKind.CHILD_FINISHED]
        check([(data["child"], data["outcome"]) for data in told] == [(message.child, message.outcome)], events)

    def _call_answered(self, world: World, message: Any, before: Frozen, after: Frozen, events: list[Event]) -> None:
        parked = before["parked"].values()
        known = any(message.call in one["calls"] and one["deadline"] is not None for one in parked)
        kept = before["answered_calls"] if known else (*before["answered_calls"], message.call)
        check(after["answered_calls"] == kept, "kept for a step that still runs")

    def _upgrade(self, world: World, message: Any, before: Frozen, after: Frozen, events: list[Event]) -> None:
        check(after["upgrade_wanted"], "an upgrade is wanted")


def _data(events: list[Event]) -> list[tuple[EventKind, Any]]:
    return [(event.kind, event.data) for event in events]


def _others(all_of: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in all_of.items() if key != name}


def _corrections_end(before: Frozen, after: Frozen) -> bool:
    """Return whether the time for corrections ended with this input."""
    return before["correcting_until"] is not None and after["correcting_until"] is None

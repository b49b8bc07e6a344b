"""Sends messages to processes, and returns their receipts."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Final

from pydantic import Field

from tongyao.app import standing
from tongyao.app.action_permissions import MESSAGE_PERMISSIONS, Action, Role, roles_in_words
from tongyao.app.authorization import (
    Caller,
    ProcessAccess,
    authorize_in_process,
    authorize_invited,
    invited_author,
    permit,
)
from tongyao.app.choosing.choices import takes_up_proposals
from tongyao.app.contacts import keep_contact
from tongyao.app.context import AppContext
from tongyao.app.errors import BadInput, NotAllowed, NotFound, Refused
from tongyao.app.messaging.body_conversion import checked_key, chosen, stored_key, tension_of, with_endpoints
from tongyao.app.messaging.given_names import check_names, names_in
from tongyao.app.operators.project_again import state_of
from tongyao.app.quotas import check_chosen, check_storage
from tongyao.app.start import check_ceiling, start_child
from tongyao.app.writing import writing
from tongyao.protocol.life import asks
from tongyao.protocol.model.ids import ask_id, child_id, invitation_of
from tongyao.protocol.model.messages import (
    MAX_TEXT,
    MESSAGE,
    AnswerPlanBody,
    AnswerToAsk,
    ApproveResidual,
    ApproveResidualBody,
    ConsentBody,
    DecideBody,
    ExtendDeadline,
    ExtendDeadlineBody,
    LeaveBody,
    Message,
    MessageBody,
    ReplanBody,
    ReviseTensionBody,
    SelectParticipantsBody,
    SubmitProjectionBody,
    SwitchEndpointBody,
)
from tongyao.protocol.model.process import DEMANDER, Phase, TensionRef
from tongyao.protocol.model.process_settings import ProcessSettings, to_proxy
from tongyao.protocol.model.projection import AgentSubmission, EndpointKind
from tongyao.protocol.model.tension import Lineage, NameFound
from tongyao.protocol.model.value import Value
from tongyao.protocol.rules.consent import Consent
from tongyao.protocol.rules.refusals import MessageVerdict, Refusal
from tongyao.records.database import BadValue
from tongyao.records.privacy.texts import NewText
from tongyao.records.process.messages import MessageText, MessageUnknown, StoredMessage, message_text_id
from tongyao.records.process.process_rows import ProcessRow
from tongyao.texts.catalogue import catalogue, in_both

_MILLIONTH: Final = Decimal("0.000001")


class Receipt(Value):
    """The receipt of a message: `applied`, `refused`, or `waiting` for a worker. It can be queried again by its id."""

    id: str
    process_id: str
    kind: str
    state: str
    code: str = ""
    en: str = ""
    zh: str = ""
    repeated: bool = Field(
        default=False, description="A message with this key was applied before; nothing was changed now."
    )
    round: int | None = Field(
        default=None,
        description="Of words: the round in which they count. A later one than they were sent for where that had closed.",
    )
    later: bool = Field(default=False, description="Whether words count in a later round than they were sent for.")


async def send_message(
    context: AppContext, caller: Caller, process_id: str, body: MessageBody, *, key: str | None, via: str
) -> Receipt:
    """Send a message to a process. Raises `Refused` if the process refuses it, and other `Problem`s."""
    key = stored_key(checked_key(key))
    if isinstance(body, ConsentBody):
        access = await authorize_invited(context.repositories, caller, process_id, body.invitation)
    else:
        access = await authorize_in_process(context.repositories, caller, process_id, Action.SEND_MESSAGE)
    await _check_own_proxy(context, caller, access, body)
    if not caller.on_the_machine:
        _check_ceilings(context, body)
    if isinstance(body, AnswerPlanBody) and body.contact.strip() and body.answer != "commit":
        raise BadInput("contact_without_commit", "a contact is for those who commit: leave it out", field="contact")
    if isinstance(body, ReplanBody) and body.proposals and not body.without:
        await _check_proposals_are_used(context, process_id)
    if isinstance(body, SelectParticipantsBody | DecideBody):
        await check_chosen(context, caller, access.process.demander, chosen(body.participants))
    return await send_as(context, access, body, key=key, via=via)


async def _check_proposals_are_used(context: AppContext, process_id: str) -> None:
    """Raise `BadInput` if the new plan could not include the proposals. A process has at most one new plan."""
    if not await takes_up_proposals(context.repositories, process_id):
        raise BadInput.worded("proposals_not_used", "refusal.proposals_not_used", field="proposals")


async def _check_own_proxy(context: AppContext, caller: Caller, access: ProcessAccess, body: MessageBody) -> None:
    """If this message switches to or allows the sender's proxy, check that the proxy may speak.

    Raises `BadInput` if the person decided `never` for the scene. Raises `NotAllowed` if a token for one process would
    give a consent that the person has not given.
    """
    switches = isinstance(body, SwitchEndpointBody) and to_proxy(body.endpoint, body.fallback)
    allows = isinstance(body, ConsentBody) and body.allow and body.endpoint is EndpointKind.PROXY
    if not (switches or allows) or not access.person:
        return
    known = await context.repositories.consents.standing([access.person], access.process.scene_id or "")
    if access.person in known and known[access.person].consent is Consent.NEVER:
        raise BadInput(
            "consent_never",
            "you decided that no proxy ever speaks for you in this scene: change that first "
            "(`PUT /profiles/ID/consents/SCENE`, over MCP `set_consent`)",
            field="kind",
        )
    if (
        caller.role is Role.PARTICIPANT
        and not (await context.repositories.speaking_in(access.process, [access.person]))[0]
    ):
        raise NotAllowed(
            "the owner of this profile has not allowed a proxy to read it here: only the owner can, with a token of their own"
        )


def _check_ceilings(context: AppContext, body: MessageBody) -> None:
    """Apply the limits of a start to messages (docs/protocol.md §10.1). Raises `BadInput`."""
    match body:
        case DecideBody():
            check_ceiling(context, "token_budget", body.tokens, field="tokens")
            check_ceiling(context, "cost_budget", body.cost, field="cost")
        case ExtendDeadlineBody():
            check_ceiling(context, "turn_seconds", body.seconds, field="seconds")


async def send_as(context: AppContext, access: ProcessAccess, body: MessageBody, *, key: str, via: str) -> Receipt:
    """Like `send_message`, for a caller who is already authorized."""
    lineage = None
    if isinstance(body, ApproveResidualBody) and body.ask:
        return await _answer_candidate(context, access, body, key=key, via=via)
    if isinstance(body, SubmitProjectionBody) and body.items:
        await _check_agent_speaks(context, access)
    if isinstance(body, ReviseTensionBody) and access.role in MESSAGE_PERMISSIONS[body.kind]:
        body, lineage = await _with_checked_names(context, access, body)
    if isinstance(body, SelectParticipantsBody | DecideBody) and access.process.parent_id:
        spoke = await context.repositories.seats.spoke_for_themselves(access.process.parent_id)
        body = body.model_copy(update={"participants": with_endpoints(body.participants, spoke)})
    message, text = build_message(body, access, key, lineage=lineage)
    if isinstance(message, AnswerToAsk) and not message.ask and access.role is not Role.OPERATOR:
        message = message.model_copy(update={"ask": await _shown_ask(context, access.process, message)})
    if isinstance(message, ApproveResidual) and access.process.ended_at is not None:
        if not message.approve:
            no = MessageVerdict.refused(Refusal.NOTHING_TO_REFUSE)
            raise Refused(no, "", phase=access.process.phase, language=access.process.language)
        return await _start_child_of_ended(context, access, message)
    names: Sequence[NameFound] = ()
    if text is not None and isinstance(body, SubmitProjectionBody | AnswerPlanBody):
        names = await names_in(body.words, body.names) if await _may_speak(context, access) else ()
    async with writing(context.repositories, access.caller, access.person):
        if text is not None:
            await check_storage(context, access.caller, access.person, chars=len(text.text))
        await context.repositories.shared.hide(access.process, [[name] for name in names], author=access.alias)
        kept = await context.relay.store(
            access.process.id, message, author_id=access.author_id, via=via, login=access.login, text=text
        )
        if text is not None and isinstance(body, AnswerPlanBody):
            id = message_text_id(access.process.id, access.author_id, key)
            new = NewText(id, text.owner, text.kind, text.text)
            await context.repositories.shared.put(access.process, [new], aliases={id: access.alias})
    stored = await context.relay.forward(kept, wait=context.options.answer_seconds)
    if stored.verdict is not None and not stored.verdict.accepted:
        phase = access.process.phase if access.role is not Role.INVITED else ""
        raise Refused(
            in_detail(stored.verdict, body, access.process), stored.id, phase=phase, language=access.process.language
        )
    if isinstance(body, AnswerPlanBody) and body.contact.strip():
        await keep_contact(
            context, access, body.contact
        )  # also if the message is a repetition, because the earlier attempt may have stopped before this line
    return _receipt(stored, repeated=kept.verdict is not None)


async def _may_speak(context: AppContext, access: ProcessAccess) -> bool:
    """Whether the process is open and the caller has not left it. If not, earlier texts keep their names."""
    seats = await context.repositories.seats.seats(access.process.id)
    gone = any(seat.alias == access.alias and not seat.active for seat in seats)
    return access.process.ended_at is None and not gone


async def _check_agent_speaks(context: AppContext, access: ProcessAccess) -> None:
    """Check that an agent speaks in this turn. Only agents may send items, which have kinds and quotes. Raises
    `BadInput`, and `Unavailable` without a worker.

    The workflow is queried, because the records may be behind it.
    """
    state, _ = await state_of(context.client, access.process.id)
    if state.endpoint_of(access.alias) is not EndpointKind.AGENT:
        raise BadInput("no_agent", "`items` are for turns in which your own agent speaks: send a `text`", field="items")


async def _shown_ask(context: AppContext, process: ProcessRow, message: Message) -> str:
    """Return the id of the ask that the records show as open, for a message without an ask id. With this id the message
    cannot answer a later ask.

    The records may be a round behind the workflow. In the rounds, `conclude` has the same effect in each round, so its
    id contains only the phase.
    """
    if message.kind == "conclude" and process.phase == Phase.CRYSTALLIZING:
        return ask_id("conclude", Phase.CRYSTALLIZING)
    if message.kind in ("conclude", "extend_deadline", "replan"):
        plan = await context.repositories.plans.latest(process.id)
        revision = plan.revision if plan else 0
        if message.kind == "replan":
            return ask_id("replan", revision)
        alias = message.alias if isinstance(message, ExtendDeadline) else ""
        return asks.moment(message.kind, Phase(process.phase), process.round, revision, alias)
    answered = asks.answered_by(message.kind)
    rows = await context.repositories.inbox.of_process(process.id, open_only=True)
    return next((row.ask_id for row in rows if row.ask in answered), asks.NEVER_OPEN)


async def _with_checked_names(
    context: AppContext, access: ProcessAccess, body: ReviseTensionBody
) -> tuple[ReviseTensionBody, Lineage | None]:
    """Return the revision with checked names, and the lineage of the current tension.

    A revision without `names` keeps the names of the current tension. Raises `BadInput` for a name that is not valid.
    """
    record = await context.repositories.record(access.process, own=(DEMANDER,))
    before = record.own_tension
    lineage = before.lineage if before is not None else None
    found = before.names if before is not None else ()
    if body.tension.names is None:
        return body.model_copy(update={"tension": body.tension.model_copy(update={"names": found})}), lineage
    shown = before.lines() if before is not None else ()
    await check_names(body.tension.names, found=found, texts=(record.intent, *shown), tension=tension_of(body.tension))
    return body, lineage


def build_message(
    body: MessageBody, access: ProcessAccess, key: str, *, lineage: Lineage | None = None
) -> tuple[Message, MessageText | None]:
    """Return the protocol's message, which refers to its text by id, and the text. `lineage`: of a revised tension.

    Raises `NotAllowed` if the role may not send this kind, and `BadInput`.
    """
    allowed = MESSAGE_PERMISSIONS[body.kind]
    if access.role not in allowed:
        raise NotAllowed(f"`{body.kind}` is not for the role {access.role.value}: it is for {roles_in_words(allowed)}")
    text_id = message_text_id(access.process.id, access.author_id, key)
    fields: dict[str, Any]
    text = ""
    match body:
        case ReviseTensionBody():
            tension = tension_of(body.tension).model_copy(update={"lineage": lineage})
            reference = TensionRef(text_id=text_id, grade=tension.grade, barriers=len(tension.barriers))
            fields = {"tension": reference, "ask": body.ask}
            text = tension.model_dump_json()
        case SubmitProjectionBody():
            text = _whole_text(body)
            fields = {"alias": access.alias, "round": body.round, "nothing_new": body.nothing_new}
            fields["text_id"] = text_id if text.strip() else ""
        case AnswerPlanBody():
            text = body.text
            fields = {"alias": access.alias, "revision": body.revision, "answer": body.answer}
            fields["text_id"] = text_id if text.strip() else ""
        case SwitchEndpointBody() | LeaveBody():
            fields = {**body.model_dump(exclude={"kind"}), "alias": _alias(body.alias, access)}
        case ExtendDeadlineBody():
            alias = body.alias if access.role is Role.DEMANDER else _alias(body.alias, access)
            fields = {"alias": alias or DEMANDER, "seconds": body.seconds, "ask": body.ask}
        case SelectParticipantsBody():
            fields = {"participants": chosen(body.participants), "ask": body.ask}
        case DecideBody():
            fields = {
                "decision": body.decision,
                "ask": body.ask,
                "participants": chosen(body.participants),
                "tokens": body.tokens,
                "cost": f"{body.cost.quantize(_MILLIONTH).normalize():f}" if body.cost is not None else None,
            }
        case ApproveResidualBody():
            fields = {"residual": body.residual, "approve": body.approve}
        case ConsentBody():
            fields = {**body.model_dump(exclude={"kind"}), "invitation": invitation_of(access.alias)}
        case _:
            fields = body.model_dump(exclude={"kind"})
    message = MESSAGE.validate_python({"kind": body.kind, "key": key, "author": access.author, **fields})
    if not text.strip():
        return message, None
    kind = "tension" if isinstance(body, ReviseTensionBody) else "words"
    return message, MessageText(owner=access.person, kind=kind, text=text)


def _whole_text(body: SubmitProjectionBody) -> str:
    """Return `text`, or `items` as an agent's submission. Raises `BadInput` if both are given, or if too long."""
    if not body.items:
        if body.shown.strip():
            raise BadInput("items_missing", "`shown` is allowed only with `items`", field="items")
        return body.text
    if body.text.strip() or body.nothing_new:
        raise BadInput("two_answers", "send either `text`, `items` or `nothing_new`", field="items")
    whole = AgentSubmission(shown=body.shown, items=list(body.items)).model_dump_json()
    if len(whole) > MAX_TEXT:
        long = f"the items and `shown` have {len(whole):,} characters; at most {MAX_TEXT:,}"
        raise BadInput("too_long", long, field="items")
    return whole


def _alias(alias: str | None, access: ProcessAccess) -> str:
    """Return the alias to which a message applies: the caller's own, or the alias that an operator names."""
    if access.role is not Role.OPERATOR:
        if alias not in (None, access.alias):
            raise NotAllowed(f"your alias here is {access.alias}: leave `alias` out")
        return access.alias
    if alias is None:
        raise BadInput("alias_missing", "give the participant for whom it is: `alias`", field="alias")
    return alias


async def _start_child_of_ended(context: AppContext, access: ProcessAccess, message: ApproveResidual) -> Receipt:
    """Start the child of an ended process, which cannot start it itself."""
    child = await start_child(context, access.process.id, message.residual, caller=access.caller)
    return _child_receipt(access, message.kind, child)


def _child_receipt(access: ProcessAccess, kind: str, child: str) -> Receipt:
    """Return the receipt of a decision on a child. `child`: its id; empty if the demander declined."""
    en, zh = in_both("app", "receipt.child_started" if child else "receipt.no_candidate", child=child)
    id = child or access.process.id
    return Receipt(id=id, process_id=access.process.id, kind=kind, state="applied", code="accepted", en=en, zh=zh)


async def _answer_candidate(
    context: AppContext, access: ProcessAccess, body: ApproveResidualBody, *, key: str, via: str
) -> Receipt:
    """Apply the decision on a candidate. Raises `NotAllowed`, `NotFound`, `BadInput`, `Refused`."""
    build_message(body, access, key)  # raises if the role may not send it
    child = await standing.answer_candidate(context, access, body.ask, begin=body.approve)
    if isinstance(child, SelectParticipantsBody):
        receipt = await send_as(context, access, child, key=key, via=via)
        if receipt.state == "applied":
            await standing.taken_up(context.repositories, access.process.id, body.ask, access.process.id)
        return receipt
    return _child_receipt(access, body.kind, child)


async def message_state(context: AppContext, caller: Caller, message_id: str) -> Receipt:
    """Return the receipt of the caller's own message. Raises `NotFound` for messages of others."""
    if caller.anonymous:
        permit(caller, Action.READ_MESSAGE)
    unknown = NotFound("no_such_message", f"you have sent no message {message_id!r}")
    try:
        stored = await context.repositories.messages.get(message_id)
    except (MessageUnknown, BadValue):  # BadValue: not the form of a message id
        raise unknown from None
    if not caller.operator:
        try:
            access = await authorize_in_process(context.repositories, caller, stored.process_id, Action.SEND_MESSAGE)
        except NotFound:  # that error would name a process in which the caller has no role
            raise unknown from None
        own = {access.author_id, *({invited_author(caller.person)} if caller.role is Role.PERSON else ())}
        if stored.author_id not in own:
            raise unknown
    return _receipt(stored)


def _receipt(stored: StoredMessage, *, repeated: bool = False) -> Receipt:
    verdict = stored.verdict
    if verdict is None:
        state, (en, zh) = "waiting", in_both("app", "receipt.waiting")
    elif verdict.accepted:
        state, (en, zh) = "applied", _applied(stored, verdict.round)
    else:
        state, (en, zh) = "refused", (verdict.en, verdict.zh)
    return Receipt(
        id=stored.id,
        process_id=stored.process_id,
        kind=stored.kind,
        state=state,
        code=verdict.code if verdict else "",
        en=en,
        zh=zh,
        repeated=repeated or (verdict is not None and verdict.repeated),
        round=_counts_in(stored),
        later=bool(verdict and verdict.round),
    )


def _counts_in(stored: StoredMessage) -> int | None:
    """Return the round in which words count, or would have counted; None for other messages."""
    if stored.kind != "submit_projection":
        return None
    later = stored.verdict.round if stored.verdict is not None else 0
    return later or int(stored.payload["round"])


def _applied(stored: StoredMessage, later: int) -> tuple[str, str]:
    """Return the sentence of an applied message in both languages. `later`: the later round of words, or 0."""
    key, values = stored.kind, dict[str, object]()
    if later:
        key, values = "later_round", {"sent": stored.payload["round"], "round": later}
    elif stored.payload.get("nothing_new"):
        key = "nothing_new"
    elif stored.kind == "switch_endpoint":
        key = f"to_{stored.payload['endpoint']}"
    elif stored.kind == "approve_residual":
        key = "approve_residual" if stored.payload["approve"] else "no_child"
        values = {"child": child_id(stored.process_id, stored.payload["residual"])}
    return in_both("app", f"receipt.{key}", **values) if f"receipt.{key}" in catalogue("app") else ("", "")


def in_detail(verdict: MessageVerdict, body: MessageBody, process: ProcessRow) -> MessageVerdict:
    """Return the verdict with details of this message, or unchanged if there are none."""
    match body:
        case SubmitProjectionBody() if verdict.code == Refusal.TURN_OVER:
            before = in_both("app", "refusal.round", round=body.round)
            return _worded(verdict, before[0] + verdict.en, before[1] + verdict.zh)
        case SelectParticipantsBody() if verdict.code == Refusal.NO_PARTICIPANTS:
            needed = max(1, ProcessSettings.model_validate(process.settings).quorum)
            return _too_few(verdict, len(body.participants), needed)
        case DecideBody() if verdict.code == Refusal.NO_PARTICIPANTS:
            return _too_few(verdict, len(body.participants), 1)
    return verdict


def _too_few(verdict: MessageVerdict, named: int, needed: int) -> MessageVerdict:
    missing = needed - named
    return _worded(verdict, *in_both("app", "refusal.too_few", named=named, needed=needed, missing=missing))


def _worded(verdict: MessageVerdict, en: str, zh: str) -> MessageVerdict:
    return verdict.model_copy(update={"en": en, "zh": zh})

"""The table of permissions, role × action (docs/api.md, "Roles"). An action that is not in the table is refused.

A role applies to one process or object. The same person can be demander in one process and participant in another.
Processes in which a person has no role do not exist for that person.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import Final


class Role(StrEnum):
    ANONYMOUS = "anonymous"
    PERSON = "person"  # has a personal token; the role for objects that have no owner
    OWNER = "owner"  # for their own profile and their own tokens
    DEMANDER = "demander"
    PARTICIPANT = "participant"
    INVITED = "invited"  # was asked for consent to a proxy, and has no seat
    OPERATOR = "operator"
    ANSWERER = "calls"  # answers waiting model calls, and sees nothing else


class Action(StrEnum):
    """The actions. Every operation of the API and every tool of the MCP server is one of them."""

    LIST_SCENES = "list_scenes"
    WRITE_SCENE = "write_scene"
    LIST_PEOPLE = "list_people"
    SEARCH_PEOPLE = "search_people"
    JOIN = "join"
    WHO_AM_I = "who_am_i"
    READ_PROFILE = "read_profile"
    READ_PROFILE_TEXT = "read_profile_text"
    WRITE_PROFILE = "write_profile"
    DELETE_PROFILE = "delete_profile"
    MANDATE = "mandate"
    CONSENTS = "consents"
    CHANNELS = "channels"
    SOURCE = "source"
    START_PROCESS = "start_process"
    FORK = "fork"
    KEEP_LOOKING = "keep_looking"
    READ_STANDING = "read_standing"
    STEP_FORWARD = "step_forward"
    LIST_PROCESSES = "list_processes"
    READ_PROCESS = "read_process"
    READ_EVENTS = "read_events"
    READ_CANDIDATES = "read_candidates"
    READ_PLAN = "read_plan"
    READ_DELIVERY = "read_delivery"
    GIVE_FEEDBACK = "give_feedback"
    GIVE_CONTACT = "give_contact"
    SEND_MESSAGE = "send_message"
    READ_MESSAGE = "read_message"
    READ_INBOX = "read_inbox"
    READ_OPERATIONS = "read_operations"
    DECODE_PAYLOADS = "decode_payloads"
    ANSWER_CALLS = "answer_calls"
    ISSUE_TOKEN = "issue_token"
    LIST_TOKENS = "list_tokens"
    REVOKE_TOKEN = "revoke_token"


_EVERYBODY: Final = frozenset(Role) - {Role.ANSWERER}
_OWN: Final = frozenset({Role.OWNER})
_OWN_OR_OPERATOR: Final = frozenset({Role.OWNER, Role.OPERATOR})
_ANY_TOKEN: Final = frozenset({Role.PERSON, Role.PARTICIPANT, Role.OPERATOR})
_IN_THE_PROCESS: Final = frozenset({Role.DEMANDER, Role.PARTICIPANT, Role.OPERATOR})

PERMISSIONS: Final[Mapping[Action, frozenset[Role]]] = {
    Action.LIST_SCENES: _EVERYBODY,
    Action.WRITE_SCENE: frozenset({Role.OPERATOR}),
    Action.LIST_PEOPLE: frozenset({Role.PERSON, Role.OPERATOR}),
    Action.SEARCH_PEOPLE: frozenset({Role.PERSON, Role.OPERATOR}),
    Action.JOIN: _EVERYBODY,
    Action.WHO_AM_I: frozenset(Role),
    Action.READ_PROFILE: _OWN_OR_OPERATOR,
    Action.READ_PROFILE_TEXT: _OWN,
    Action.WRITE_PROFILE: _OWN,
    Action.DELETE_PROFILE: _OWN_OR_OPERATOR,
    Action.MANDATE: _OWN,
    Action.CONSENTS: _OWN,
    Action.CHANNELS: _OWN,
    Action.SOURCE: _OWN,
    Action.START_PROCESS: frozenset({Role.PERSON}),
    Action.FORK: frozenset({Role.DEMANDER}),
    Action.KEEP_LOOKING: frozenset({Role.DEMANDER, Role.OPERATOR}),
    Action.READ_STANDING: frozenset({Role.PERSON}),
    Action.STEP_FORWARD: frozenset({Role.PERSON}),
    Action.LIST_PROCESSES: _ANY_TOKEN,
    Action.READ_PROCESS: _IN_THE_PROCESS,
    Action.READ_EVENTS: _IN_THE_PROCESS,
    Action.READ_CANDIDATES: frozenset({Role.DEMANDER}),
    Action.READ_PLAN: frozenset({Role.DEMANDER, Role.PARTICIPANT}),
    Action.READ_DELIVERY: frozenset({Role.DEMANDER, Role.PARTICIPANT}),
    Action.GIVE_FEEDBACK: frozenset({Role.DEMANDER, Role.PARTICIPANT}),
    Action.GIVE_CONTACT: frozenset({Role.DEMANDER, Role.PARTICIPANT}),
    Action.SEND_MESSAGE: _IN_THE_PROCESS | {Role.INVITED},
    Action.READ_MESSAGE: _OWN_OR_OPERATOR,
    Action.READ_INBOX: _ANY_TOKEN,
    Action.READ_OPERATIONS: frozenset({Role.OPERATOR}),
    Action.DECODE_PAYLOADS: frozenset({Role.OPERATOR}),
    Action.ANSWER_CALLS: frozenset({Role.ANSWERER}),
    Action.ISSUE_TOKEN: _OWN_OR_OPERATOR,
    Action.LIST_TOKENS: _OWN_OR_OPERATOR,
    Action.REVOKE_TOKEN: _OWN_OR_OPERATOR,
}

ON_THE_MACHINE: Final = frozenset({Action.WRITE_PROFILE, Action.START_PROCESS, Action.FORK})
"""Actions that an operator may do for another person, only on the machine's command line. That person is notified."""

_DEMANDERS: Final = frozenset({Role.DEMANDER, Role.OPERATOR})
_SPEAKERS: Final = frozenset({Role.DEMANDER, Role.PARTICIPANT})
_SEATS: Final = _SPEAKERS | {Role.OPERATOR}

MESSAGE_PERMISSIONS: Final[Mapping[str, frozenset[Role]]] = {
    "revise_tension": frozenset({Role.DEMANDER}),
    "confirm_tension": _DEMANDERS,
    "select_participants": _DEMANDERS,
    "submit_projection": _SPEAKERS,
    "switch_endpoint": _SEATS,
    "extend_deadline": _IN_THE_PROCESS,
    "leave": _SEATS,
    "decide": _DEMANDERS,
    "conclude": _DEMANDERS,
    "set_mandate": _SPEAKERS,
    "resume": _DEMANDERS,
    "cancel": _DEMANDERS,
    "answer_plan": _SPEAKERS,
    "approve_residual": _DEMANDERS,
    "replan": _DEMANDERS,
    "consent": frozenset({Role.INVITED}),
    "child_ended": frozenset(),
    "call_answered": frozenset(),
    "upgrade": frozenset({Role.OPERATOR}),
}
"""Roles that may send a message of each kind. A kind with an empty set is sent only by the service itself. The workflow
also refuses a demander without a seat. Operators cannot speak or answer for others."""


def is_permitted(role: Role, action: Action) -> bool:
    return role in PERMISSIONS[action]


def roles_in_words(roles: Collection[Role]) -> str:
    """Return the roles as a phrase, in the order of `Role`."""
    return " or ".join(role.value for role in Role if role in roles)

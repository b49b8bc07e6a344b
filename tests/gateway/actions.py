"""Which action of the table of permissions each operation, page and tool is expected to check: the tests' own account of it."""

from __future__ import annotations

from typing import Final

from tongyao.app.action_permissions import Action

_API: Final = {
    Action.LIST_SCENES: ("get /scenes",),
    Action.WRITE_SCENE: ("put /scenes/{scene}",),
    Action.LIST_PEOPLE: ("get /scenes/{scene}/people",),
    Action.SEARCH_PEOPLE: ("post /scenes/{scene}/search",),
    Action.JOIN: ("post /profiles",),
    Action.READ_PROFILE: (
        "get /profiles/{profile_id}",
        "get /profiles/{profile_id}/versions",
    ),
    Action.WRITE_PROFILE: ("put /profiles/{profile_id}",),
    Action.DELETE_PROFILE: ("delete /profiles/{profile_id}",),
    Action.READ_PROFILE_TEXT: ("get /profiles/{profile_id}/export",),
    Action.MANDATE: (
        "get /profiles/{profile_id}/mandate",
        "put /profiles/{profile_id}/mandate",
    ),
    Action.CONSENTS: (
        "get /profiles/{profile_id}/consents",
        "put /profiles/{profile_id}/consents/{scene}",
    ),
    Action.CHANNELS: (
        "get /profiles/{profile_id}/channels",
        "put /profiles/{profile_id}/channels/mail",
        "put /profiles/{profile_id}/channels/webhook",
        "put /profiles/{profile_id}/channels/{kind}",
        "put /profiles/{profile_id}/channels/{kind}/confirmation",
        "delete /profiles/{profile_id}/channels/{kind}",
    ),
    Action.SOURCE: (
        "get /profiles/{profile_id}/source",
        "put /profiles/{profile_id}/source",
        "delete /profiles/{profile_id}/source",
        "put /profiles/{profile_id}/source/profile",
    ),
    Action.START_PROCESS: ("post /processes",),
    Action.FORK: ("post /processes/{process_id}/forks",),
    Action.KEEP_LOOKING: ("put /processes/{process_id}/standing",),
    Action.READ_STANDING: ("get /standing",),
    Action.STEP_FORWARD: ("post /standing/{standing_id}",),
    Action.LIST_PROCESSES: ("get /processes",),
    Action.READ_PROCESS: (
        "get /processes/{process_id}",
        "get /processes/{process_id}/why",
    ),
    Action.READ_CANDIDATES: ("get /processes/{process_id}/candidates",),
    Action.READ_PLAN: (
        "get /processes/{process_id}/plan",
        "get /processes/{process_id}/machine",
        "get /processes/{process_id}/pictures/relations.svg",
        "get /processes/{process_id}/pictures/relations.mmd",
        "get /processes/{process_id}/pictures/tasks.svg",
        "get /processes/{process_id}/pictures/tasks.mmd",
    ),
    Action.GIVE_FEEDBACK: ("put /processes/{process_id}/feedback",),
    Action.GIVE_CONTACT: ("put /processes/{process_id}/contact",),
    Action.READ_DELIVERY: ("get /processes/{process_id}/delivery",),
    Action.SEND_MESSAGE: ("post /processes/{process_id}/messages",),
    Action.READ_MESSAGE: ("get /messages/{message_id}",),
    Action.READ_INBOX: ("get /inbox",),
    Action.READ_EVENTS: (
        "get /processes/{process_id}/history",
        "get /processes/{process_id}/events",
    ),
    Action.WHO_AM_I: ("get /me",),
    Action.ISSUE_TOKEN: ("post /tokens",),
    Action.LIST_TOKENS: ("get /tokens",),
    Action.REVOKE_TOKEN: ("delete /tokens/{token_id}",),
    Action.READ_OPERATIONS: ("get /operations",),
    Action.ANSWER_CALLS: (
        "get /calls",
        "post /calls/next",
        "post /calls/{call_id}/answer",
        "delete /calls/{call_id}/lease",
    ),
    Action.DECODE_PAYLOADS: ("post /codec/decode",),
}
_PAGES: Final = {
    Action.DECODE_PAYLOADS: ("POST /codec/decode",),
    Action.LIST_PROCESSES: ("GET /processes",),
    Action.READ_STANDING: ("GET /standing",),
    Action.STEP_FORWARD: ("POST /standing",),
    Action.START_PROCESS: (
        "GET /start",
        "POST /start",
    ),
    Action.READ_INBOX: (
        "GET /",
        "GET /asks/{process_id}/{ask:path}",
    ),
    Action.SEND_MESSAGE: (
        "POST /asks/{process_id}/{ask:path}",
        "POST /processes/{process_id}",
        "POST /processes/{process_id}/residuals",
        "POST /processes/{process_id}/tension",
        "POST /processes/{process_id}/people",
    ),
    Action.READ_PROCESS: ("GET /processes/{process_id}",),
    Action.FORK: ("POST /processes/{process_id}/fork",),
    Action.READ_EVENTS: ("GET /processes/{process_id}/live",),
    Action.READ_PLAN: (
        "GET /processes/{process_id}/plan",
        "POST /processes/{process_id}/plan",
        "GET /processes/{process_id}/plan.md",
        "GET /processes/{process_id}/report.html",
    ),
    Action.READ_PROFILE_TEXT: (
        "GET /me",
        "GET /me/export",
    ),
    Action.WRITE_PROFILE: ("POST /me",),
    Action.READ_CANDIDATES: (
        "GET /processes/{process_id}/tension",
        "GET /processes/{process_id}/people",
    ),
    Action.WHO_AM_I: (
        "GET /enter",
        "POST /enter",
        "POST /leave",
        "POST /language",
        "GET /openid",
        "GET /openid/back",
        "POST /openid",
    ),
    Action.JOIN: ("POST /join",),
    Action.READ_DELIVERY: (
        "GET /processes/{process_id}/delivery",
        "POST /processes/{process_id}/delivery",
    ),
    Action.READ_OPERATIONS: (
        "GET /operators",
        "GET /operators/{state}",
        "POST /operators/resume",
    ),
    Action.ANSWER_CALLS: (
        "GET /calls",
        "GET /calls/{call_id}",
        "POST /calls/{call_id}",
    ),
}
_TOOLS: Final = {
    Action.LIST_SCENES: ("scenes",),
    Action.LIST_PEOPLE: ("agents",),
    Action.SEARCH_PEOPLE: ("search",),
    Action.JOIN: ("join",),
    Action.START_PROCESS: ("demand",),
    Action.READ_PROCESS: ("status",),
    Action.READ_INBOX: ("pending",),
    Action.SEND_MESSAGE: (
        "respond",
        "decide",
        "switch",
        "leave",
        "consent",
    ),
    Action.KEEP_LOOKING: ("keep_looking",),
    Action.READ_STANDING: ("standing",),
    Action.STEP_FORWARD: ("step_forward",),
    Action.READ_PLAN: ("plan",),
    Action.CONSENTS: (
        "consents",
        "set_consent",
    ),
    Action.CHANNELS: (
        "channels",
        "set_channel",
        "confirm_channel",
        "remove_channel",
    ),
    Action.SOURCE: (
        "source",
        "set_source",
        "remove_source",
        "fetch_profile",
    ),
    Action.ANSWER_CALLS: (
        "next_call",
        "answer_call",
    ),
}


def _by_name(table: dict[Action, tuple[str, ...]]) -> dict[str, Action]:
    return {name: action for action, names in table.items() for name in names}


API: Final = _by_name(_API)
"""By method and path."""
PAGES: Final = _by_name(_PAGES)
"""Of the console, likewise."""
TOOLS: Final = _by_name(_TOOLS)

"""Consent to a proxy: the person's decision for a scene, or else the default (docs/protocol.md §3.11)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Final

from tongyao.protocol.contracts.process import ConsentInput, ConsentOutput
from tongyao.protocol.model.projection import EndpointKind
from tongyao.protocol.model.value import Value


class Consent(StrEnum):
    """A person's decision for one scene."""

    ASK = "ask"
    """The person is asked in each process."""
    ALLOW = "allow"
    """A proxy may speak for the person in every process of the scene."""
    NEVER = "never"
    """No proxy speaks for the person, and they are not asked."""


class Origin(StrEnum):
    """The origin of a profile, which determines the default consent."""

    API = "api"
    MCP = "mcp"
    SAMPLE = "sample"
    IMPORT = "import"
    FILE = "file"


GIVEN_ON_THE_MACHINE: Final = frozenset({Origin.SAMPLE, Origin.IMPORT, Origin.FILE})
"""Origins of profiles that were given on the machine. Their owners may be unreachable, so `allow` is the default."""

_OF_NOBODY: Final = frozenset({Origin.SAMPLE, Origin.FILE})
"""Origins of profiles without a reachable owner. Without a decision, such an only participant is not asked."""


class SceneConsent(Value):
    """The consent of one person in one scene. `own`: true if the person decided it, false if it is the default."""

    profile_id: str
    consent: Consent
    origin: Origin
    own: bool = False


def standing(profile_id: str, origin: Origin, decided: Consent | None, *, at_home: bool) -> SceneConsent:
    """Return the consent of a profile's owner in a scene. `decided`: the owner's decision, if there is one. `at_home`:
    whether the scene is the profile's own scene."""
    given = Consent.ALLOW if origin in GIVEN_ON_THE_MACHINE and at_home else Consent.ASK
    return SceneConsent(profile_id=profile_id, consent=decided or given, origin=origin, own=decided is not None)


def consents_of(
    what: ConsentInput, known: Mapping[str, SceneConsent], *, over_quota: Sequence[str] = (), may_ask: int | None = None
) -> ConsentOutput:
    """Divide the chosen people: those who are asked for consent, those who take no part, those without a proxy.

    `known`: the consent of each person who still has a profile. `over_quota`: people who were asked, or named by this
    demander, too often. `may_ask`: the number of people whom the process may still ask for this demander. People beyond
    these limits take no part, and the demander is not told the reason.
    """
    ask, refused, without_proxy = [], [], []
    for choice in what.choices:
        known_consent = known.get(choice.profile_id)
        alone = (
            what.alone and known_consent is not None and (known_consent.own or known_consent.origin not in _OF_NOBODY)
        )
        if known_consent is None or choice.profile_id in over_quota:
            refused.append(choice.profile_id)
        elif choice.endpoint is not EndpointKind.PROXY:
            if known_consent.consent is not Consent.ALLOW or alone:
                without_proxy.append(choice.profile_id)
        elif known_consent.consent is Consent.NEVER:
            refused.append(choice.profile_id)
        elif known_consent.consent is Consent.ASK or alone:
            ask.append(choice.profile_id)
    asked = len(ask) if may_ask is None else max(0, may_ask)
    return ConsentOutput(ask=tuple(ask[:asked]), refused=(*refused, *ask[asked:]), without_proxy=tuple(without_proxy))

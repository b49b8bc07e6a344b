"""What an id of a profile may be, and the ids of profiles that come without one."""

from __future__ import annotations

import re
from hashlib import sha256
from typing import Final
from uuid import UUID, uuid5

PROFILE_ID: Final = re.compile(r"\w[\w.@:-]{0,119}")
PROFILE_ID_RULE: Final = "letters, digits, and . @ : - _, at most 120, the first one a letter, a digit or _"
PROFILE_ID_RULE_ZH: Final = "字母、数字和 . @ : - _，最多 120 个，第一个是字母、数字或 _"
_NOT_IN_FILE_ID: Final = re.compile(r"[^\w.-]+")
_NAMESPACE: Final = UUID("0f2f8a53-6c0b-5c1c-9d3e-5a7f4b1e8c26")


def stem_id(stem: str) -> str:
    """The name of a file, without its suffix, as an id: without characters that an id may not have."""
    return _NOT_IN_FILE_ID.sub("-", stem).strip("-.") or "person"


def id_of_text(scene: str, text: str) -> str:
    """The id of a profile of a scene that came without one: the same text has the same id, another text another."""
    return f"p-{uuid5(_NAMESPACE, f'{scene}/{sha256(text.encode()).hexdigest()}').hex[:20]}"

"""Which cookies of a request are read."""

from __future__ import annotations

import re
from typing import Final

from starlette.types import Scope

_PREFIX: Final = b"tongyao_"
_PLAIN: Final = re.compile(rb"[A-Za-z0-9_./+:-]{1,200}")


def keep_own_cookies(scope: Scope) -> None:
    """Remove from the head of a request every cookie that the console does not set.

    The standard library takes quotation marks and backslashes out of a cookie's value. Before Python 3.11.10 and 3.12.6 this takes quadratic
    time (CVE-2024-7592), half a minute for 60 KB. The console's own values contain neither.
    """
    headers = scope["headers"]
    sent = b";".join(value for name, value in headers if name == b"cookie")
    if not sent:
        return
    kept = []
    for part in sent.split(b";"):
        name, _, value = part.strip().partition(b"=")
        if name.startswith(_PREFIX) and _PLAIN.fullmatch(name) and _PLAIN.fullmatch(value):
            kept.append(name + b"=" + value)
    rest = [(name, value) for name, value in headers if name != b"cookie"]
    scope["headers"] = [*rest, (b"cookie", b"; ".join(kept))] if kept else rest

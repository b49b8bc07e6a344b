"""Somebody looks for a place and somebody else has one that is free: the one relation that needs no word in common."""

from __future__ import annotations

import re
from typing import Final

from tongyao.llm.extractive.cues import without_conditions

_ROOMS: Final = (
    "room|space|hall|shed|barn|cellar|loft|attic|yard|garage|storeroom|workshop|slip|warehouse|stable|kitchen"
)

_SOUGHT: Final = re.compile(
    r"没(?:有)?(?:地方|处)(?!去)|(?:找|缺|少|要|租)[^，。；：！？]{0,6}(?:地方|场地|屋子|房子|房间|仓库)"
    rf"|\b(?:need|look(?:ing)? for|lack|want|have no|has no|is no|without)\b(?: [\w'’-]{{1,30}}){{0,5}} (?:place|somewhere|{_ROOMS})\b"
    r"|\bnowhere to (?:put|keep|store|work|meet|practise|practice|rehearse|dry|lay|park|stand|sit|sleep)\b",
    re.IGNORECASE,
)
_FREE: Final = re.compile(
    r"(?:屋|房|间|库|仓|棚|厅|院|铺面|场地|车间)[^，。；：！？没不]{0,8}(?:空着|闲着|空了|可以放|能放)|空(?:房|屋|地|仓库|院子|厂房|教室)"
    rf"|\b(?:{_ROOMS})\b[^.;!?]{{0,80}}\b(?:empty|unused|idle|free(?! of| from))\b"
    rf"|\b(?:empty|unused|spare)(?: [\w'’-]{{1,30}}){{0,2}} (?:{_ROOMS})\b",
    re.IGNORECASE,
)


def is_place_for(need: str, offer: str) -> bool:
    """Whether one sentence looks for a place, and the other has one that is free."""
    return bool(_SOUGHT.search(need) and _FREE.search(without_conditions(offer)) and not _SOUGHT.search(offer))

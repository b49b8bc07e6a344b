"""Finds addresses and telephone numbers in a text, also in the usual disguises (docs/protocol.md §6.3). Pure.

Patterns are matched against the folded text (`unicode_text.folded`): lower case, no accents, no invisible characters,
full-width signs as ASCII. Every repetition is bounded or starts only at the beginning of a run, so matching is linear.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from tongyao.protocol.model.unicode_text import UNSPACED

_L: Final = rf"[^\W{UNSPACED}]"
"""A letter, a digit or `_`, of a script with spaces between words."""
_AT: Final = r"(?:\s?@\s?|\s?[(\[{<]\s?(?:at|@|艾特)\s?[)\]}>]\s?)"
_DOT: Final = r"(?:[.。]|\s[.]\s|\s?[(\[{<]\s?(?:dot|[.]|点)\s?[)\]}>]\s?|\s(?:dot|点)\s|点)"
_LABEL: Final = rf"(?:{_L}|-){{1,63}}"
_END: Final = rf"(?!{_L}|-)"
_TOP: Final = (
    r"(?:com|net|org|edu|gov|io|dev|app|ai|info|biz|cn|uk|de|fr|eu|ch|jp|tw|hk|sg|nl|se|pl|es|us|ca|au|nz|ru|xyz|top|club|vip|"
    r"site|online|shop|tech|cc|tv|example|test|invalid)"
)

_MAIL: Final = re.compile(
    rf"(?:(?<!{_L})(?<![.+%-])(?:{_L}|[.+%-]){{1,200}}|[{UNSPACED}]{{1,20}})"
    rf"(?:{_AT}{_LABEL}(?:{_DOT}{_LABEL}){{1,8}}|\sat\s{_LABEL}(?:{_DOT}{_LABEL}){{0,6}}{_DOT}{_TOP}{_END})"
    rf"|[{UNSPACED}]{{1,20}}@[{UNSPACED}]{{1,20}}(?:[.。][{UNSPACED}]{{1,10}}){{1,4}}"
)
_PAGE: Final = re.compile(
    rf"(?<!{_L})(?:h(?:tt|xx)ps?|ftp)\s?:\s?//\s?[^\s\"'<>{UNSPACED}]+"
    rf"|(?<!{_L})(?<![.@/-])www\s?\.[^\s\"'<>{UNSPACED}]+"
    rf"|(?<!{_L})(?<![.@/-])(?:{_LABEL}{_DOT}){{1,8}}(?:{_TOP}{_END}(?:/[^\s\"'<>{UNSPACED}]*)?|[a-z]{{2,10}}/[^\s\"'<>{UNSPACED}]+)"
)
_HANDLE: Final = re.compile(rf"(?<!{_L})(?<![@.])@(?!p\d{{2,3}}\b){_L}(?:{_L}|[.-]){{2,60}}")
_MESSENGERS: Final = r"微信|薇信|威信|v信|vx|wx|wechat|weixin|qq|telegram|tg|whatsapp|skype|instagram|twitter|微博|小红书|抖音|快手|钉钉|飞书|linkedin|facebook|discord|telefon"
_ORDINARY: Final = r"signal|line"
"""Messengers whose names are ordinary words ("the line is short"). The next word is an account if it has a digit or
`_`, or follows "id"."""
_ACCOUNT: Final = re.compile(
    rf"(?:(?<![a-z])(?:{_MESSENGERS})(?![a-z])\s?(?:号码|号|id|account|handle|user)?\s?(?:[:=@是为]|is\s)[\s:@]{{0,3}}"
    r"[a-z0-9][a-z0-9_.-]{3,40}"
    rf"|(?<![a-z])(?:{_ORDINARY})(?![a-z])\s?(?:id|account|handle|user|号码|号)\s?(?:[:=@是为]|is\s)[\s:@]{{0,3}}[a-z0-9][a-z0-9_.-]{{3,40}}"
    rf"|(?<![a-z])(?:{_ORDINARY})(?![a-z])\s?(?:[:=@是为]|is\s)[\s:@]{{0,3}}(?=[a-z.-]{{1,40}}[\d_])[a-z][a-z0-9_.-]{{3,40}}"
    r"|(?:加|扣|联系|找)?(?:我)?(?:微信|薇信|威信|v信|vx|wx|qq)\s?(?:号码|号)?\s?(?=[a-z_.-]{0,30}\d)[a-z0-9][a-z0-9_.-]{4,40})"
)
_TELEPHONE: Final = re.compile(
    r"(?<!\d)1[\s.-]?[3-9](?:[\s.-]?\d){9}(?!\d)"  # Chinese mobile numbers
    rf"|(?<![.])(?<!{_L})(?:\+|00)\s?\d(?:[\s().-]{{0,2}}\d){{7,14}}(?!\d)"  # international
    r"|(?<![\d.])\(?(?!\d{1,2}[-./]\d{1,2}[-./]\d{4})(?=0(?:[\s().-]{0,2}\d){8})0\d{1,4}\)?(?:[\s./-]{0,2}\d){6,10}(?!\d)"  # with an area code
    r"|(?<!\d)\(?[2-9]\d\d\)?[\s.-]\d{3}[\s.-]\d{4}(?!\d)"  # North American
    r"|(?:tel|phone|mobile|call me(?: at| on)?|电话|手机|致电|座机)\s?(?:号码|号|no)?\s?[.:是]?\s?\d(?:[\s().-]{0,2}\d){4,14}"
    r"|(?<![一二三四五六七八九〇零幺])[一幺](?:[\s-]?[一二三四五六七八九〇零幺]){10}(?![一二三四五六七八九〇零幺])"
)
_DIGIT: Final = re.compile(r"[\d一幺]")
"""Every telephone number contains at least one of these characters."""
_SOME_MESSENGER: Final = (*_MESSENGERS.split("|"), *_ORDINARY.split("|"))


def contacts(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of addresses and numbers in a folded text, by kind. Cheap tests come first."""
    if (
        "@" in text
        or "艾特" in text
        or " at " in text
        or "at)" in text
        or "at]" in text
        or "at}" in text
        or "at >" in text
        or "at>" in text
    ):
        yield from (found.span() for pattern in (_MAIL, _HANDLE) for found in pattern.finditer(text))
    if "." in text or "://" in text or "dot" in text or "。" in text or "点" in text:
        yield from (found.span() for found in _PAGE.finditer(text))
    if any(name in text for name in _SOME_MESSENGER):
        yield from (found.span() for found in _ACCOUNT.finditer(text))
    if _DIGIT.search(text):
        yield from (found.span() for found in _TELEPHONE.finditer(text))

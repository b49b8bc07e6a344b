"""The grade of a profile: for which lenses of a tension it has material (docs/protocol.md §2.4)."""

from __future__ import annotations

import re
from typing import Final

from tongyao.protocol.model.sizes import units
from tongyao.protocol.model.tension import Audit, Grade

_END: Final = re.compile(r"[。！？!?；;\n]+|\.\s+")
_SAYS_SOMETHING: Final = 8
"""Least length of a statement, in units. A shorter sentence is a label ("backend engineer, Chengdu")."""

_CHANGES: Final = re.compile(
    r"想|希望|打算|准备|正在|开始|学着|转|下一步|目标|"
    r"\b(?:want|hope|plan|aim|trying|learning|moving|next|would like|dream|start(?:ing|ed)?)\b", re.I
)  # fmt: skip
_NEEDS: Final = re.compile(
    r"缺|找|不做|不接|不能|不会|没有|需要|卡|难|怕|"
    r"\b(?:need|looking for|seek|lack|cannot|can't|won't|not|never|without|hard|stuck)\b", re.I
)  # fmt: skip
_OFFERS: Final = re.compile(
    r"能|会|可以|擅长|经验|做过|提供|熟|教|修|写|管|"
    r"\b(?:can|offer|know|built|made|ran|run|teach|write|wrote|years|experience|worked|design)\b", re.I
)  # fmt: skip


_BEARS: Final = re.compile(
    r"我|咱|\d|[一二三四五六七八九十百两半几][年月天个次条台户人岁里亩斤间家本份轮套座只]|"
    r"\b(?:i|my|me|we|our|us)\b|"
    r"\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty|hundred|thousand)\b",
    re.I,
)
"""Matches a statement by its speaker or by a number. A slogan has neither."""

_SPEAKS: Final = re.compile(r"我|\b(?:I|my|we|our)\b")
_LIST: Final = re.compile(r"[|｜/·、]|,\s|，")
_LABEL_UNITS: Final = 5
"""A line counts as a list of labels if its parts between separators have at most this average number of units."""

_ENOUGH: Final = 5
"""With at least this number of statements, a profile counts as stating a change (T), even without a word of change."""


def _is_statement(sentence: str) -> bool:
    if units(sentence) < _SAYS_SOMETHING or not _BEARS.search(sentence):
        return False
    parts = [part for part in _LIST.split(sentence) if part.strip()]
    speaks = _SPEAKS.search(sentence)
    return bool(speaks) or len(parts) < 3 or units(sentence) / len(parts) > _LABEL_UNITS


def audit_profile(text: str) -> Audit:
    """Return the lenses for which `text` has statements. T: changes. I: facts. B: needs and limits. E: offers."""
    said = [sentence for sentence in _END.split(text) if _is_statement(sentence)]
    return Audit(
        transition=len(said) >= _ENOUGH or any(_CHANGES.search(sentence) for sentence in said),
        initial_state=len(said) >= 2,
        barriers=any(_NEEDS.search(sentence) for sentence in said),
        exchange=any(_OFFERS.search(sentence) for sentence in said),
    )


def grade_profile(text: str) -> Grade:
    """Return the grade by the rule for tensions. A profile that contains only labels has grade C."""
    return audit_profile(text).grade

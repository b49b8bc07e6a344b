"""How much a profile gives a process to work with (docs/protocol.md §2.4): the four lenses, by code."""

from __future__ import annotations

import re
from typing import Final

from tongyao.protocol.sizes import units
from tongyao.protocol.tension import Audit, Grade

_SENTENCE: Final = re.compile(r"[^。！？!?；;\n]+")
_SAYS_SOMETHING: Final = 8
"""Units below which a sentence is a label ("backend engineer, Chengdu") rather than a statement."""

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


def audit_profile(text: str) -> Audit:
    """Which lenses `text` has statements for: T what changes, I facts, B needs and limits, E what can be given."""
    said = [sentence for sentence in _SENTENCE.findall(text) if units(sentence) >= _SAYS_SOMETHING]
    return Audit(
        transition=any(_CHANGES.search(sentence) for sentence in said),
        initial_state=len(said) >= 2,
        barriers=any(_NEEDS.search(sentence) for sentence in said),
        exchange=any(_OFFERS.search(sentence) for sentence in said),
    )


def grade_profile(text: str) -> Grade:
    """A, B or C as for a tension; labels alone are C."""
    return audit_profile(text).grade

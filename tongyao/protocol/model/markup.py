"""Makes Markdown that is safe to show to others: no HTML, no images, no link targets (docs/protocol.md §6.3). Pure.

An image or a link tells its server who read the text and when. HTML can act in the reader's name.
"""

from __future__ import annotations

import re
from typing import Final

from tongyao.protocol.model.unicode_text import without_controls

_COMMENT: Final = re.compile(r"<!--(?:(?!-->)[^<]){0,2000}-->")
_ELEMENTS: Final = (
    "a|abbr|address|area|article|aside|audio|b|base|bdi|bdo|blockquote|body|br|button|canvas|caption|center|cite|code|col|colgroup|"
    "data|datalist|dd|del|details|dfn|dialog|div|dl|dt|em|embed|fieldset|figcaption|figure|font|footer|form|frame|frameset|h[1-6]|"
    "head|header|hr|html|i|iframe|img|input|ins|kbd|label|legend|li|link|main|map|mark|marquee|math|menu|meta|meter|nav|noscript|"
    "object|ol|optgroup|option|output|p|param|picture|pre|progress|q|rp|rt|ruby|s|samp|script|section|select|slot|small|source|"
    "span|strike|strong|style|sub|summary|sup|svg|table|tbody|td|template|textarea|tfoot|th|thead|time|title|tr|track|tt|u|ul|var|"
    "video|wbr|xmp"
)
_TAG: Final = re.compile(rf"</?(?:{_ELEMENTS})(?:[\s/][^<>]{{0,2000}})?>", re.IGNORECASE)
_OPENS: Final = re.compile(r"<(?=[A-Za-z/!?])")
_LINK: Final = re.compile(r"!?\[([^\[\]\n]{0,500})\]\([^()\n]{0,2000}(?:\([^()\n]{0,200}\)[^()\n]{0,200})?\)")
_REFERENCE: Final = re.compile(r"!?\[([^\[\]\n]{1,500})\]\[[^\[\]\n]{0,500}\]")
_DEFINITION: Final = re.compile(r"^[ ]{0,3}\[[^\[\]\n]{1,500}\]:[^\n]*$", re.MULTILINE)
_IMAGE: Final = re.compile(r"!(?=\[)")


def for_others(markdown: str) -> str:
    """Return `markdown` without control characters, tags, comments, images and link targets. Their words are kept.
    Other `<` that could open a tag become `‹`."""
    markdown = without_controls(markdown)
    if "<" in markdown:
        markdown = _OPENS.sub("‹", _TAG.sub("", _COMMENT.sub("", markdown)))
    if "[" in markdown:
        markdown = _DEFINITION.sub("", _REFERENCE.sub(r"\1", _LINK.sub(r"\1", markdown)))
        markdown = _IMAGE.sub("", markdown)
    return markdown

"""Names of persons and firms in a text, without a model: jieba's tags for Chinese, capitalised words for English.

Places are no names here: people who speak of the same place find each other by it. What is found and missed on written texts:
`python -m tests.names` and docs/evaluation.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, Literal

from tongyao.llm.extractive.names_chinese import chinese_names
from tongyao.protocol.model.tension import NameFound
from tongyao.protocol.rules.identity.common_words import ALSO_NAMES, ENGLISH

Kind = Literal["person", "firm"]

MOST_READ: Final = 100_000
"""Characters of a text that are searched."""

_BEGINS: Final = re.compile(r"[.!?:;\n“\"(]\s{0,4}$")
_TITLE_BEFORE: Final = re.compile(r"\b(Mr|Mrs|Ms|Dr|Prof|Rev)\.\s$")
_WORD: Final = r"[A-Z][a-zà-ÿ]+(?:['’][A-Z][a-z]+)?(?:-[A-Z][a-z]+)?"
_NAME: Final = re.compile(
    rf"(?<![A-Za-z]){_WORD}(?:(?: (?:&|and|de|van|von|der)){{0,2}} {_WORD}|(?: & {_WORD}))*(?:['’]s\b)?"
)
_TITLE: Final = re.compile(
    r"(?:Mr|Mrs|Ms|Miss|Dr|Prof|Professor|Father|Sister|Pastor|Captain|Uncle|Aunt|Auntie|Sir|Lady|Rev|Reverend)$"
)
_FIRM: Final = re.compile(
    r"(?:Ltd|Limited|Inc|LLC|GmbH|Plc|PLC|Co|Company|Sons|Brothers|Bros|Bakery|Brewery|Kitchen|Bank|Logistics|Motors|Foods|Books|"
    r"Garage|Solutions|Systems|Insurance|Services|Builders|Printers|Press|Cafe|Café|Restaurant|Hotel|Stores|Supplies|Partners|"
    r"Associates|Consulting|Studios?|Dairy|Farms|Nurseries|Transport|Haulage|Energy|Software|Labs?)$"
)
_PLACE: Final = re.compile(
    r"(?:Street|Road|Lane|Avenue|Square|Valley|River|Lake|Hill|Hills|Farm|Island|Isle|County|Bay|Harbour|Harbor|Bridge|Village|Station|"
    r"Park|School|Church|Chapel|Hall|Moor|Dale|Wood|Woods|Forest|Beach|Coast|Mill|Green|Cross|Town|City|Castle|Quay|Pier|"
    r"University|College|Hospital|Library|Museum|Market|Cathedral|Abbey)$"
)
_PLACE_BEFORE: Final = re.compile(
    r"(?:\b(?:in|at|near|around|above|below|between|outside|towards?|through|across|behind|beyond|via|into|over)\s|"
    r"\b(?:ferry|bus|train|road|way|drives?|moved|goes?|went|travels?) to\s|\briver\s|\b(?:town|village|city|isle|county) of\s|"
    r"\b(?:man|woman|people|those|depot|train|bus|comes?|came) from\s)$"
)
_KIN: Final = re.compile(
    r"\b(?:my|our|his|her|their)\s+(?:\w+\s+)?(?:sister|brother|neighbou?r|colleague|friend|wife|husband|son|daughter|boss|partner|"
    r"mother|father|cousin|uncle|aunt|nephew|niece|teacher|tenant|landlord|landlady)\s$",
    re.IGNORECASE,
)
_ASKED: Final = re.compile(
    r"\b(?:ask|asked|tell|told|with|and|for|by|after|before|if|whether|than|from|to|when|because|that|thank|meet|met)\s$",
    re.IGNORECASE,
)
_DOES: Final = re.compile(
    r"^(?:['’]s\b|,? (?:and I|and me)\b|\s(?:says?|said|asks?|asked|keeps?|has|had|is|was|will|would|can|could|runs?|ran|lends?|lent|taught|"
    r"teaches|knows?|knew|leaves?|left|wants?|wanted|needs?|signs?|measured|owns?|showed|shows|gave|gives|lives?|works?|worked|helps?|"
    r"helped|told|thinks?|drives?|sells?|sold|offered|offers|makes?|made|builds?|built|and (?:her|his|their)|about)\b)"
)
_OTHER_CAPITALS: Final = frozenset(
    "english french german spanish italian chinese polish dutch welsh irish scottish british european american russian turkish arabic "
    "easter christmas lent ramadan since after before when where while once although though because whoever nobody everybody "
    "ask tell whether if our their there here wednesdays mondays tuesdays thursdays fridays saturdays sundays".split()
)


def names_in_text(text: str) -> tuple[NameFound, ...]:
    """Names of persons and firms, each once, in the order in which they stand in `text`."""
    found: dict[str, tuple[int, NameFound]] = {}
    read = text[:MOST_READ]
    for start, name, kind in (*chinese_names(read), *_english(read)):
        if name not in found or start < found[name][0]:
            found[name] = (start, NameFound(name=name, kind=kind))
    kept = sorted(found.values(), key=lambda one: one[0])
    whole = [one.name for _, one in kept]
    return tuple(one for _, one in kept if not any(one.name != other and one.name in other for other in whole))


def _english(text: str) -> Iterator[tuple[int, str, Kind]]:
    for hit in _NAME.finditer(text):
        start, words = hit.start(), hit.group().removesuffix("'s").removesuffix("’s").split(" ")
        begins = start == 0 or _BEGINS.search(text[max(0, start - 4) : start]) is not None
        if begins or len(words) > 1:
            while words and words[0].lower() in (ENGLISH | _OTHER_CAPITALS) and not _TITLE.match(words[0]):
                if words[0].lower() in ALSO_NAMES and len(words) > 1:
                    break
                start += len(words[0]) + 1
                words = words[1:]
        while words and words[-1] in ("and", "&", "de", "van", "von", "der"):
            words = words[:-1]
        if not words:
            continue
        name, first, last = " ".join(words), words[0], words[-1]
        end = start + len(name)
        before, after = text[max(0, start - 40) : start], text[end : end + 24]
        if titled := _TITLE_BEFORE.search(before):
            yield start - len(titled.group()), titled.group() + name, "person"
        elif _FIRM.search(last) and len(words) > 1:
            yield start, name, "firm"
        elif _TITLE.match(first) and len(words) > 1:
            yield start, name, "person"
        elif _PLACE.search(last) or _PLACE_BEFORE.search(before) or last.lower() in _OTHER_CAPITALS:
            continue
        elif _is_person(words, before, after, begins):
            yield start, name, "person"


def _is_person(words: list[str], before: str, after: str, begins: bool) -> bool:
    if len(words) == 1:
        word = words[0].lower()
        if word in ENGLISH and word not in ALSO_NAMES:
            return False
        if before.lower().endswith(" the "):
            return words[0].endswith("s") and _DOES.search(after) is not None
        if _KIN.search(before) or _DOES.search(after):
            return True
        return _ASKED.search(before) is not None and not begins and word not in _OTHER_CAPITALS
    if before.lower().endswith(" the "):
        return False
    return (
        all(word.lower() not in ENGLISH or word.lower() in ALSO_NAMES for word in words)
        or _DOES.search(after) is not None
    )

"""Finds possible names of persons in English text by capitals, given names, titles and neighbouring words.

Each word has one reading in the whole text. A word after "in" or before "Road" is a place everywhere in it. A word that
also occurs in lower case is an ordinary word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from tongyao.protocol.identity.words import (
    ALSO_NAMES,
    CONNECTORS,
    ENGLISH,
    GIVEN,
    LANGUAGES,
    NICK_BEFORE,
    PLACE_WORDS,
    PLACES,
    ROLE_WORDS,
    TIMES,
)

_WORD: Final = r"(?:[A-Z]['’])?[A-ZÀ-ÞĀ-ɏ][a-zà-ɏ]{1,30}(?:[A-Z][a-z]{1,30})?(?:-[A-ZÀ-ÞĀ-ɏ][a-zà-ɏ]{1,30}){0,4}"
_TITLES: Final = r"(?:Mr|Mrs|Ms|Dr|Prof|Rev|Fr|Capt|Sgt)\. "
_NAME: Final = re.compile(
    rf"(?<![A-Za-z0-9'’])(?:{_TITLES})?(?:(?:[A-Z]\.\s?){{1,3}})?{_WORD}(?:(?:,? (?:&|and) | (?:de|van|von|der|da|di|la|le|del|bin|ibn) (?:de |der |la )?| (?:[A-Z]\. )?){_WORD})*"
)
_INITIALS: Final = re.compile(r"(?:[A-Z]\.){1,3}")
_OF_FAMILY: Final = re.compile(
    r"^(?:[.,;]|\s(?:have|are|were|will|do|did|keep|kept|own|owned|run|ran|sell|sold|live|lived|and|who|next)\b|$)"
)
_LOWER: Final = re.compile(r"(?<![A-Za-z])[a-zà-ɏ]+")
_POSSESSIVE: Final = re.compile(r"^['’]s?\b|^['’](?=\s)")
_TITLE_CASE: Final = r"(?:[A-Z][\w'’-]*|a|an|the|of|to|in|on|for|and|or|with|at|by|from|&)"
_WORK: Final = re.compile(
    rf"[“\"‘](?:[A-Z][\w'’-]*)(?: {_TITLE_CASE})+[”\"’]|(?<![*\w])\*(?![*\s])[A-Z][^*\n]{{1,60}}\*(?!\*)|(?<![_\w])_(?![_\s])[A-Z][^_\n]{{1,60}}_(?![_\w])"
)
"""A title in quotation marks or italics."""
_LIST: Final = re.compile(r"^[^\n]*(?:[|·｜][^\n|·｜]*){3,}$", re.MULTILINE)
"""A line of labels."""
_OWNS: Final = re.compile(r"['’]s [A-Z]")

_READ_BACK: Final = 16
"""Characters that are read before a position."""
_OPENING: Final = r"[ \t“”\"‘(\[*_#>|·•–—-]{0,16}"
_START: Final = re.compile(
    rf"(?:[.!?…:。！？：；;][’”\"')\]*_]{{0,16}}\s{{0,16}}|\n[ \t]{{0,16}}\n\s{{0,16}}|\n[ \t]{{0,16}}(?=[*#>|·•–—-])){_OPENING}$"
)
_QUOTED: Final = re.compile(r"[“\"‘(\[|·•]\s{0,16}[*_]{0,16}$")
_TEXT_START: Final = re.compile(rf"\A\s{{0,16}}{_OPENING}$")
_ABBREVIATION: Final = re.compile(r"\b(?:Mr|Mrs|Ms|Dr|Prof|Rev|St|[A-Z])\.\s$")

TITLE: Final = re.compile(
    r"(?:Mr|Mrs|Ms|Miss|Mx|Dr|Prof|Professor|Father|Fr|Sister|Brother|Pastor|Captain|Capt|Uncle|Aunt|Auntie|Aunty|Granny|Grandpa|Nan|Sir|Lady|Lord|Dame|Rev|Reverend|"
    r"Judge|Sheriff|Sergeant|Sgt|Major|Colonel|Constable|Nurse|Matron|Imam|Rabbi|Canon|Deacon|Coach|Chef)\.?$"
)
_FIRM: Final = re.compile(
    r"(?:Ltd|Limited|Inc|LLC|GmbH|Plc|PLC|Co|Company|Corporation|Corp|Sons?|Daughters?|Brothers|Bros|Nephews?|Bakery|Bakers|Brewery|Brewers|Kitchens?|Bank|Logistics|Motors|Foods|Books|"
    r"Bookshop|Garage|Solutions|Systems|Insurance|Services|Builders|Building|Joinery|Joiners|Carpentry|Printers|Printing|Press|Cafe|Café|Restaurant|Hotel|Stores?|Supplies|Supply|Partners|"
    r"Associates|Consulting|Consultants|Studios?|Dairy|Dairies|Farms|Nurser(?:y|ies)|Playgroup|Kindergarten|Transport|Haulage|Freight|Energy|Software|Labs?|Laboratories|Hire|Rentals?|Cleaners|Laundry|Launderette|"
    r"Laundrette|Optical|Opticians|Clinic|Practice|Surgery|Vets|Pharmacy|Chemists?|Salon|Barbers|Butchers|Fishmongers|Grocers|Greengrocers|Florists?|Hardware|Ironmongers|Electrics?|Electrical|Electronics|Plumbing|Roofing|Heating|"
    r"Scaffolding|Timber|Steel|Metals|Plastics|Textiles|Mills?|Industries|Works|Hatchery|Cannery|Fisheries|Seafoods|Meats|Marine|Boatyard|Shipping|Ferries|Railways?|Airlines|Airways|Coaches|Taxis|Cabs|Cars|Cycles|Tyres|Trailers|"
    r"Feed|Seeds?|Tarp|Canvas|Cooperative|Co-op|Coop|Holdings|Group|Trust|Agency|Media|Films|Pictures|Records|Publishing|Publishers|Design|Designs|Interiors|Furniture|Pottery|Ceramics|Textile|Tailors|Tailoring|Upholstery|"
    r"Catering|Caterers|Events|Security|Finance|Mutual|Solicitors|Accountants|Architects|Engineering|Engineers|Instruments|Tools|Machinery|Equipment|Kinship|Homes|Care)$"
)
_PLACE: Final = re.compile(rf"(?:{'|'.join(PLACE_WORDS)})$", re.IGNORECASE)
_PLACE_BEFORE: Final = re.compile(
    r"(?:\b(?:in|at|near|around|above|below|between|outside|towards?|through|across|beyond|via|into|over|throughout|within|upon)\s(?:\w+ and\s)?|"
    r"\b(?:ferry|bus|train|road|way|trains?|flights?|flew|drives?|drove|driven|moved?|goes?|went|gone|going|travels?|travelled|came back|sail(?:s|ed)?|walk(?:s|ed)?|route|back) (?:to|from)\s|\briver\s|"
    r"\b(?:town|village|city|isle|island|county|borough|port|parish|north|south|east|west|edge|outskirts|streets|coast|shore|(?:north|south|east|west)(?:ern)? side) of\s|"
    r"\b(?:boat|ferry|bus|coach|tram|train|flight|plane|ship|sailing|crossing)s? (?:(?:that|which) )?(?:leaves?|leaving|reach(?:es|ing)?|serves?|serving)\s|"
    r"\b(?:man|woman|people|those|depot|train|bus|comes?|came|someone|somebody|families|refugees|letters?|miles|shipped|imported) from\s)$",
    re.IGNORECASE,
)
_KIN: Final = re.compile(
    r"\b(?:my|our|his|her|their|your|the)\s+(?:\w+\s+)?(?:sister|brother|neighbou?r|colleague|friend|wife|husband|son|daughter|boss|partner|mother|father|cousin|uncle|aunt|nephew|niece|teacher|"
    r"tenant|landlord|landlady|grandson|granddaughter|grandmother|grandfather|nan|gran|mate|flatmate|housemate|apprentice|assistant|foreman|caretaker|warden|vicar|driver|clerk|porter|cook|baker|butcher|"
    r"gardener|plumber|electrician|carpenter|joiner|mechanic|vet|nurse|midwife|director|conductor|stage manager|treasurer|chair|secretary|in-law),?\s$",
    re.IGNORECASE,
)
_NAMED_BEFORE: Final = re.compile(
    r"\b(?:(?:man|woman|boy|girl|lad|lass|fellow|chap|bloke|lady|gentleman|neighbou?r|driver|person|friend|teacher) (?:called|named)|I am|I'm|I’m|[Mm]y name is|[Mm]y name's|known as|call me|calls? (?:him|her))\s$"
)
_ASKED: Final = re.compile(
    r"\b(?:ask|asks|asked|tell|tells|told|ring|rings|rang|phone|phoned|call|called|thank|thanked|meet|met|marry|married|help|helped|pay|paid|thanks to|talk to|talked to|talks to|spoke to|speak to|spoken to|listen to|belongs? to|owe|owes|owed|hired|it was|"
    r"give|gives|gave|send|sent|lend|lends|lent|teach|taught|stop|stopped|let|saw|see|seen|know|knew|trust|trusted|numbers to|with|without|by|like|since|miss|missed|visit|visited|borrow(?:ed)? \w+ from|"
    r"learn(?:ed|t)? (?:it|that|this|\w+) from|for)\s$",
    re.IGNORECASE,
)
_CLAUSE: Final = re.compile(
    r"\b(?:if|whether|when|because|that|before|after|until|than|while|unless|once|though|although|where|how|what|and|but|so|as|days?|who|time|one|two|three|says|said|think|thinks|thought|hope|it)\s$",
    re.IGNORECASE,
)
_SPEAKS: Final = re.compile(
    r"^(?:,? (?:and I|and me|and my)\b|\s(?:says?|said|asks?|asked|lends?|lent|taught|teaches|knows?|knew|told|tells|thinks?|thought|wants?|wanted|keeps?|kept|drives?|drove|sells?|sold|signs?|signed|measured|owns?|owned|"
    r"showed|shows|gave|gives|lives?|lived|works?|worked|helps?|helped|offers?|offered|makes?|made|builds?|built|promised?|promises|rang|rings|phoned|brought|brings|came|comes|went|goes|left|leaves|died|"
    r"married|retired|swears?|swore|agrees?|agreed|refuses|refused|rents?|rented|opens?|opened|plays?|played|sings?|sang|does|did|stands in|writes|wrote|reads|walks|walked|cooks|cooked|paints|painted|mends|mended|fixes|fixed|"
    r"looks|looked|takes|took|runs|ran|needs|passed away|and (?:her|his|their)\b|the (?:\w+ )?(?:man|woman|butcher|baker|driver|plumber|cook|clerk|vet|nurse|farmer|mechanic|smith|carpenter|painter|porter|gardener|milkman|postman)))"
    r"(?![a-z])"
)
_STANDS_ON: Final = re.compile(r"\b(?:on|onto|off|along)\s$", re.IGNORECASE)
"""A preposition before a place. In "the nurse on Tarsk gave notice" the subject of the verb is the nurse, not Tarsk."""
_SAYS: Final = re.compile(
    r"^\s(?:says?|said|asks?|asked|lends?|lent|taught|teaches|told|tells|thinks?|thought|promised|rang|swears?|swore|agreed|refuses|refused|married|retired)\b|^(?:,? and I| and me)\b"
)
"""Verbs after the first word of a sentence whose subject is a person."""
_VERB_LIKE: Final = re.compile(r"^\s(?:[a-z]{2,}(?:ed|s|ing)|is|was|had|did|can|could|will|would|went|came|got|put)\b")
_ORDINARY_END: Final = re.compile(
    r"(?:tions?|sions?|ments?|ness|ity|ities|ive|ous|ance|ances|ence|ences|ship|ics|able|ible|ology|ings?|ists?|isms?|ized|ised|ful|less|ery|ure|ures|ward|wards|als|ers|ors|ism|(?<=[a-z]{3})ages?|ated|ator|ators|ians|ies)$"
)


def begins_sentence(text: str, at: int) -> bool:
    """Whether the word at `at` begins a sentence of `text`. A line break does not begin a sentence."""
    before = text[max(0, at - _READ_BACK) : at]
    if at <= _READ_BACK and _TEXT_START.fullmatch(before):
        return True
    if _ABBREVIATION.search(before):
        return False
    return _START.search(before) is not None or _QUOTED.search(before) is not None


_KNOWN: Final = LANGUAGES | TIMES | PLACES | ROLE_WORDS | (ENGLISH - ALSO_NAMES)
_SURE: Final = GIVEN - ALSO_NAMES - ENGLISH - PLACES - LANGUAGES - TIMES
"""Given names with no other meaning. In a text without capitals, only these are proposed."""


@dataclass
class _Hit:
    """A sequence of capitalised words."""

    start: int
    words: list[str]
    begins: bool
    before: str
    after: str
    in_list: bool

    @property
    def name(self) -> str:
        return " ".join(self.words)

    @property
    def person_name(self) -> bool:
        return self.words[0].lower() in GIVEN


def english_names(text: str) -> Iterator[tuple[int, str]]:
    """Yield each proposed name with its start, possibly several times."""
    spans = [one.span() for one in _WORK.finditer(text)]
    if not any(char.isupper() for char in text):
        yield from ((one.start(), one.group()) for one in _LOWER.finditer(text) if one.group() in _SURE)
        return
    titles = {at for begin, end in spans for at in range(begin, end)}
    hits = [hit for hit in _hits(text) if hit.start not in titles]
    ordinary = {one for one in _LOWER.findall(text) if len(one) > 2}
    places = {word.lower() for hit in hits if _is_place(hit) for word in hit.words}
    parts: set[str] = set()
    for hit in hits:
        if _is_person(hit, ordinary, places):
            yield hit.start, hit.name
            if len(hit.words) > 1:
                parts.update(hit.words)
    for hit in hits:
        if hit.name in parts and _is_part(hit, ordinary, places):
            yield hit.start, hit.name


def _is_part(hit: _Hit, ordinary: set[str], places: set[str]) -> bool:
    """Whether a single word is a part of a person's name elsewhere in the text: Wilf, of Wilf Arkwright."""
    word = hit.name.lower()
    if (
        len(hit.words) > 1
        or TITLE.fullmatch(hit.name)
        or word in places
        or word in TIMES
        or word in PLACES
        or _is_place(hit)
    ):
        return False
    common = word in ENGLISH and word not in ALSO_NAMES
    return not ((word in ALSO_NAMES or word in ENGLISH or word in ordinary) and (hit.begins or common))


def _hits(text: str) -> Iterator[_Hit]:
    lists = {at for one in _LIST.finditer(text) for at in range(*one.span())}
    for match in _NAME.finditer(text):
        start, words = match.start(), match.group().split(" ")
        begins = begins_sentence(text, start)
        while words and _drops_first(words, begins):
            start += len(words[0]) + 1
            words = words[1:]
            begins = False
        while words and words[-1].lower().rstrip(",") in CONNECTORS:
            words = words[:-1]
        while words and (words[0].lower() in CONNECTORS):
            start += len(words[0]) + 1
            words = words[1:]
        for begin, part in _parts(words):
            at = start + begin
            end = at + len(" ".join(part))
            yield _Hit(
                at,
                part,
                begins_sentence(text, at),
                text[max(0, at - 40) : at],
                text[end : end + 40],
                at in lists,
            )


def _drops_first(words: list[str], begins: bool) -> bool:
    """Whether the first of several words is not part of the name: an ordinary word, a month, a language."""
    first = words[0].lower().rstrip(",.")
    if TITLE.match(words[0]):
        return False
    if len(words) > 1 and TITLE.match(words[1]):
        return True
    if first in NICK_BEFORE:
        return False
    if begins and len(words) > 1 and words[1].lower() in GIVEN and first not in GIVEN | ALSO_NAMES:
        return True
    if (first in TIMES or first in LANGUAGES) and first not in ALSO_NAMES:
        return True
    if len(words) > 1 and first in ALSO_NAMES:
        return False
    return begins and first in ENGLISH and not (len(words) > 1 and words[1] == "&")


def _parts(words: list[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield the names in a sequence with "and" or commas, with offsets. A firm is one name: Crumb and Daughter."""
    if not words:
        return
    joined = [number for number, word in enumerate(words) if word in ("and", "&")]
    if not joined:
        yield 0, words
        return
    last = words[-1].rstrip(",")
    firm = "&" in words or _FIRM.fullmatch(last) is not None
    if firm and not (words[joined[0]] == "and" and len(words) - joined[-1] > 2 and "&" not in words):
        yield 0, words
        return
    first, at = 0, 0
    for stop in [*joined, len(words)]:
        part = words[first:stop]
        if part:
            yield at, [*part[:-1], part[-1].rstrip(",")]
        at += len(" ".join(words[first : stop + 1])) + 1
        first = stop + 1


def _is_place(hit: _Hit) -> bool:
    """Whether this occurrence shows that the words are a place: Tannery Row, in Marlock, Fenner's Hill."""
    if hit.person_name and len(hit.words) > 1 and not _PLACE.fullmatch(hit.words[-1]):
        return False
    if len(hit.words) > 1 and _FIRM.fullmatch(hit.words[-1]) is not None:
        return False
    return (
        (len(hit.words) > 1 and _PLACE.fullmatch(hit.words[-1]) is not None)
        or _PLACE_BEFORE.search(hit.before) is not None
        or _OWNS.match(hit.after) is not None
    )


def _is_person(hit: _Hit, ordinary: set[str], places: set[str]) -> bool:
    first, last = hit.words[0].rstrip(","), hit.words[-1]
    if len(hit.words) == 1:
        return _is_one(hit, first, ordinary, places)
    if "&" in hit.words:
        return False
    if TITLE.fullmatch(first):
        return True
    if _INITIALS.fullmatch(first):
        return not (_PLACE.fullmatch(last) or _FIRM.fullmatch(last))
    if first.lower() in ALSO_NAMES and len(hit.words) == 2 and _SPEAKS.match(hit.after):
        return True
    return _are_several(hit, last, places)


def _are_several(hit: _Hit, last: str, places: set[str]) -> bool:
    lower = [word.lower() for word in hit.words if word.lower() not in CONNECTORS]
    surname_known = last.lower() in ALSO_NAMES and hit.person_name
    no_family = _PLACE.fullmatch(last) or _FIRM.fullmatch(last)
    if hit.person_name and (surname_known or not no_family):
        return not any(word in ROLE_WORDS for word in lower[1:])
    if lower[0] in NICK_BEFORE and len(lower) == 2:
        return lower[1] not in places and (lower[1] in GIVEN or _SPEAKS.match(hit.after) is not None)
    if (
        no_family
        or hit.in_list
        or lower[0] == "st"
        or hit.before.lower().endswith((" the ", " a ", " an "))
        or hit.after.startswith((" of ", "'s Task"))
        or _PLACE_BEFORE.search(hit.before)
        or not _KNOWN.isdisjoint(lower)
        or (lower[0] not in ALSO_NAMES and _ORDINARY_END.search(lower[0]))
    ):
        return False
    return lower[0] not in places or _SPEAKS.match(hit.after) is not None


def _is_one(hit: _Hit, word: str, ordinary: set[str], places: set[str]) -> bool:
    lower = word.lower()
    if lower in LANGUAGES or ((lower in TIMES or lower in ENGLISH) and lower not in ALSO_NAMES):
        return False
    if TITLE.fullmatch(word) or lower in ROLE_WORDS or hit.in_list:
        return False
    given = lower in GIVEN
    may_be = lower in ALSO_NAMES or (lower in ordinary and (hit.begins or not given))
    has = _POSSESSIVE.match(hit.after) is not None
    if given and not may_be and has:
        return True
    if (lower in places or lower in PLACES) and (not given or _PLACE_BEFORE.search(hit.before)):
        return False
    strong = _KIN.search(hit.before) or _NAMED_BEFORE.search(hit.before)
    told = strong or (_SPEAKS.match(hit.after) and not _STANDS_ON.search(hit.before))
    if may_be:
        return bool(strong or (told and not hit.begins and lower in ALSO_NAMES and lower not in TIMES))
    if given:
        return True
    ordinary_end = _ORDINARY_END.search(lower) is not None
    if hit.before.lower().endswith((" the ", " a ", " an ")):
        family = _SPEAKS.match(hit.after) or _OF_FAMILY.match(hit.after)
        return bool(family) and hit.before.lower().endswith(" the ") and word.endswith("s") and not ordinary_end
    if hit.begins:
        return not ordinary_end and (_SAYS.match(hit.after) is not None or (has and lower not in ordinary))
    if told:
        return True
    in_clause = _CLAUSE.search(hit.before) and _VERB_LIKE.match(hit.after)
    return not ordinary_end and bool(has or _ASKED.search(hit.before) or in_clause)

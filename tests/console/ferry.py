"""The case that screenshots and browser tests show: a ferry co-op, five people, written answers of a scripted engine."""

from __future__ import annotations

from typing import Any, Final

from tests.support.scripted import Rule, Script
from tongyao.protocol.model.observation import Verdict

INTENT: Final = (
    "We need a data person to tell our ferry co-op which winter sailings to cut. We lose about £61,000 every winter on runs "
    "with four or five people aboard, but when we dropped the 15:40 on Thursdays two years ago the only care worker on Munsay "
    "gave notice, and none of us had seen it coming. I can hand over fifteen years of paper manifests and my evenings. "
    "The members vote on the timetable on 14 February."
)
TENSION: Final = {
    "transition": "Before a sailing goes, those who decide see what hangs on it, and for whom.",
    "initial_state": "34 sailings a week, eleven with fewer than six people. We lose about £61,000 every winter. Names may not "
    "leave the office. The members vote on the timetable on 14 February 2027.",
    "barriers": [
        "An empty sailing looks like one that holds up a week.",
        "Nobody reads the wet boxes of manifests fast enough.",
        "Nobody knows how to show members the choice.",
    ],
    "exchange": "Fifteen years of paper manifests, a dry room with a heater, my evenings, a free crossing for a year.",
}

# alias → (name, [(round, kind, sentence, about)])
_C, _D, _B = "capability", "direction", "boundary"
PEOPLE: Final[dict[str, tuple[str, list[tuple[int, str, str, list[str]]]]]] = {
    "P01": (
        "Mairi Voe",
        [
            (1, _C, "I can sign a freight contract of £260 a week from November to March, for three winters.", ["E"]),
            (1, _B, "I need a Thursday crossing that leaves Munsay between 15:00 and 16:00.", ["B1"]),
            (1, _D, "I grow oysters, and for years I have tried to show the bank what one crossing is worth.", ["T"]),
            (2, _B, "A crossing after 16:00 misses the lorry and I would withdraw the contract.", ["B1"]),
            (2, _C, "My crates travel with whoever is aboard; they are written down, if at all, as “fish, T.”", ["I"]),
        ],
    ),
    "P02": (
        "Donald Ness",
        [
            (1, _C, "I lead a choir that turns what people say in their kitchens into verses for a hall.", ["B3"]),
            (1, _B, "I need the boat at 21:30 or after, or half the choir cannot get home.", ["B1"]),
            (1, _D, "I want an island that hears what a decision does before it takes it.", ["T"]),
            (2, _C, "If I stage a vote, every option gets its verse, mine too.", ["B3"]),
            (2, _B, "The crew can only make one extra run on a Thursday, so the 15:40 would have to go.", ["B1"]),
        ],
    ),
    "P03": (
        "Isbel Croy",
        [
            (1, _C, "Take each person’s pattern, remove one shift, and see whose pattern has no second way to close.", ["B1"]),
            (1, _B, "I need a table with one line a person a crossing, with the same code for the same person.", ["B2"]),
            (1, _D, "I planned hospital rosters for twenty years and want my method tried before the harm.", ["T"]),
            (2, _B, "Two winters of records is the least.", ["B2"]),
            (2, _B, "I won’t put my name to a list of cuts, only to a list of what each cut would break.", ["T"]),
        ],
    ),
    "P04": (
        "Tom Arran",
        [
            (1, _C, "I set timetables for three small ferry lines and know what a sailing costs to the pound.", ["B1"]),
            (1, _B, "I need passenger-level bookings with names and postcodes, exported to our servers.", ["I"]),
            (2, _D, "I once closed a morning run that carried the baker, and have wondered since how I could have seen it.", ["T"]),
        ],
    ),
    "P05": (
        "Una Sinclair",
        [
            (1, _C, "I read old handwriting, wet paper too, into a table with one line for each person and a steady code.", ["B2"]),
            (1, _B, "I need heat: I cannot hold a pencil below 16 degrees.", ["B2"]),
            (1, _D, "I would like someone at my elbow who can explain any entry.", ["E"]),
        ],
    ),
}  # fmt: skip


def profile(alias: str) -> str:
    """All that this person says, as their profile: every quote stands in it."""
    return "\n".join(sentence for _, _, sentence, _ in PEOPLE[alias][1])


def _projection(alias: str, number: int) -> Rule:
    items = [
        {"kind": kind, "text": sentence, "quotes": [sentence], "about": about}
        for said_in, kind, sentence, about in PEOPLE[alias][1]
        if said_in == number
    ]
    return Rule(step="project", alias=alias, round=number, draft={"items": items})


def _relation(between: str, kind: str, text: str, sources: list[str], **more: Any) -> dict[str, Any]:
    return {"between": between.split("-"), "kind": kind, "text": text, "sources": sources, **more}


def _note(kind: str, text: str, sources: list[str], **more: Any) -> dict[str, Any]:
    return {"kind": kind, "text": text, "sources": sources, **more}


_OBSERVATIONS: Final[dict[int, dict[str, Any]]] = {
    1: {
        "relations": [
            _relation("P01-P02", "offsetting", "P01 needs the Thursday boat to leave Munsay between 15:00 and 16:00. P02 needs one at "
                      "21:30 or after. The crew makes one extra run: as they stand, the two do not both hold.", ["R1/P01/2", "R1/P02/2"]),
            _relation("P01-P03", "complementary", "P01 has for years tried to show what one crossing is worth. P03 can show whose week "
                      "has no second way to close without it.", ["R1/P01/3", "R1/P03/1"]),
            _relation("P02-P03", "complementary", "P02 makes verses out of what breaks and for whom. P03 makes a list of just that.",
                      ["R1/P02/1", "R1/P03/1"]),
            _relation("P02-P04", "offsetting", "P04 needs names and postcodes on servers elsewhere. P02 sings only what each person has "
                      "agreed to.", ["R1/P02/3", "R1/P04/2"]),
            _relation("P03-P04", "complementary", "P04 knows what a sailing costs, and P03 what it holds up. Neither number says "
                      "anything without the other.", ["R1/P03/1", "R1/P04/1"]),
            _relation("P02-P05", "aligned", "Both take what was written down without care and give each person a place in it.",
                      ["R1/P02/1", "R1/P05/1"]),
            _relation("P03-P05", "complementary", "What P05 makes is what P03 needs to begin. P05 reads paper into a table under codes; "
                      "P03 works from such a table and never needs the names.", ["R1/P03/2", "R1/P05/1"]),
            _relation("P01-E", "complementary", "A freight contract of £260 a week is the only money that anybody brings.", ["R1/P01/1"]),
            _relation("P05-B2", "complementary", "P05 reads wet boxes, at 16 degrees and above.", ["R1/P05/1", "R1/P05/2"]),
        ],
        "none": [["P01", "P04"], ["P01", "P05"], ["P04", "P05"]],
        "notes": [
            _note("gap", "Goods that travel without a person do not stand in a table of persons.", ["R1/P01/1"], about=["B1"], asks="P01"),
            _note("gap", "Money for the sailings that stay. One freight contract is all that anybody brings.", [], about=["E"]),
            _note("gap", "Who may open the boxes before the vote, and who decides it.", ["R1/P05/1"], about=["B2"], asks="P00"),
            _note("translation", "P03 says “the same code for the same person”, P05 “a steady code”. They may mean the same list.",
                  ["R1/P03/2", "R1/P05/1"], about=["P03", "P05"]),
        ],
        "words": "P05 reads old handwriting, wet paper too, and makes a table with one line for each person. P03 needs such a table and "
        "cannot type it.\n\nP01 and P02 speak of the same boat. As they stand, the two do not both hold.",
    },
    2: {
        "relations": [
            _relation("P01-P02", "offsetting", "P01 would withdraw the contract for a boat after 16:00. P02 says that for a late boat "
                      "the 15:40 would have to go. One extra run, two hours.", ["R2/P01/1", "R2/P02/2"], replaces=["R1/r1"]),
            _relation("P02-P03", "complementary", "P02 gives every option its verse. P03 will sign a list of what each cut would break, "
                      "and no list of cuts: that list is what a verse is made of.", ["R2/P02/1", "R2/P03/2"], replaces=["R1/r3"]),
            _relation("P03-P04", "aligned", "P04 once closed a run that carried the baker, and asks how that could have been seen. "
                      "P03 looks for the week that has no second way to close.", ["R2/P04/1", "R1/P03/1"]),
        ],
        "notes": [
            _note("framework", "The hinge: a sailing is a hinge when somebody’s week has no second way to close without it.",
                  ["R1/P03/1", "R2/P04/1"], about=["P03", "P04"]),
            _note("ignored", "P01 hands crates to whoever is aboard. A table of persons does not show them.", ["R2/P01/2"],
                  about=["P01", "B1"]),
        ],
        "ended": [{"id": "R1/n4", "why": "Both now speak of one list."}],
        "words": "P04 sets timetables and once closed a morning run that turned out to carry the baker. P03 calls a shift a hinge when "
        "somebody’s week has no second way to close without it. They may be speaking of the same thing.",
    },
}  # fmt: skip

_PLAN: Final[dict[str, Any]] = {
    "date": {"text": "The members vote on the timetable on 14 February 2027.", "sources": ["T/I"]},
    "possible": [
        {"text": "The paper can become a table. P05 writes one line for each person under a steady code; P03 needs just that table.",
         "sources": ["R1/P05/1", "R1/P03/2"]},
        {"text": "Ten boxes hold two winters.", "sources": []},
    ],
    "roles": [
        {"alias": "P03", "role": "finds the sailings that weeks hang on",
         "conditions": [{"text": "A place where the method is tried before the harm.", "sources": ["R1/P03/3"]},
                        {"text": "At least two winters, under codes.", "sources": ["R2/P03/1"]}]},
        {"alias": "P05", "role": "reads the boxes",
         "conditions": [{"text": "The room is at 16 degrees or more.", "sources": ["R1/P05/2"]}]},
        {"alias": "P02", "role": "stages the vote"},
    ],
    "tasks": [
        {"id": "task/1", "title": "Read ten boxes into a table", "assignee": "P05", "sources": ["R1/P05/1"]},
        {"id": "task/2", "title": "Find the hinges", "assignee": "P03", "prerequisites": ["task/1"], "sources": ["R1/P03/1"]},
        {"id": "task/3", "title": "Stage the vote", "assignee": "P02", "prerequisites": ["task/2"], "sources": ["R2/P02/1"]},
    ],
    "offsets": [
        {"text": "One boat, two hours. P01 needs the extra Thursday run before 16:00; P02 needs it at 21:30 or after.",
         "sources": ["R1/P01/2", "R1/P02/2"]},
    ],
    "residuals": [
        {"title": "Money for the sailings that stay", "transition": "The sailings that hold up a week are paid for by those whose "
         "week it is.", "initial_state": "One freight contract of £260 a week is all there is.",
         "barriers": ["Nobody here has money of this kind."], "exchange": "A list of what each sailing holds up.",
         "sources": ["R1/P01/1"]},
    ],
}  # fmt: skip

_DELIVERY: Final[dict[str, Any]] = {
    "asked": [
        {
            "text": "You take one crossing out of the table at a time, and see whose week no longer closes.",
            "sources": ["R1/P03/1"],
        }
    ],
    "gains": [
        {"text": "The table under codes, from P05.", "sources": ["R1/P05/1"]},
        {"text": "A place where your method is tried before the harm.", "sources": ["R1/P03/3"]},
    ],
    "conditions": [{"text": "At least two winters of records.", "sources": ["R2/P03/1"]}],
}


def script() -> Script:
    return Script(
        verdicts=[Verdict.MORE, Verdict.MORE, Verdict.EXHAUSTED, Verdict.EXHAUSTED],
        rules=[
            Rule(step="formulate", draft=TENSION),
            *(_projection(alias, number) for number in (1, 2) for alias in PEOPLE),
            Rule(step="project", round=[3, 4, 5], draft={"items": []}),
            *(Rule(step="observe", round=number, draft=draft) for number, draft in _OBSERVATIONS.items()),
            Rule(step="plan", draft=_PLAN),
            Rule(step="deliver", alias="P03", draft=_DELIVERY),
        ],
        model="claude-sonnet",
    )

"""One small made-up process per language: what `tongyao prompts show STEP --example` shows a model being
given.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tongyao.llm import prompts, rendering
from tongyao.llm.rendering import Block
from tongyao.protocol.model.observation import (
    Contribution,
    Effect,
    Gap,
    GapKind,
    Note,
    Observation,
    Pair,
    Relation,
    Translation,
    Verdict,
)
from tongyao.protocol.model.plan import Claim, Plan, Residual, Role, Task
from tongyao.protocol.model.projection import Dimension, Item, Outcome, Projection, Span
from tongyao.protocol.model.requests import (
    CatalystRequest,
    DeliveryRequest,
    EndpointRequest,
    Exchange,
    FormulationRequest,
    Language,
    Mandate,
    Material,
    Piece,
    PlannerRequest,
)
from tongyao.protocol.model.tension import Tension


@dataclass(frozen=True)
class _Words:
    """Everything in the example that is in somebody's own language."""

    intent: str
    lenses: tuple[str, str, str, str, str]
    profile: str
    strategy: str
    never: str
    claims: tuple[str, str, str, str]
    relation: str
    hedge: str
    gap: str
    framework: tuple[str, str]
    title: str


_WORDS: Final[dict[Language, _Words]] = {
    "en": _Words(
        intent=(
            "I need a van, or an app, or something. The bread is baked by five and half the villages get it at noon."
        ),
        lenses=(
            ("To let something that spoils by the hour reach scattered takers on movements that happen anyway."),
            "A bakery in a valley; ovens done at 05:00; nine villages within 31 km; one car until 07:30.",
            "The single morning tour ends at 12:10, after the takers have left for work.",
            "Asking neighbours to carry crates failed twice: nobody knew who was driving on which day.",
            "Forty loaves a day at cost; a heated yard with a ramp from 03:00 on.",
        ),
        profile="I have driven the school bus on the east side for nine years. At 05:40 I go up empty to "
        "Sallow End, the children only come down with me at 07:05. I do not carry goods when a child "
        "is on board.",
        strategy="unexpected links",
        never="the name of my employer",
        claims=(
            (
                "An empty vehicle climbs the east side at 05:40 every school day; against B1 "
                "that is a tour already paid for."
            ),
            ("Nothing may be carried while a child is on board, so every crate must be out by 07:05 at the upper end."),
            "Keeps a door key of 26 houses for deliveries at hours when nobody is up.",
            (
                "Will likely stop once crates must be counted twice: the earlier key round ended "
                "over a list of that kind."
            ),
        ),
        relation=("One goes up empty before six; the other can set things down behind locked doors at that hour."),
        hedge="may be speaking of the same habit",
        gap="Nobody here drives on the west side before noon.",
        framework=("three ways a hand-over breaks", "no one there; no list; too many lists"),
        title="West side before work",
    ),
    "zh": _Words(
        intent="我想要一辆面包车，或者一个小程序，反正得有个办法。面包五点就出炉了，一半的村子中午才拿到。",
        lenses=(
            "让按小时变坏的东西，搭上本来就会发生的走动，到达分散的接收者。",
            "山谷里一家面包房；五点出炉；三十一公里内九个村；一辆车，七点半前可用。",
            "早上只有一趟，跑完是十二点十分，接收的人已经出门上工。",
            "请邻居捎过两次都没成：没有人知道哪天谁开车。",
            "每天四十个面包按成本价；凌晨三点起可用的暖院子，有坡道。",
        ),
        profile="我开东坡的校车九年了。早上五点四十空车上到柳尾，七点零五孩子们才跟我下来。车上有孩子的时候，我不带货。",
        strategy="意外的联想",
        never="我的单位叫什么",
        claims=(
            "每个上学日五点四十有一辆空车上东坡；对着 B1，这是一趟已经付过钱的路。",
            "车上有孩子时什么都不能带，所以每一箱都要在七点零五之前在坡顶卸完。",
            "手里有二十六户的门钥匙，没人起床的钟点也能把东西放进去。",
            "一旦每箱要点两遍数，多半就不干了：上一回送钥匙的活就是断在这样一张表上。",
        ),
        relation="一边在六点前空车上坡，一边在那个钟点能把东西放进锁着的门里。",
        hedge="可能在说同一种习惯",
        gap="在场没有人在中午以前走西坡。",
        framework=("交接断开的三种方式", "没人在；没有表；表太多"),
        title="上工之前的西坡",
    ),
}


def render_example(step: str, language: Language, *, override: str | None = None) -> str:
    """The prompt of `step` as a model gets it, filled with the example; `⋯` lines show where a cached prefix
    ends.

    Raises `ValueError` as `prompts.load` does.
    """
    system = prompts.load(step, language, override).text
    parts = [f"[system]\n{system}", "⋯ cached up to here ⋯", "[user]"]
    for block in example_blocks(step, language):
        parts += [block.text, *(["⋯ cached up to here ⋯"] if block.cache else [])]
    return "\n\n".join(parts) + "\n"


def example_blocks(step: str, language: Language) -> tuple[Block, ...]:
    """The user's message of the example for `step`."""
    words = _WORDS[language]
    tension, first, second = _tension(language), _projections(words), _observation(words)
    material = _material(words.profile)
    match step:
        case "formulate":
            return rendering.formulation(FormulationRequest(language=language, intent=words.intent))
        case "project":
            return rendering.endpoint(
                EndpointRequest(
                    language=language,
                    alias="P01",
                    round=2,
                    tension=tension,
                    material=material,
                    observations=(second,),
                    own=first[:1],
                    mandate=Mandate(never=(words.never,)),
                )
            )
        case "observe":
            return rendering.catalyst(
                CatalystRequest(
                    language=language,
                    round=2,
                    tension=tension,
                    exchange=(
                        Exchange(round=1, projections=first, observation=second),
                        Exchange(round=2, projections=_nothing_new()),
                    ),
                    contributors=("P01", "P02"),
                    strategy=words.strategy,
                    verdict_counts=False,
                )
            )
        case "plan":
            return rendering.planner(
                PlannerRequest(
                    language=language,
                    tension=tension,
                    exchange=(Exchange(round=1, projections=first, observation=second),),
                    aliases=("P01", "P02"),
                    materials={"P01": material},
                    open_points=(words.gap,),
                )
            )
        case _:
            return rendering.delivery(
                DeliveryRequest(language=language, alias="P01", plan=_plan(language), own=first[:1])
            )


def _material(text: str) -> Material:
    return Material(pieces=(Piece(start=0, text=text),), total_chars=len(text))


def _tension(language: Language) -> Tension:
    transition, initial, *barriers, exchange = _WORDS[language].lenses
    return Tension(
        transition=transition,
        initial_state=initial,
        barriers=tuple(barriers),
        exchange=exchange,
        language=language,
    )


def _projections(words: _Words) -> tuple[Projection, ...]:
    def item(number: int, alias: str, dimension: Dimension, claim: str, *targets: str, inferred: bool = False) -> Item:
        spans = () if inferred else (Span(source="profile", start=0, end=10),)
        return Item(
            id=f"R1/{alias}/{number}",
            dimension=dimension,
            claim=claim,
            targets=targets,
            spans=spans,
            inferred=inferred,
        )

    up, limit, keys, stop = words.claims
    return (
        Projection(
            round=1,
            alias="P01",
            outcome=Outcome.REPLIED,
            items=(
                item(1, "P01", Dimension.CAPABILITY, up, "B1"),
                item(2, "P01", Dimension.BOUNDARY, limit, "I"),
            ),
        ),
        Projection(
            round=1,
            alias="P02",
            outcome=Outcome.REPLIED,
            items=(
                item(1, "P02", Dimension.CAPABILITY, keys, "B2"),
                item(2, "P02", Dimension.BOUNDARY, stop, "B2", inferred=True),
            ),
        ),
    )


def _nothing_new() -> tuple[Projection, ...]:
    return tuple(Projection(round=2, alias=alias, outcome=Outcome.NOTHING_NEW) for alias in ("P01", "P02"))


def _observation(words: _Words) -> Observation:
    both = ("R1/P01/1", "R1/P02/1")
    name, slots = words.framework
    return Observation(
        round=1,
        verdict=Verdict.MORE,
        pairs=(
            Pair(
                id="R1/catalyst/1",
                a="P01",
                b="P02",
                relation=Relation.COMPLEMENTARY,
                text=words.relation,
                sources=both,
            ),
        ),
        contributions=(
            Contribution(
                id="R1/catalyst/2",
                alias="P01",
                target="B1",
                effect=Effect.DISSOLVES,
                text=words.claims[0],
                sources=both[:1],
            ),
        ),
        translations=(
            Translation(
                id="R1/catalyst/3",
                a="P01",
                b="P02",
                a_words=words.claims[1],
                b_words=words.claims[2],
                text=words.hedge,
                sources=("R1/P01/2", "R1/P02/1"),
            ),
        ),
        gaps=(Gap(id="R1/catalyst/4", kind=GapKind.ABSENT, target="B1", text=words.gap),),
        frameworks=(Note(id="R1/catalyst/5", name=name, text=slots, sources=("R1/P02/2",)),),
    )


def _plan(language: Language) -> Plan:
    words = _WORDS[language]
    return Plan(
        language=language,
        panorama=(Claim(text=words.relation, sources=("R1/catalyst/1",)),),
        roles=(
            Role(
                alias="P01",
                role=words.claims[0],
                contributions=(Claim(text=words.claims[0], sources=("R1/P01/1",)),),
                costs=(Claim(text=words.claims[1], sources=("R1/P01/2",)),),
            ),
            Role(
                alias="P02",
                role=words.claims[2],
                contributions=(Claim(text=words.claims[2], sources=("R1/P02/1",)),),
            ),
        ),
        tasks=(Task(id="t1", title=words.claims[0], assignee="P01", sources=("R1/P01/1",)),),
        offsets=(Claim(text=words.claims[3], sources=("R1/P02/2",)),),
        residuals=(
            Residual(id="residual/1", title=words.title, tension=_tension(language), sources=("R1/catalyst/4",)),
        ),
    )

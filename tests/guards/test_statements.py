"""Advice told from statements, on sentences written without sight of the patterns; one half is only scored.

`python -m tests.guards.statements` prints the whole table.
"""

from __future__ import annotations

import time

import pytest

from tests.guards.statements import DATA, Half, score, statements
from tongyao.protocol.guards.advice import breach_of


@pytest.mark.parametrize(
    ("half", "lang", "precision", "recall"),
    [
        ("dev", "en", 0.98, 0.85),
        ("dev", "zh", 0.98, 0.85),
        ("held_out", "en", 0.95, 0.8),
        ("held_out", "zh", 0.9, 0.7),
        ("first", "en", 0.98, 0.95),
        ("first", "zh", 0.98, 0.95),
        ("second", "en", 0.98, 0.9),
        ("second", "zh", 0.98, 0.8),
        ("mended", "en", 0.98, 0.85),
        ("mended", "zh", 0.98, 0.85),
    ],
)
def test_what_is_struck_is_nearly_always_advice(half: Half, lang: str, precision: float, recall: float) -> None:
    """The aim is .98 and .85. The floors of the held-out half are just below what was reached (docs/guards.md)."""
    found = score(statements(half, lang))
    print(f"{half} {lang}: precision {found.precision:.3f}, recall {found.recall:.3f}")
    assert found.precision >= precision
    assert found.recall >= recall


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_conditions_rules_offers_and_reports_are_not_struck(lang: str) -> None:
    sentences = (DATA / f"visible_more.{lang}.txt").read_text(encoding="utf-8").splitlines()
    struck = [sentence for sentence in sentences if breach_of(sentence)]
    assert len(struck) <= len(sentences) // 20, struck


@pytest.mark.parametrize(
    "sentence",
    [
        "Laid out by postcode instead of by date, the two deliveries would fall on one trip.",
        "With one key instead of three, the round would be shorter by two doors.",
        "若按单元分拣，这两批快递会落在同一趟车上。",
    ],
)
def test_a_hedged_consequence_is_not_struck(sentence: str) -> None:
    assert not breach_of(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "做提示灯的 P02 缺先把几个人怎样走、在哪里转身定下来的人。",
        "P02 要先有人把屋子里几个人怎样走定下来…",
        "P04 等着有人先把钥匙的去向查清楚。",
        "P06 需要有人先去量水深。",
        "把尺寸定下来之前，P03 锯不了木板。",
        "P01 lacks someone to check the wiring before the hall opens.",
        "P04 is waiting for somebody to count the chairs.",
        "P03 has nobody who could first measure the floor.",
    ],
)
def test_whom_somebody_lacks_is_told_and_not_advised(sentence: str) -> None:
    assert not breach_of(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "For P00, kitchen and cold room together take a lump on the night it comes, if its van runs between them.",
        "P02 and P05 have three handcarts between them.",
        "A footpath runs between the two, past the well of P04.",
        "An hour lies between them: P02 closes at five, P06 opens at six.",
    ],
)
def test_what_lies_between_two_is_no_talk_between_them(sentence: str) -> None:
    assert not breach_of(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "The talk about the price stays between them.",
        "The rest is between the two.",
        "P02 lacks a lathe; P01 and P02 should agree on a date.",
        "P05 缺木料，不妨由 P03 先把尺寸定下来。",
        "建议 P02 把尺寸定下来。",
    ],
)
def test_what_is_advised_beside_a_lack_or_settled_between_two_is_struck(sentence: str) -> None:
    assert breach_of(sentence)


@pytest.mark.parametrize(
    "sentence", ["P01, call the dairy by Thursday and cancel the second tank.", "P01周四之前给茶厂打个电话吧。"]
)
def test_a_plain_order_with_a_deadline_is_struck(sentence: str) -> None:
    assert breach_of(sentence)


def test_a_contrast_of_places_does_not_excuse_advice() -> None:
    assert breach_of("这样的话应当当面说，而不是在这里。")
    assert not breach_of("P02 写下这一条，不是在建议谁先开口。")


def test_long_hostile_sentences_are_judged_in_time() -> None:
    for piece in ("P01 and ", "let the two ", "，先", "P01的", "the best ", "a b ", "可以"):
        text = piece * (20_000 // len(piece))
        began = time.process_time()
        breach_of(text)
        assert time.process_time() - began < 5, piece


@pytest.mark.parametrize(
    "sentence",
    [
        # a thing that changes hands, not a talk
        "看寄存处的 P01 拿牌来的就是主家，私下转了手他多半看不出。",
        # what a thing takes, and the complement of a verb
        "照这样补竹牌，可能得有一本册子，碰上不信登记的人。",
        "P02 的空瓶子、空药板当场数得出来。",
        "灯腾不腾得出来也跟着它走。",
        # a limit of one's own
        "P03她们不当保安，不替不认识的车担责任，看的只是自己群里的一排。",
        # the content of a rule that is compared
        "守台的P02和管卡嫂群的P03，可能在说同一件事：人各有各的犯困钟点，排守夜得避开它。",
        # how a person would like best what they want
        "P02要住下来，开口要一张床，最好别跟打呼噜的一起；",
        "合起来，P00可能看得出哪几夜不一样。",
        "园长 P06 有五十多张小床，谁要看可以来看。",
        "分开放还是放一处，两家不同。",
        # what one person alone can say
        "Whether the letter can admit somebody within the first two days, only P00 can say.",
        "On which days the women could begin, P00 alone can say.",
        "How much of the twenty minutes could be used for speaking has not been said.",
        # what is enough
        "P02两点以后还有一锅热的没人吃，有人先数好份数、到点来拿就行。",
        # what comes earlier through somebody, what has no answer, one of two moments
        "摆摊的P02在空桶进洞以前就看见，不必等到只剩油印子；",
        "西侧P04车上醒着的那一个喊不应；",
        "牵动洞口听到的是进去那一刻，还是抽完油出来那一刻。",
        # 得 and 再说 as parts of other words, 让 as to give up
        "守得太像有人说出去，她可能连话也不再说。",
        "反过来，洞口外守得看得出来，那几个人多半先疑到P02。",
        "P05挨洞口有六个位子，拉冻品可以让出里头两个，鲜奶也能挪，要人下来看着倒车。",
        # a trait that is named because it does not matter
        "P01说困点有定数，跟年纪、勤快没关系，记七夜就有；",
        # a noun that may be a verb, before a noun in the plural
        "Who watches over women in cold moving water, and under whose insurance: pool guards do not come, and P03 cannot see into the hall.",
        "Two things are open: train drivers come at six, and P04 leaves at five.",
        # sizes, times and worth of things
        "For P03, who dries fruit, one day of P05's oven is worth a fortnight of sun.",
        "P01's pool, at eighty-four degrees, would probably be too deep to stand in.",
        "If a case is worth nothing, P04, who traces heirs, sends the drawn tree to whoever arranges things;",
    ],
)
def test_a_plain_fact_is_not_struck(sentence: str) -> None:
    assert not breach_of(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "P01 和 P03 不如私下谈好再拿到群里。",
        "P02 可能得先去找 P03。",
        "P02要赶在月底前，最好先跟P03谈。",
        "这件事避开委员会的人先说好。",
        "P04 从来不替别人想。",
        "P02 和 P03 应该先把钥匙定下来。",
        "P01 should tell P04 before Friday.",
        "It would be best to begin with P02's shed.",
        "P05 缺人手，找 P03 借一天就行。",
        "先去问问 P02 再说。",
        "钥匙的事不必等到月底。",
        "P02 和 P03 不应再拖。",
        "两家都缺钥匙，还是把它交给P02。",
        "Two things are open: train apprentices first, then open the hall.",
    ],
)
def test_advice_in_like_words_is_struck(sentence: str) -> None:
    assert breach_of(sentence)

"""Generates retrieval sets of other kinds: `python bench/highway_made.py FOLDER --cmrc cmrc2018_dev.json`.

Writes NAME_corpus.jsonl, NAME_queries.jsonl and NAME_history.jsonl for `highway_bench.py`. From CMRC: whole passages,
two passages with one query, and a long dialogue of its sentences. Invented, from a grammar: dialogues of small facts in
both languages, films with their directors and towns (two passages per question), and a ledger of nearly equal lines.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Iterable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.highway_sets import cmrc

QuerySimilarities = tuple[str, set[int]]
FILLERS = {
    "en": "Wow, that sounds great!|Haha, really?|How did it go?|I am so happy for you.|Tell me more.|That must have been "
    "hard.|Same here, honestly.|Do you have a photo?|I should try that too.|Anyway, how is your mum?|Talk soon, bye.",
    "zh": "哇，听起来真不错！|哈哈，真的假的？|怎么样啊？|真替你高兴。|多说点儿。|那一定不容易。|我也是，说实话。|有照片吗？"
    "|我也该试试。|对了，你妈妈身体好吗？|回头聊。|后来呢？|没听清，你再说一遍？|说到哪儿了？",
}
NAMES = {"en": "Maya|Tom|Lucia|Derek|Ines|Noah", "zh": "小林|阿周|陈姐|老何|思远|梅子"}
DEEDS = {
    "en": {
        "went to/go to": "the pottery workshop|the night market|a support group|the climbing gym|a poetry reading|a jazz "
        "concert|the flea market|the dentist|a charity run",
        "bought/buy": "a red bicycle|second-hand skis|a sewing machine|hiking boots|a telescope|an old typewriter",
        "finished/finish": "the mystery novel|the quilt|the statistics course|a jigsaw puzzle of Lisbon",
        "lost/lose": "a passport|the house keys|a tooth|the chess match",
        "cooked/cook": "mushroom risotto|lentil soup|a lemon cake|dumplings for twelve",
        "signed up for/sign up for": "a swimming class|the fire brigade|a Spanish course|the choir",
    },
    "zh": {
        "去了": "陶艺工作坊|夜市|城西的攀岩馆|读诗会|旧货市场|表妹的婚礼|牙科诊所|爵士音乐会",
        "买了": "一辆红色自行车|二手雪板|一台缝纫机|铸铁锅|登山鞋|一架望远镜|旧打字机",
        "看完了": "那本推理小说|鲸鱼的纪录片|统计学网课|里斯本的拼图展",
        "弄丢了": "护照|家门钥匙|最喜欢的围巾|公交卡",
        "做了": "蘑菇烩饭|扁豆汤|柠檬蛋糕|三鲜饺子",
        "报名了": "游泳班|志愿消防队|西班牙语课|合唱团",
    },
}
WHEN = {
    "en": "yesterday|last Saturday|two weeks ago|on my birthday|last month|in July|over the long weekend|on Tuesday",
    "zh": "昨天|上周六|两个星期前|生日那天|上个月|七月份|长假里|周二",
}
WITH = {
    "en": "with my sister|with Grandpa Joe|on my own|with the kids|with Priya from work|with the neighbours",
    "zh": "跟我姐一起|和外公|一个人|带着孩子|和同事小普|和邻居",
}
WHY = {
    "en": "because I needed a break|after that awful meeting|and it cost me {} dollars|which took {} hours|to clear my head",
    "zh": "因为实在想歇一歇|开完那个烦人的会以后|花了{}块钱|前后用了{}个小时|就是想散散心",
}
SAID = {
    "en": "I {past} {what} {when} {whom} {why}.|{when}, I {past} {what} {whom}, {why}.|Guess what, {other}? I {past} {what} "
    "{whom} {when} {why}.",
    "zh": "我{when}{whom}{past}{what}，{why}。|{when}我{past}{what}，{whom}，{why}。|你猜怎么着，{other}？我{whom}{when}{past}{what}，{why}。",
}
ASKED = {
    "en": "When did {who} {inf} {what}?|Who did {who} {inf} {what} with?|What happened when {who} {past} {what}?",
    "zh": "{who}什么时候{past}{what}？|{who}和谁{past}{what}？|{who}{past}{what}的时候发生了什么？",
}


def facts(language: str, draw: random.Random) -> tuple[list[str], list[QuerySimilarities], list[QuerySimilarities]]:
    """120 conversations, each between two of six people. Half of the turns state a fact, and the other half are filler."""

    def one(of: dict[str, str]) -> str:
        return draw.choice(of[language].split("|"))

    colon, texts = ": " if language == "en" else "：", list[str]()
    told: dict[tuple[str, str, str], set[int]] = {}
    for _ in range(120):
        pair = draw.sample(NAMES[language].split("|"), 2)
        for _ in range(draw.randint(8, 22)):
            who, other = draw.sample(pair, 2)
            if draw.random() < 0.5:
                texts.append(who + colon + one(FILLERS))
                continue
            deed, whats = draw.choice(list(DEEDS[language].items()))
            what, past = draw.choice(whats.split("|")), deed.split("/")[0]
            why = one(WHY).format(draw.randint(2, 90))
            said = one(SAID).format(past=past, what=what, when=one(WHEN), whom=one(WITH), why=why, other=other)
            told.setdefault((who, deed, what), set()).add(len(texts))
            texts.append(who + colon + said)
    queries: list[QuerySimilarities] = []
    history: list[QuerySimilarities] = []
    for (who, deed, what), places in told.items():
        past, inf = deed.split("/") if "/" in deed else (deed, deed)
        if len(places) <= 6:
            queries.append((one(ASKED).format(who=who, past=past, inf=inf, what=what), places))
            if draw.random() < 0.5:
                history.append((one(ASKED).format(who=who, past=past, inf=inf, what=what), places))
    return texts, queries, history


def bridge(draw: random.Random) -> tuple[list[str], list[QuerySimilarities], list[QuerySimilarities]]:
    """Films, people and towns, one passage each. A question names one of them and asks about the next."""
    syllables = "ba ro ken li tor mar vi sel dun ha wick ne so pra gu len ost fer mi ta".split()

    def name() -> str:
        return "".join(draw.choices(syllables, k=3)).capitalize()

    def one(of: str) -> str:
        return draw.choice(of.split("|"))

    towns = sorted({name() + one("ton|burg|ville| Bay| Falls") for _ in range(120)})
    people = sorted({f"{one('Anna|Peter|Maria|John|Clara|Hugo|Elena|Ruth|Samuel|Greta')} {name()}" for _ in range(500)})
    texts, at, born = list[str](), dict[str, int](), dict[str, str]()
    for town in towns:
        at[town] = len(texts)
        texts.append(
            f"{town} is a town in {one('northern|southern|eastern')} {one('Norway|Peru|Canada|Kenya|Latvia')}. It has a "
            f"population of {draw.randint(1, 90)},000, lies on the {name()} river and is known for its "
            f"{one('glass industry|market square|kite festival|paper mills|railway museum')}."
        )
    for person in people:
        at[person], born[person] = len(texts), draw.choice(towns)
        texts.append(
            f"{person} (born {draw.randint(1, 28)} {one('March|May|July')} {draw.randint(1880, 1990)} in {born[person]}) is "
            f"a {one('retired|celebrated|former')} {one('director|novelist|composer|chemist')}, who studied in "
            f"{draw.choice(towns)} and received the {name()} Prize in {draw.randint(1920, 2015)}."
        )
    asked: list[QuerySimilarities] = []
    for _ in range(700):
        things = "Garden|Harbour|Letter|Clock|Bridge|Orchard|Mirror|Train|Lantern|Window|Road|Island"
        title = f"{one('The|A|Last|Silent|Winter|Two')} {one(things)} {one('of|in|and the|without')} {name()}"
        director = draw.choice(people)
        both = {len(texts), at[director]}
        texts.append(
            f"{title} is a {draw.randint(1930, 2018)} {one('drama|comedy|thriller|documentary')} film directed by {director} "
            f"and starring {draw.choice(people)}. It tells of a {one('fisherman|teacher|nurse|pilot')} who returns to "
            f"{draw.choice(towns)} after {one('the war|a long illness|twenty years abroad')}."
        )
        asked.append((f"In which town was the director of {title} born?", both))
        asked.append((f"Which prize did {director}, director of {title}, receive?", both))
    asked += [(f"Which river flows through the birthplace of {p}?", {at[p], at[born[p]]}) for p in people[:250]]
    draw.shuffle(asked)
    return texts, asked[:600], asked[400:900]


def ledger(draw: random.Random) -> tuple[list[str], list[QuerySimilarities], list[QuerySimilarities]]:
    """Nearly equal lines, which differ only in date, shop and article."""
    shops, goods = (
        "城南店|城北店|河口店|Airport店|老街店".split("|"),
        "豆浆|拿铁|Bagel|牛肉面|Matcha拿铁|烧饼".split("|"),
    )
    keys = [(m, d, shop, what) for m in range(1, 13) for d in range(1, 29) for shop in shops for what in goods]
    keys = draw.sample(keys, 3500)
    texts = [
        f"2025年{m}月{d}日 {s} {w} 卖出{draw.randint(3, 300)}份，退{draw.randint(0, 9)}份。" for m, d, s, w in keys
    ]
    queries: list[QuerySimilarities] = [
        (f"{m}月{d}日{s}卖了多少{w}？", {i}) for i, (m, d, s, w) in enumerate(keys[:700])
    ]
    return texts, queries, [(f"{s}在{m}月{d}日卖出几份{w}", {i}) for i, (m, d, s, w) in enumerate(keys[350:1050], 350)]


def from_cmrc(
    path: Path, draw: random.Random
) -> Iterable[tuple[str, list[str], list[QuerySimilarities], list[QuerySimilarities]]]:
    entries = json.loads(path.read_text(encoding="utf-8"))["data"]
    passages = [p for entry in entries for p in entry["paragraphs"]]
    texts = [p["context"] for p in passages]
    asked: list[QuerySimilarities] = [(q["question"], {i}) for i, p in enumerate(passages) for q in p["qas"]]
    draw.shuffle(asked)
    half = len(asked) // 2
    yield "passages_zh", texts, asked[half:], asked[:half]
    pairs = [draw.sample(range(len(texts)), 2) for _ in range(900)]

    def both(a: int, b: int) -> QuerySimilarities:
        first, second = (draw.choice(passages[i]["qas"])["question"] for i in (a, b))
        return f"{first}另外，{second}", {a, b}

    yield "two_passages_zh", texts, [both(a, b) for a, b in pairs], [both(a, b) for a, b in pairs[:450]]
    collection = cmrc(path)
    turns, at, group, pair = list[str](), dict[int, int](), -1, ["", ""]
    for place, text in enumerate(collection.texts):
        if collection.groups[place] != group:
            group, pair = collection.groups[place], draw.sample(NAMES["zh"].split("|"), 2)
        who, other = draw.sample(pair, 2)
        at[place] = len(turns)
        turns.append(f"{who}：{draw.choice(('', '', '我跟你说，', '我查了一下，', '对了，'))}{text}")
        if draw.random() < 0.5:
            turns.append(f"{other}：{draw.choice(FILLERS['zh'].split('|'))}")
    said: list[QuerySimilarities] = [
        (query.text, {at[place] for place in query.relevant}) for query in collection.queries
    ]
    draw.shuffle(said)
    yield "dialogue_zh", turns, said[half:], said[:half]


def put(
    folder: Path, name: str, texts: list[str], queries: list[QuerySimilarities], history: list[QuerySimilarities]
) -> None:
    rows: dict[str, list[dict[str, object]]] = {
        "corpus": [{"id": i, "text": text} for i, text in enumerate(texts)],
        "queries": [{"query": query, "relevant": sorted(relevant)} for query, relevant in queries],
        "history": [{"query": query, "relevant": sorted(relevant)} for query, relevant in history],
    }
    for kind, entries in rows.items():
        lines = [json.dumps(entry, ensure_ascii=False) for entry in entries]
        (folder / f"{name}_{kind}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{name}: {len(texts)} texts, {len(queries)} queries, {len(history)} sought before")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--cmrc", type=Path)
    parser.add_argument("--seed", type=int, default=5, help="seed of the random draws")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    draw = random.Random(options.seed)
    for language in ("en", "zh"):
        put(options.folder, f"facts_{language}", *facts(language, draw))
    put(options.folder, "bridge_en", *bridge(draw))
    put(options.folder, "ledger", *ledger(draw))
    if options.cmrc:
        for name, texts, queries, history in from_cmrc(options.cmrc, draw):
            put(options.folder, name, texts, queries, history)


if __name__ == "__main__":
    main()

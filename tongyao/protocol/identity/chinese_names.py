"""Finds possible names of persons in Chinese text by family names, titles and neighbouring words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from tongyao.protocol.identity.words import (
    ALSO_WORDS,
    CHINESE,
    FOREIGN_CHARS,
    GIVEN_CHARS,
    HONORIFICS,
    MOSTLY_GIVEN,
    NO_FAMILIAR,
    NOT_GIVEN,
    PLACE_END,
    SURNAMES,
)

_ONE: Final = "".join(sorted(name for name in SURNAMES if len(name) == 1))
_SURNAME: Final = rf"(?:{'|'.join(sorted(name for name in SURNAMES if len(name) == 2))}|[{_ONE}])"
_ROLES: Final = (
    "司机|队长|园长|校长|主任|老板|老板娘|厂长|村长|镇长|书记|会计|师傅|徒弟|邻居|同事|同学|朋友|战友|工友|侄子|侄女|外甥|外甥女|表弟|表哥|表姐|表妹|堂弟|堂哥|堂姐|堂妹|"
    "弟弟|哥哥|姐姐|妹妹|爱人|丈夫|妻子|老伴|老婆|老公|媳妇|女儿|儿子|闺女|孙子|孙女|外孙|儿媳|女婿|岳母|岳父|婆婆|父亲|母亲|爸爸|妈妈|外婆|外公|奶奶|爷爷|舅舅|叔叔|阿姨|"
    "老师|医生|护士|护工|门卫|店主|房东|租客|组长|团长|导演|编剧|演员|兽医|木匠|铁匠|裁缝|厨师|船长|渔民|站长|院长|所长|馆长|会长|理事长|经理|店长|教练|班主任|掌柜|搭档|合伙人|学生|律师|主管|会计师"
)
_TOLD: Final = re.compile(rf"(?:{_ROLES}|叫|名叫|叫做|我是|姓名|本名|真名|外号|人称|名字是|姓名[:：])[　 “\"]?$")
_WITH: Final = re.compile(
    r"(?:^|[是从连靠有而的和跟给找问让请替帮向对被把由归听同与托等陪教谢见像]|[，。！？；：、,.!?;:“”\"（）()《》\s—…]|谢谢|感谢|认识|联系|告诉|碰到|遇到|听说|还有|以及|因为|但是|不过|所以|后来|那天|昨天|今天|去年|今年|如果|只有|连)$"
)
_DOES: Final = re.compile(
    r"(?:$|[，。！？；：、,.!?;:“”\"（）()\s—…]|[的和跟与说讲答问认帮借教管带送卖开修住做会把也都不是有要想从每去来在家爱能还那一已刚退招同愿点告就给让没先两俩又写画种养当打找听看走到下上拿出接学过各卖手负愿懂])"
)
_TITLES: Final = "|".join(sorted(HONORIFICS, key=len, reverse=True))
_TITLED: Final = re.compile(rf"{_SURNAME}[\u4e00-\u9fff]{{0,2}}?(?:{_TITLES})(?![们师])")
_BEGINS: Final = r"(?:(?<=[，。！？；：、,.!?;:“”\"（）()《》\s—…@])|(?<=[找请问跟给帮谢同])|^)"
"""Matches the start of a clause, or the place after a word that often precedes a person."""
_CALLED: Final = re.compile(
    rf"{_BEGINS}(?P<name>[\u4e00-\u9fff·]{{1,5}}?)(?P<title>{_TITLES})(?![们师长])", re.MULTILINE
)
_KIN: Final = "哥姐叔婶嫂姨伯"
_FOREIGN: Final = re.compile(rf"[{FOREIGN_CHARS}]{{1,6}}(?:[·•][{FOREIGN_CHARS}]{{1,8}})+")
"""A foreign name in Chinese characters."""
_TRADITIONAL: Final = str.maketrans(
    "張陳劉黃趙吳孫馬羅鄭許韓馮鄧蕭葉蘇呂盧鐘譚陸範賈韋鄒閻龍陶賀顧龔萬錢嚴賴倪莊樂蔣餘師嬸爺說問會講謝請給幫國麗華偉業東麥愛蘭藝榮鳳賢寧達強興嬌瓊瑩潔靜慶貴寶鵬飛豔軍傑學",
    "张陈刘黄赵吴孙马罗郑许韩冯邓萧叶苏吕卢钟谭陆范贾韦邹阎龙陶贺顾龚万钱严赖倪庄乐蒋余师婶爷说问会讲谢请给帮国丽华伟业东麦爱兰艺荣凤贤宁达强兴娇琼莹洁静庆贵宝鹏飞艳军杰学",
)
_NOBODY: Final = re.compile(
    rf"(?:{_ROLES}|人|家|者|员|师|工|生|长|们|友|居|户|方|会|队|班|组|店|司|厂|校|院|部|区|楼|院|书|文|学|语|休|术|育|乐|医|警|厨|台|站|群|老|小|大|谢)$|^(?:[一二两三四五六七八九十几这那某各每全所本该哪谁什如因但所虽而且就才都也不没很更最今明昨当后前听据先后]|{_ROLES})"
)
"""Words that are no name before a title or as a subject: roles, school subjects, numbers, function words."""
_FULL: Final = re.compile(_SURNAME)
_FAMILIAR: Final = re.compile(rf"(?:[老小][{_ONE}]|大[刘李张王陈赵周吴孙胡朱林何郭罗梁宋郑]|阿[\u4e00-\u9fff])")
_FAMILIAR_GIVEN: Final = re.compile(r"[大老小][\u4e00-\u9fff]|阿[\u4e00-\u9fff]{1,3}")
_WITH_TITLE: Final = re.compile(rf"[\u4e00-\u9fff]{{1,3}}(?:{_TITLES})")
_AFTER_NAME: Final = tuple("说讲问答，。的和跟家也会在")
_WORD_BEFORE: Final = re.compile(r"[一二两三四五六七八九十百千几半多每第0-9]$")


def may_be_named(name: str) -> bool:
    """Whether a person can have this name: a full name, a name with a title, or a form such as 老宋 or 阿芳."""
    if name in CHINESE or name in NO_FAMILIAR or any(char in NOT_GIVEN for char in name):
        return False
    if _FAMILIAR.fullmatch(name) or _FAMILIAR_GIVEN.fullmatch(name):
        return True
    if _WITH_TITLE.fullmatch(name):
        return name[0] in SURNAMES or all(char in GIVEN_CHARS for char in name[:2])
    surname = next((name[:length] for length in (2, 1) if name[:length] in SURNAMES), "")
    given = name[len(surname) :]
    if not surname or not 1 <= len(given) <= 2 or {name[:2], given} & CHINESE:
        return False
    return surname not in ALSO_WORDS or all(char in GIVEN_CHARS for char in given)


def is_phrase(words: str) -> bool:
    """Whether `words` has a character that occurs in sentences but not in names."""
    return any(char in NOT_GIVEN for char in words)


def chinese_names(text: str) -> Iterator[tuple[int, str]]:
    """Yield each proposed name with its start, possibly repeatedly. Traditional characters are read as simplified."""
    for start, name in _names(text.translate(_TRADITIONAL)):
        yield start, text[start : start + len(name)]


def _names(text: str) -> Iterator[tuple[int, str]]:
    yield from ((hit.start(), hit.group()) for hit in _FOREIGN.finditer(text))
    for hit in _CALLED.finditer(text):
        if _is_called(hit["name"]) and (len(hit["title"]) > 1 or (len(hit["name"]) == 2 and hit["title"] in _KIN)):
            yield hit.start("name"), hit["name"] + hit["title"]
    for hit in _TITLED.finditer(text):
        yield from _titled(text, hit)
    for hit in _FAMILIAR.finditer(text):
        name, before, after = hit.group(), text[max(0, hit.start() - 6) : hit.start()], text[hit.end() : hit.end() + 1]
        if name in NO_FAMILIAR and not (
            name[1] in "方明安平白云雷马龙金石常万" and _WITH.search(before) and after in _AFTER_NAME
        ):
            continue
        if after and (_WORD_BEFORE.search(before) or after in "头子板话屋街桥路城房实"):
            continue
        if name[0] in "阿大" and not (_WITH.search(before) or _TOLD.search(before)):
            continue
        yield hit.start(), name
    at = 0
    while (found := _FULL.search(text, at)) is not None:
        at = found.start() + 1
        if (full := _full(text, found.start(), found.group())) is not None:
            yield found.start(), full
            at = found.start() + len(full)


def _is_called(word: str) -> bool:
    """Whether a word in the position of a person may be a name rather than a role."""
    return not (
        any(char in NOT_GIVEN for char in word) or word in CHINESE or word in HONORIFICS or _NOBODY.search(word)
    )


def _titled(text: str, hit: re.Match[str]) -> Iterator[tuple[int, str]]:
    """Yield a family name, full name or given name with a title: 周师傅, 李建国老师, 建国哥."""
    name, before = hit.group(), text[max(0, hit.start() - 6) : hit.start()]
    title = next(title for title in sorted(HONORIFICS, key=len, reverse=True) if name.endswith(title))
    called = name.removesuffix(title)
    if any(char in NOT_GIVEN for char in called) or name in CHINESE or called in CHINESE:
        return
    if called[0] in "老小大" and len(called) == 1:
        return
    beside = bool(_WITH.search(before) or _TOLD.search(before))
    if len(called) == 1:
        sure = len(title) > 1 or beside
        if called in SURNAMES and sure and (called not in ALSO_WORDS or beside) and not _WORD_BEFORE.search(before):
            yield hit.start(), name
    elif (
        (called[0] in SURNAMES or called[:2] in SURNAMES) and all(char in GIVEN_CHARS for char in called[1:]) and beside
    ):
        yield hit.start(), name


def _full(text: str, start: int, surname: str) -> str | None:
    """Return the full name that begins here, or None. Of the two possible lengths, the one with more points wins."""
    before = text[max(0, start - 6) : start]
    told, beside = bool(_TOLD.search(before)), bool(_WITH.search(before))
    best, most = None, 0
    for length in (2, 1):
        given = text[start + len(surname) : start + len(surname) + length]
        if len(given) < length or not all("\u4e00" <= char <= "\u9fff" for char in given):
            continue
        name, after = surname + given, text[start + len(surname) + length :][:2]
        if any(char in NOT_GIVEN for char in given) or {name, name[:2], name[1:], given} & CHINESE:
            continue
        if given[-1] in PLACE_END and not told:
            continue
        likely = sum(char in GIVEN_CHARS for char in given)
        points = 3 * told + 2 * beside + 2 * likely + (1 if _DOES.match(after) else -1) + (length == 2)
        points -= 2 * (length == 2 and likely == 1 and given[1] not in GIVEN_CHARS)
        points += 2 * any(char in MOSTLY_GIVEN for char in given) + (len(surname) == 2)
        points -= 2 * (surname in ALSO_WORDS) + 2 * (likely == 0)
        if points >= (6 if length == 2 else 5) and points > most:
            best, most = name, points
    return best

"""Commands speak the language of the terminal, in the words of the console."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from tests.commands.command_line import TEXTS as PROFILES
from tests.commands.command_line import room, spoken_to_the_plan, tongyao
from tests.support.stack import Stack
from tongyao import commands
from tongyao.app.errors import NotFound, Refused
from tongyao.cli import MODULES, app
from tongyao.commands.chinese_help import RUN, breakable
from tongyao.commands.doctor import examine
from tongyao.commands.expected_errors import message_of
from tongyao.commands.words import known, language
from tongyao.protocol.model.observation import Verdict
from tongyao.protocol.model.phase import Phase
from tongyao.records.database import RecordsError
from tongyao.runtime.errors import NotRunning
from tongyao.runtime.settings import Settings
from tongyao.texts.catalogue import catalogue, worded

FOLDER = Path(commands.__file__).parent
LITERAL_KEY = re.compile(r"""\bsay\(\s*"([a-z_]+\.[a-z_]+)"\s*[,)]""")


def test_every_text_has_both_languages_and_the_same_values() -> None:
    own = catalogue("commands")
    assert own and not {key.split(".")[0] for key in own} & {key.split(".")[0] for key in catalogue("console")}
    for key, (english, chinese) in own.items():
        assert english.strip() and chinese.strip(), key
        assert set(re.findall(r"\{(\w+)\}", english)) == set(re.findall(r"\{(\w+)\}", chinese)), key


def test_every_key_that_a_command_names_exists() -> None:
    named = {key for file in FOLDER.glob("**/*.py") for key in LITERAL_KEY.findall(file.read_text(encoding="utf-8"))}
    states = {*(f"phase.{one.value}" for one in Phase), *(f"show.verdict_{one.value}" for one in Verdict)}
    assert len(named) > 20
    assert not {key for key in named | states if not known(key)}


def every_help() -> Iterator[tuple[str, str]]:
    """The name of each command, and of each of its parameters, with its English help."""
    root = typer.main.get_command(app)
    commands: list[tuple[str, Any]] = [("", root)]
    while commands:
        name, command = commands.pop()
        if command.help:
            yield name, command.help
        yield from ((f"{name} {param.name}", param.help) for param in command.params if getattr(param, "help", None))
        if command is root:
            commands += [(one, root.get_command(None, one)) for names in MODULES.values() for one in names]
        else:
            commands += [(f"{name} {one}", sub) for one, sub in getattr(command, "commands", {}).items()]


def test_the_help_in_chinese_is_of_help_that_there_is() -> None:
    shown = dict(every_help())
    english = {en: key for key, (en, _) in catalogue("commands").items() if key.startswith("help.")}
    assert english.keys() - set(shown.values()) == set()
    assert {name for name, said in shown.items() if said not in english} == set(), (
        "every command and every option says in Chinese what it does"
    )


def test_chinese_help_has_places_where_a_column_can_be_broken() -> None:
    said = "列出运维人员做过什么，新的在前：恢复、取消、延期、重写记录、解密内容，以及别的许多事情。"
    assert breakable(said).replace(" ", "") == said
    assert max(map(len, breakable(said).split())) <= RUN
    assert breakable("不能撤销。") == "不能撤销。"


async def test_help_is_in_the_language_of_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TONGYAO_LANGUAGE", "zh")
    listed, of_say = await tongyao("--help"), await tongyao("say", "--help")
    assert "通爻运行结晶过程" in listed.stdout and "列出过程，新的在前" in listed.stdout
    assert "答复“没有新的”" in of_say.stdout
    monkeypatch.setenv("TONGYAO_LANGUAGE", "en")
    listed, of_say = await tongyao("--help"), await tongyao("say", "--help")
    assert not re.search("[\u4e00-\u9fff]", listed.stdout + of_say.stdout)


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"LANG": "zh_CN.UTF-8"}, "zh"),
        ({"LANG": "en_GB.UTF-8"}, "en"),
        ({"LC_ALL": "C.UTF-8", "LANG": "zh_CN.UTF-8"}, "en"),
        ({"LC_ALL": "", "LC_MESSAGES": "zh_TW.UTF-8", "LANG": "C"}, "zh"),
        ({"TONGYAO_LANGUAGE": "zh", "LC_ALL": "C"}, "zh"),
        ({"TONGYAO_LANGUAGE": "en", "LANG": "zh_CN.UTF-8"}, "en"),
        ({}, "en"),
    ],
)
def test_the_language_is_that_of_the_terminal_unless_it_is_set(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], expected: str
) -> None:
    for name in ("TONGYAO_LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert language() == expected


async def test_show_and_what_follows_a_message_are_in_the_language_of_the_terminal(
    stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    process, _aliases = await room(stack)
    shown = await tongyao("show", process)
    assert "[rounds in progress]" in shown.stdout and "crystallizing" not in shown.stdout
    assert "waits for P01: say what is new from you in round 1" in shown.stdout

    monkeypatch.setenv("TONGYAO_LANGUAGE", "zh")
    shown = await tongyao("show", process)
    assert "[各轮进行中]" in shown.stdout and "正在答复方案" in shown.stdout
    assert "在等P01：写下第 1 轮你的新内容" in shown.stdout
    assert f"tongyao say {process} --as P01 --round 1" in shown.stdout
    why = (await tongyao("why", process)).stdout.replace("\n", "")
    assert "在等P01，从" in why and "写下第 1 轮你的新内容，或答“没有新的”" in why and "Waits for" not in why
    assert json.loads((await tongyao("show", process, "--json")).stdout)["phase"] == "crystallizing"

    listed = (await tongyao("list")).stdout
    assert "阶段" in listed and "P01: 写下第 1 轮你的新内容" in listed.replace("\n", "")

    said = await tongyao("say", process, "--as", "P01", "--text", "My workshop is free in spring.")
    assert "现在：各轮进行中，第 1 轮" in said.stdout and "接下来：" in said.stdout
    refused = (await tongyao("confirm", process)).exception
    assert isinstance(refused, Refused) and message_of(refused).startswith("被拒绝：")
    await tongyao("cancel", process)


async def test_what_is_wrong_is_said_in_the_language_of_the_terminal(
    stack: Stack, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TONGYAO_LANGUAGE", "zh")
    assert "没有服务在运行" in message_of(NotRunning(tmp_path))
    unknown = (await tongyao("show", "c-nothing")).exception
    assert isinstance(unknown, NotFound) and "没有过程 'c-nothing'" in message_of(unknown)


async def test_at_a_terminal_it_is_said_who_reads_the_words_before_they_are_sent(
    stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    process, _aliases = await room(stack)
    assert "Who reads it" not in (await tongyao("say", process, "--as", "P01", "--text", "A workshop.")).stdout
    monkeypatch.setenv("FORCE_COLOR", "1")  # a terminal
    said = await tongyao("say", process, "--as", "P02", "--text", "A slipway.")
    first, *_ = said.stdout.splitlines()
    assert "the catalyst, when the round closes" in first and "under P02" in first
    assert "Who reads it" not in (await tongyao("say", process, "--as", "P03", "--nothing-new")).stdout
    await tongyao("cancel", process)


async def test_before_an_answer_is_sent_it_is_said_who_learns_of_it(
    stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    process, aliases = await room(stack)
    await spoken_to_the_plan(stack, process, aliases)
    monkeypatch.setenv("FORCE_COLOR", "1")
    committed = await tongyao("answer", process, "commit", "--as", "ada")
    assert "see your name" in committed.stdout.splitlines()[0]
    declined = await tongyao("answer", process, "decline", "--as", "bo")
    assert "Nobody is told your name" in declined.stdout.splitlines()[0]
    await tongyao("cancel", process)


CHINESE = re.compile("[\u4e00-\u9fff]")


async def test_commands_of_operators_speak_chinese_too(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each prints its table, its result or its refusal in the language of the terminal."""
    [ada] = await stack.people({"ada": PROFILES["ada"]})
    scene = (await stack.repositories.profiles.get(ada)).scene_id
    typed = {
        ("token", "create"): "请写 --person ID 或 --operator",
        ("token", "list"): "有效",
        ("field", "list", "--scene", "nowhere"): "没有场景 'nowhere'",
        ("field", "list", "--scene", scene): "评级",
        ("field", "stats"): "检索方式",
        ("field", "search"): "请写一段文字",
        ("erase", ada, "--dry-run"): "会改写 0 个已结束过程的文字",
        ("keys", "show"): "在用",
        ("cost",): "写入缓存",
        ("log",): "被拒绝",
        ("reconcile", "--dry-run"): "已启动：无",
        ("upgrade",): "请写一个过程，或者用 --all",
        ("replay", ada, "--file", "x"): "二选一",
        ("doctor", "--settings"): "默认值",
    }
    await stack.repositories.tokens.issue("operator")
    for spoken, expected in (("zh", True), ("en", False)):
        monkeypatch.setenv("TONGYAO_LANGUAGE", spoken)
        for words, chinese in typed.items():
            done = await tongyao(*words)
            assert done.exception is None or isinstance(done.exception, SystemExit | RecordsError), (
                words,
                done.exception,
            )
            said = done.stdout + done.stderr
            if expected:
                assert chinese in said.replace("\n", ""), (words, said)
            elif words != ("doctor", "--settings"):
                assert not CHINESE.search(said), (words, said)


def test_doctor_speaks_the_language_of_the_terminal(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    settings = Settings(home=tmp_path, gateway_port=0)
    monkeypatch.setenv("TONGYAO_LANGUAGE", "zh")
    assert any("剩余" in row.found for row in examine(settings))
    assert "TONGYAO_GATEWAY_PORT 的端口" in {row.subject for row in examine(settings)}
    monkeypatch.setenv("TONGYAO_LANGUAGE", "en")
    assert not [row for row in examine(settings) if CHINESE.search(row.subject + row.found + row.advice)]


def test_one_thing_is_no_plural() -> None:
    words = {"a.b": ("{n} process{n:es}, {links} link{links:s}", "{n} 个过程，{links} 处联系")}
    assert worded(words, "en", "a.b", n=1, links=2) == "1 process, 2 links"
    assert worded(words, "en", "a.b", n=0, links="1") == "0 processes, 1 link"
    assert worded(words, "zh", "a.b", n=1, links=1) == "1 个过程，1 处联系"

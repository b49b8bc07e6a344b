"""The operators' log: who did what, message or not."""

from __future__ import annotations

from tests.records.conftest import Announce, NewId
from tongyao.protocol.model.messages import Author, Cancel, ExtendDeadline, Message, Resume
from tongyao.protocol.rules.refusals import ACCEPTED, MessageVerdict, Refusal
from tongyao.records.database import Pool
from tongyao.records.process.messages import Messages
from tongyao.records.process.operator_log import OperatorLog

OPERATOR = Author(role="operator")


async def test_what_operators_did_is_listed_with_who_did_it(pool: Pool, announce: Announce, new_id: NewId) -> None:
    process, messages, log = await announce(), Messages(pool), OperatorLog(pool)
    kim, lee = new_id("kim"), new_id("lee")

    async def send(message: Message, login: str, verdict: MessageVerdict) -> None:
        stored = await messages.put(process, message, author_id=f"operator:{login}", via="api", login=login)
        await messages.verdict(stored, verdict)

    await send(Resume(key="k", author=OPERATOR), kim, MessageVerdict.refused(Refusal.NOT_SUSPENDED))
    await send(ExtendDeadline(key="k", author=OPERATOR, alias="P01", seconds=60), lee, ACCEPTED)
    await log.note(process, "project_again", login=kim, via="cli")
    demander = Cancel(key="k", author=Author(role="demander", alias="P00"))
    await messages.put(process, demander, author_id="somebody", via="api")

    acts = await log.acts(process_id=process)
    assert [(act.login, act.act, act.via, act.refused) for act in acts] == [
        (kim, "project_again", "cli", ""),
        (lee, "extend_deadline", "api", ""),
        (kim, "resume", "api", "not_suspended"),
    ]
    assert [act.act for act in await log.acts(login=kim)] == ["project_again", "resume"]
    assert len(await log.acts(limit=1, process_id=process)) == 1

"""What became of a plan is kept beside it, also after its process has ended."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from tests.records.conftest import NewId
from tests.support.erasing import destroy_key
from tongyao.records.database import Pool
from tongyao.records.people.profiles import ProfileVersion
from tongyao.records.privacy.texts import Texts
from tongyao.records.process.journal import Journal
from tongyao.records.process.plans import Feedback, FeedbackRow, NothingToJudge, PlanRow, Plans
from tongyao.records.process.process_rows import NewProcess, Processes
from tongyao.records.process.seats import SeatRow, Seats


async def test_feedback_is_kept_after_the_end_and_the_last_word_holds(
    pool: Pool, new_id: NewId, person: Callable[..., Awaitable[ProfileVersion]]
) -> None:
    ada, process = await person(), new_id("process")
    await Processes(pool).create(NewProcess(id=process, demander="dee", language="en", intent_text_id=None))
    await Seats(pool).seat(process, [SeatRow.of(ada, alias="P01", endpoint="proxy", fallback="lapse")])
    text = await Texts(pool).put(f"process:{process}", "plan", "{}")
    await Plans(pool).put_plan(process, PlanRow(revision=1, text_id=text, markdown_text_id=text))
    await Journal(pool).set_ended(process, "completed")
    feedback = Feedback(pool)
    await feedback.put(process, FeedbackRow(alias="P01", revision=1, outcome="too_early"))
    await feedback.put(process, FeedbackRow(alias="P01", revision=1, usefulness=4, outcome="done"), words="It froze.")
    await feedback.put(process, FeedbackRow(alias="P00", revision=1, usefulness=3, outcome="partly"))
    rows = await feedback.of_process(process)
    assert [(row.alias, row.usefulness, row.outcome) for row in rows] == [("P00", 3, "partly"), ("P01", 4, "done")]
    assert await feedback.words(process, "P01", 1) == "It froze."
    kept = await Texts(pool).stored_chars(ada.profile_id)
    again = FeedbackRow(alias="P01", revision=1, usefulness=4, outcome="done")
    for words in ("It froze?", "It froze."):
        await feedback.put(process, again, words=words)
    assert await Texts(pool).stored_chars(ada.profile_id) == kept, "what is said again takes the place of what was said"
    await destroy_key(pool, ada.profile_id)
    assert await feedback.words(process, "P01", 1) == ""
    for alias, revision in (("P02", 1), ("P01", 2)):
        with pytest.raises(NothingToJudge):
            await feedback.put(process, FeedbackRow(alias=alias, revision=revision, usefulness=1))

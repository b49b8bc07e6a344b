"""An engine that repeats what was said in everything that it writes: an erasure has to find it there again."""

from __future__ import annotations

from tests.support.scripted import Rule, Script, ScriptedEngine
from tongyao.protocol.model.observation import NoteDraft, NoteKind, ObservationDraft, Verdict
from tongyao.protocol.model.plan import ClaimDraft, PlanDraft
from tongyao.protocol.model.requests import CatalystRequest, PlannerRequest, Request
from tongyao.protocol.model.value import Draft
from tongyao.protocol.rules.standing import standing


class QuotingEngine(ScriptedEngine):
    """Items quote the beginning of a profile. Observation and plan repeat every item, each in a statement of its own."""

    def __init__(self, *rules: Rule, quote_chars: int = 400) -> None:
        super().__init__(Script(verdicts=[Verdict.EXHAUSTED], quote_chars=quote_chars, rules=list(rules)))

    def _default(self, request: Request, rule: Rule) -> Draft:
        draft = super()._default(request, rule)
        if isinstance(request, CatalystRequest) and isinstance(draft, ObservationDraft):
            state = standing(request.exchange)
            told = {note.text for note in state.notes}
            draft.notes += [
                NoteDraft(kind=NoteKind.IGNORED, text=item.text, about=["T"], sources=[item.id])
                for item in state.valid_items
                if item.text not in told
            ]
            draft.words = "\n\n".join(item.text for item in state.valid_items)
        if isinstance(request, PlannerRequest) and isinstance(draft, PlanDraft):
            said = standing(request.exchange).valid_items
            draft.possible += [ClaimDraft(text=item.text, sources=[item.id]) for item in said]
        return draft

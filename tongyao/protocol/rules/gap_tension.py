"""What a room lacks when its rounds stand still, as a tension that the field can be asked with (docs/protocol.md §3.8). Pure."""

from __future__ import annotations

from collections.abc import Mapping

from tongyao.protocol.model.observation import Effect, Gap, GapKind
from tongyao.protocol.model.record import Record
from tongyao.protocol.model.sizes import cut
from tongyao.protocol.model.tension import MAX_BARRIERS, MISSING, TENSION_UNITS, Tension
from tongyao.protocol.model.value import Value


class Lack(Value):
    """`tension`: T, I and E of the process, its barriers what is open; `open`: what stands behind each of these.

    `open` maps a barrier of `tension` to a barrier of the process or to a gap: `B1` → `B3`, `B2` → `R7/catalyst/4`.
    """

    tension: Tension
    open: Mapping[str, str]


def lacking(record: Record) -> Lack | None:
    """What nobody in the room covers, the most telling first; None before there is a tension.

    In this order: gaps of the last observation that nobody here can fill; barriers that nobody dissolves or helps with;
    gaps that were only overlooked. Where nothing is open, the process's own barriers: the next nearest to the whole.
    """
    if record.tension is None:
        return None
    tension = record.tension
    found = _open(record, tension) or _barriers(tension)
    named = dict(list(found.items())[:MAX_BARRIERS])
    half, sixth = TENSION_UNITS // 2, TENSION_UNITS // 6
    return Lack(
        tension=Tension(
            transition=cut(tension.transition, sixth),
            initial_state=cut(tension.initial_state, sixth),
            barriers=tuple(cut(text, half // len(named)) for text in named.values()) or (MISSING,),
            exchange=cut(tension.exchange, sixth),
            language=tension.language,
        ),
        open={f"B{number}": name for number, name in enumerate(named, 1)},
    )


def _open(record: Record, tension: Tension) -> dict[str, str]:
    last = record.observations[-1] if record.observations else None
    gaps = {kind: [gap for gap in (last.gaps if last else ()) if gap.kind is kind] for kind in GapKind}
    barriers = _barriers(tension)
    absent = {gap.id: _said(gap, tension) for gap in gaps[GapKind.ABSENT]}
    told = {gap.target for kind in gaps.values() for gap in kind}
    bare = {name: text for name, text in barriers.items() if name not in told | _met(record)}
    overlooked = {gap.id: _said(gap, tension) for gap in gaps[GapKind.OVERLOOKED]}
    return {name: text for name, text in {**absent, **bare, **overlooked}.items() if text.strip()}


def _said(gap: Gap, tension: Tension) -> str:
    return gap.text or tension.targets().get(gap.target, "")


def _barriers(tension: Tension) -> dict[str, str]:
    return {name: text for name, text in tension.targets().items() if name.startswith("B")}


def _met(record: Record) -> set[str]:
    return {
        one.target
        for seen in record.observations
        for one in seen.contributions
        if one.effect in (Effect.DISSOLVES, Effect.HELPS)
    }

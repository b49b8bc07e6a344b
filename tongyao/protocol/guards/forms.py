"""The form of a relation: what must be named, by item ids, for code to know which kind it is (docs/protocol.md §5.2). Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import combinations

from tongyao.protocol.guards.complaints import Fault
from tongyao.protocol.guards.naming import named_ids
from tongyao.protocol.model.observation import Correspondence, Form, PairDraft, Relation, SecondRelationDraft


def form_of(draft: PairDraft | SecondRelationDraft, a: str, b: str, items: Collection[str]) -> Form:
    """The slots of `draft` that belong to its relation, with the ids of items of `a` and `b`; everything else is left out."""

    def ids(said: Iterable[str]) -> tuple[str, ...]:
        return tuple(one for one in named_ids(said, items) if one.split("/")[1] in (a, b))

    match draft.relation:
        case Relation.COMPLEMENTARY:
            return Form(lack=ids(draft.lack), means=ids(draft.means))
        case Relation.OFFSETTING:
            return Form(condition=ids(draft.condition), cancels=ids(draft.cancels))
        case Relation.ALIGNED:
            steps = [ids((step.a, step.b)) for step in draft.steps]
            whole = [sorted(step, key=lambda one: one.split("/")[1]) for step in steps if len(step) == 2]
            found = [Correspondence(a=left, b=right) for left, right in whole if _sides((left,)) != _sides((right,))]
            return Form(steps=tuple(dict.fromkeys(found)))
    return Form()


def ids_of(form: Form) -> tuple[str, ...]:
    """Every id that stands in a slot."""
    steps = (one for step in form.steps for one in (step.a, step.b))
    return (*form.lack, *form.means, *form.condition, *form.cancels, *steps)


def own_sides(form: Form, other: Form, a: str, b: str) -> bool:
    """Whether `form` has, for each side, an item that stands in no slot of `other`: it is about another matter."""
    return {a, b} <= _sides(set(ids_of(form)) - set(ids_of(other)))


def missing_form(relation: Relation, form: Form, a: str, b: str, directions: Collection[str]) -> Fault | None:
    """What `form` lacks for this relation between `a` and `b`; None when it is whole. `directions`: ids of items of the dimension
    direction."""
    match relation:
        case Relation.COMPLEMENTARY if not _across(form.lack, form.means, a, b):
            return "no_lack_and_means"
        case Relation.OFFSETTING if not _across(form.condition, form.cancels, a, b):
            return "no_condition_and_cancels"
        case Relation.ALIGNED if not _whole_change(form.steps, directions):
            return "no_steps"
    return None


def _whole_change(steps: Iterable[Correspondence], directions: Collection[str]) -> bool:
    """Whether two of `steps` rest on four items, or one step on two directions, each of which says a change from its first step to its
    last (seed 000: aligned are two whose directions overlap). Anything less is a common topic, place or date, or a likeness."""
    found = list(steps)
    if any(step.a in directions and step.b in directions for step in found):
        return True
    return any({one.a, one.b}.isdisjoint((other.a, other.b)) for one, other in combinations(found, 2))


def _across(one: Iterable[str], other: Iterable[str], a: str, b: str) -> bool:
    """Whether the two slots hold items of both sides, one side each."""
    left, right = _sides(one), _sides(other)
    return (a in left and b in right) or (b in left and a in right)


def _sides(ids: Iterable[str]) -> set[str]:
    return {item.split("/")[1] for item in ids}

"""A marker for people and names, as the records make it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from tongyao.protocol.identity.marks import Hidden, Marker, forms_to_hide, seat
from tongyao.protocol.model.tension import NameFound


def name(text: str, kind: Literal["person", "firm"] = "person") -> NameFound:
    return NameFound.model_construct(name=text, kind=kind)  # without validation: tests also use invalid names


def hiding(
    *names: str | NameFound, people: Mapping[str, Sequence[str]] | None = None, confirmed: Sequence[str] = ()
) -> Marker:
    """A marker that hides `names`, numbered in order, then the names of each of `people`, by alias.

    `confirmed`: names confirmed by the author of the text.
    """
    groups = [[name(one) if isinstance(one, str) else one] for one in names]
    said = [[name(one)] for one in confirmed]
    hidden = Hidden().with_forms(forms_to_hide(Hidden(), groups))
    hidden = hidden.with_forms(forms_to_hide(hidden, said, authors=[seat("", "")]))
    joined = [[name(one) for one in of_one] for of_one in (people or {}).values()]
    return Marker(hidden.with_forms(forms_to_hide(hidden, joined, identities=True)), people)

"""Walks over the strings of a tension, a projection, an observation, a plan, a delivery or a record.

`texts_of` yields every text of a person or a model. `map_texts` rewrites each text. `map_ids` rewrites the cited ids. A
string is a text if its field is in `FREE_TEXT`. Other strings are never changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from types import NoneType
from typing import Any, Final, Literal, TypeVar, get_args, get_origin

from pydantic import BaseModel

ModelT = TypeVar("ModelT", bound=BaseModel)

FREE_TEXT: Final = frozenset(
    "transition initial_state barriers exchange markdown text quotes words why name title role doubt open_points when outside remarks "
    "intent answer_words contacts".split()
)
"""Names of fields that contain texts of people or models (checked by tests/protocol/test_rewrite.py). If such a field
is a mapping, its values are the texts."""

CITED: Final = frozenset({"sources"})
"""Names of fields that contain ids of sources."""


def texts_of(model: BaseModel) -> Iterator[str]:
    """Yield every text that is not empty in `model` and in the models that it contains, in the order of the fields."""
    for name in _fields(type(model), FREE_TEXT):
        yield from _texts(name, getattr(model, name))


def map_texts(model: ModelT, change: Callable[[str], str]) -> ModelT:
    """Return `model` with `change` applied to each text, without validation; the same object if no text changes."""
    return _mapped(model, FREE_TEXT, change)


def map_ids(model: ModelT, change: Callable[[str], str]) -> ModelT:
    """Return `model` with `change` applied to each id in `sources`; the same object if no id changes."""
    return _mapped(model, CITED, change)


def _texts(name: str, value: Any) -> Iterator[str]:
    if isinstance(value, BaseModel):
        yield from texts_of(value)
    elif type(value) is str:
        if name in FREE_TEXT and value:
            yield value
    else:
        for part in _parts(value):
            yield from _texts(name, part)


def _mapped(model: ModelT, names: frozenset[str], change: Callable[[str], str]) -> ModelT:
    changed = {}
    for name in _fields(type(model), names):
        value = getattr(model, name)
        if (new := _new(name, value, names, change)) is not value:
            changed[name] = new
    return model.model_copy(update=changed) if changed else model


def _new(name: str, value: Any, names: frozenset[str], change: Callable[[str], str]) -> Any:
    if isinstance(value, BaseModel):
        return _mapped(value, names, change)
    if type(value) is str:
        new = change(value) if name in names else value
        return value if new == value else new
    if not (parts := _parts(value)):
        return value
    new_parts = tuple(_new(name, part, names, change) for part in parts)
    if all(new is old for new, old in zip(new_parts, parts, strict=True)):
        return value
    return dict(zip(value, new_parts, strict=True)) if isinstance(value, Mapping) else type(value)(new_parts)


def _parts(value: Any) -> tuple[Any, ...]:
    """Return the elements of a tuple or list, or the values of a mapping; empty for any other value."""
    if isinstance(value, Mapping):
        return tuple(value.values())
    return tuple(value) if isinstance(value, tuple | list) else ()


@cache
def _fields(kind: type[BaseModel], names: frozenset[str]) -> tuple[str, ...]:
    """Return the names of the model's fields that are in `names` or may contain another model."""
    fields = kind.model_fields.items()
    return tuple(name for name, field in fields if name in names or not _holds_no_model(field.annotation))


def _holds_no_model(annotation: Any) -> bool:
    """Whether values of this type never contain a model."""
    if get_origin(annotation) is Literal or annotation is Ellipsis:
        return True
    if parts := get_args(annotation):
        return all(map(_holds_no_model, parts))
    return isinstance(annotation, type) and issubclass(annotation, (str, int, float, NoneType))

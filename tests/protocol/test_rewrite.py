"""The walk over the texts of a model visits every text field, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

import pytest
from pydantic import BaseModel

from tongyao.protocol.model.observation import Observation
from tongyao.protocol.model.plan import Delivery, Plan
from tongyao.protocol.model.projection import Projection
from tongyao.protocol.model.record import Record
from tongyao.protocol.model.requests import ChildPlan, Material
from tongyao.protocol.model.rewrite import CITED, FREE_TEXT, map_ids, map_texts, texts_of
from tongyao.protocol.model.tension import Tension

CLOSED = frozenset(
    "id alias between none asks sources about replaces assignee prerequisites language residual root parent removed line labels process "
    "process_id forked_from scene decision profile_id identities others answers".split()
)
"""Strings that are no text: ids, aliases, closed words. `identities` and `others` are names as such, and not written in a text."""

MODELS = (Tension, Projection, Observation, Plan, Delivery, Material, ChildPlan, Record)


@pytest.mark.parametrize("kind", MODELS, ids=lambda kind: kind.__name__)
def test_every_string_field_is_named_as_text_or_as_closed(kind: type[BaseModel]) -> None:
    found = {name for name, _ in _string_fields(kind)}
    assert found <= FREE_TEXT | CLOSED, "a new field is put into FREE_TEXT, or into CLOSED here"
    assert not CLOSED & FREE_TEXT


@pytest.mark.parametrize("kind", MODELS, ids=lambda kind: kind.__name__)
def test_each_text_field_is_read_and_rewritten_and_no_other_string_is(kind: type[BaseModel]) -> None:
    made = _filled(kind)
    texts = [text for path, text in _strings(made) if path[-1] in FREE_TEXT]
    assert texts, kind
    assert sorted(texts_of(made)) == sorted(texts)
    new = map_texts(made, lambda text: f"<{text}>")
    assert {path: f"<{text}>" if path[-1] in FREE_TEXT else text for path, text in _strings(made)} == dict(
        _strings(new)
    )
    cited = map_ids(made, lambda id: f"child/{id}")
    assert {path: f"child/{text}" if path[-1] in CITED else text for path, text in _strings(made)} == dict(
        _strings(cited)
    )


def test_what_does_not_change_is_the_same_object() -> None:
    made = _filled(Record)
    assert map_texts(made, lambda text: text) is made
    assert map_texts(made, str) is made


def _string_fields(kind: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """The name of every field that holds strings, in a model and in all models below it."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        for field, about in kind.model_fields.items():
            yield from _string_fields(about.annotation, field)
    elif kind is str:
        yield name, kind
    for part in get_args(kind):
        if get_origin(kind) is not Literal:
            yield from _string_fields(part, name)


def _filled(kind: Any, path: tuple[str, ...] = ()) -> Any:
    """A value of a type with a string of its own in each field, made without validation. Of a union its last part but None."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return kind.model_construct(
            **{name: _filled(field.annotation, (*path, name)) for name, field in kind.model_fields.items()}
        )
    origin, parts = get_origin(kind), [part for part in get_args(kind) if part is not type(None)]
    if origin in (Union, UnionType):
        return _filled(parts[-1], path)
    if origin is tuple:
        members = parts[:1] if parts[-1] is Ellipsis else parts
        return tuple(_filled(part, (*path, str(number))) for number, part in enumerate(members))
    if origin is dict:
        return {"P01": _filled(parts[1], path)}
    if origin is Literal:
        return parts[0]
    return ".".join(path) if kind is str else None


def _strings(value: Any, path: tuple[str, ...] = ("",), place: str = "") -> Iterator[tuple[tuple[str, ...], str]]:
    """Every string of a filled value: its place and the name of its field."""
    if isinstance(value, BaseModel):
        for name in type(value).model_fields:
            yield from _strings(getattr(value, name), (name,), f"{place}.{name}")
    elif isinstance(value, tuple):
        for number, part in enumerate(value):
            yield from _strings(part, path, f"{place}.{number}")
    elif isinstance(value, dict):
        for key, part in value.items():
            yield from _strings(part, path, f"{place}.{key}")
    elif type(value) is str:
        yield (place, *path), value

"""The JSON schema of a draft, and the same shape as text for services that accept no schema."""

from __future__ import annotations

from functools import cache
from typing import Any

from tongyao.protocol.model.value import Draft


@cache
def schema_of(draft: type[Draft]) -> dict[str, object]:
    """The JSON schema of `draft` in the subset that structured outputs accept: every field is required, no others are
    allowed.

    The fields have the order of the draft, so that a verdict is written before the fields after it.
    """
    whole = draft.model_json_schema()
    definitions = whole.pop("$defs", {})
    return _strict(whole, definitions)


def _strict(schema: dict[str, Any], definitions: dict[str, Any]) -> dict[str, object]:
    if "$ref" in schema:
        return _strict(definitions[schema["$ref"].rsplit("/", 1)[1]], definitions)
    if "enum" in schema:
        return {"type": "string", "enum": schema["enum"]}
    match schema["type"]:
        case "object":
            properties = {name: _strict(field, definitions) for name, field in schema["properties"].items()}
            return {
                "type": "object",
                "properties": properties,
                "required": list(properties),
                "additionalProperties": False,
            }
        case "array":
            return {"type": "array", "items": _strict(schema["items"], definitions)}
        case kind:
            return {"type": kind}


@cache
def shape_of(draft: type[Draft]) -> str:
    """The same shape in a few lines for a prompt: `{"verdict": "more | exhausted", "relations": [{…}], …}`."""
    return _sketch(schema_of(draft), indent=0)


def _sketch(schema: dict[str, Any], indent: int) -> str:
    if "enum" in schema:
        return '"' + " | ".join(schema["enum"]) + '"'
    match schema["type"]:
        case "object" if indent == 0:
            lines = (f'  "{name}": {_sketch(field, 1)}' for name, field in schema["properties"].items())
            return "{\n" + ",\n".join(lines) + "\n}"
        case "object":
            fields = (f'"{name}": {_sketch(field, 1)}' for name, field in schema["properties"].items())
            return "{" + ", ".join(fields) + "}"
        case "array":
            return f"[{_sketch(schema['items'], 1)}]"
        case "boolean":
            return "true | false"
        case "integer":
            return "0"
        case _:
            return '"…"'

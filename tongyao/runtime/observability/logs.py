"""Structured logs: one line for each event, with ids and fixed words, no people's texts (docs/operations.md §5)."""

from __future__ import annotations

import logging
import sys
import traceback
from collections.abc import MutableMapping
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any

import structlog
from structlog.typing import Processor

from tongyao.runtime.settings import Settings

LOG_BYTES = 10_000_000  # a longer log is renamed; one old log is kept
KEPT_OF_A_TRACE = 12  # the innermost frames
KEPT_OF_A_FIELD = 500  # characters
KEPT_OF_A_LIST = 50  # values
OWN = frozenset({"tongyao", "activities", "workflows", "worker", "__main__"})
"""Tongyao's own packages. Their log messages are constants."""


def configure(settings: Settings, *, file: Path | None = None) -> None:
    """Send the logs of structlog and of the standard library (Temporal, uvicorn) to standard error, or to `file`.

    Of an exception, only the types and the code locations are kept. Its message can quote the data that caused it,
    which may be a person's words. Messages of libraries can quote such data, too. Only their constant part is kept, or
    the place in the library's code. No field has control characters or more than `KEPT_OF_A_FIELD` characters.
    """
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        _ids_of_temporal,
        _without_texts,
        _bounded,
    ]
    renderer: Processor = (
        structlog.processors.JSONRenderer(ensure_ascii=False)
        if settings.log_format == "json"
        else structlog.dev.ConsoleRenderer(colors=file is None and sys.stderr.isatty())
    )
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,
    )
    handler: logging.Handler = logging.StreamHandler(sys.stderr)
    if file is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        handler = RotatingFileHandler(file, maxBytes=LOG_BYTES, backupCount=1, encoding="utf-8")
    handler.addFilter(_fixed_message)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[structlog.stdlib.ExtraAdder(allow=_IDS), *shared],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
        )
    )
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(settings.log_level.upper())
    for chatty in ("httpx", "httpx2", "httpcore", "httpcore2", "anthropic", "mcp"):  # they log requests with addresses
        logging.getLogger(chatty).setLevel(logging.WARNING)


def to_standard_error() -> None:
    """Send warnings to standard error in programs that configure no logs, such as most commands.

    structlog's default is standard output, where commands print their results.
    """
    if not structlog.is_configured():
        structlog.configure(
            logger_factory=lambda *_: structlog.PrintLogger(sys.stderr),
            wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING),
        )


def _fixed_message(record: logging.LogRecord) -> bool:
    """Rewrites a record of a standard library logger: exceptions become their types, texts of libraries are removed."""
    if isinstance(record.msg, dict):  # a record of structlog
        return True
    message = record.msg if isinstance(record.msg, str) else str(_named(record.msg))
    arguments = record.args if isinstance(record.args, tuple) else ()
    package = record.name.partition(".")[0]
    if package in OWN:
        arguments = tuple(_named(argument) for argument in arguments)
    elif package == "temporalio":  # it appends a dictionary, which `_ids_of_temporal` reads from `extra`
        message = message.partition(" ({")[0]
    elif not record.args and not isinstance(record.msg, BaseException):  # the message may already contain the values
        message = f"{record.filename}:{record.lineno} {record.funcName}"
    if package not in OWN:
        arguments = tuple(
            _named(argument) if isinstance(argument, BaseException | int | float) else "…" for argument in arguments
        )
    try:
        record.msg = message % arguments if arguments else message
    except (TypeError, ValueError):
        record.msg = message
    record.args = ()
    return True


def _named(value: object) -> object:
    return f"{type(value).__module__}.{type(value).__qualname__}" if isinstance(value, BaseException) else value


def _ids_of_temporal(logger: Any, method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Keep process, step and attempt of the dictionary that the Temporal SDK adds to its log lines."""
    for name in _IDS:
        ids = event.pop(name, None)
        if isinstance(ids, dict):
            event.setdefault("process", ids.get("workflow_id"))
            for key in ("activity_type", "attempt"):
                if key in ids:
                    event.setdefault("step" if key == "activity_type" else key, ids[key])
    return event


_IDS = ("temporal_workflow", "temporal_activity")


def _bounded(logger: Any, method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Cut the values of an event to their limits, and replace control characters, which could forge log lines."""
    for name, value in event.items():
        if not name.startswith("_"):  # these names are used by structlog itself
            event[name] = _short(value)
    return event


def _short(value: object) -> object:
    match value:
        case None | bool() | int() | float():
            return value
        case list() | tuple() | set() | frozenset():
            return [_short(element) for element in list(value)[:KEPT_OF_A_LIST]]
        case dict():
            return {str(_short(name)): _short(item) for name, item in list(value.items())[:KEPT_OF_A_LIST]}
        case _:
            text = str(value)
            cut = text[:KEPT_OF_A_FIELD] + ("…" if len(text) > KEPT_OF_A_FIELD else "")
            return "".join(char if char.isprintable() else "\ufffd" for char in cut)


def _without_texts(logger: Any, method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Replace an exception by the types in its chain and the code locations of its traceback."""
    info = event.pop("exc_info", None)
    for name, value in event.items():
        event[name] = _named(value)
    event.pop("exception", None)
    if info is True:
        info = sys.exc_info()
    error = info if isinstance(info, BaseException) else info[1] if isinstance(info, tuple) else None
    if error is None:
        return event
    chain: list[BaseException] = []
    link: BaseException | None = error
    while link is not None and link not in chain:
        chain.append(link)
        link = link.__cause__ or link.__context__
    frames = [
        f"{at.filename}:{at.lineno} {at.name}" for error in chain for at in traceback.extract_tb(error.__traceback__)
    ]
    event["error"] = [f"{type(error).__module__}.{type(error).__qualname__}" for error in chain]
    event["trace"] = frames[-KEPT_OF_A_TRACE:]
    return event

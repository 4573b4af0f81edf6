"""Logging: JSON lines for machines, coloured text for a terminal. One record is one line, whatever is in it."""

import logging
import sys
from typing import Any

import msgspec
import structlog

from threadkit.settings import Settings
from threadkit.terminal import printable, printable_json, printable_lines

_SECRETS = ("password", "secret", "token", "authorization", "code", "cookie", "api_key")


def configure(settings: Settings) -> None:
    as_text = writes_text(settings)
    level = logging.getLevelNamesMapping()[settings.log_level.upper()]
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        _without_secrets,
        structlog.processors.format_exc_info,
    ]
    renderer: list[Any] = (
        [_without_controls, structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())]
        if as_text
        else [structlog.processors.JSONRenderer(serializer=_json)]
    )
    structlog.configure(
        processors=shared + renderer,
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(_Stderr()),  # type: ignore[arg-type]
        cache_logger_on_first_use=False,
    )
    # Libraries speak through the standard module; they are heard when something is wrong.
    logging.basicConfig(level=logging.WARNING, handlers=[_Bridge()], force=True)


def writes_text(settings: Settings) -> bool:
    return settings.log_format == "text" or (settings.log_format == "auto" and sys.stderr.isatty())


class _Stderr:
    """Wherever stderr leads at the moment: whoever redirects it redirects the log."""

    def write(self, text: str) -> int:
        return sys.stderr.write(text)

    def flush(self) -> None:
        sys.stderr.flush()


class _Bridge(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        structlog.get_logger(record.name).log(record.levelno, "library", text=record.getMessage(), source=record.name)


def _without_secrets(_logger: Any, _method: str, event: Any) -> Any:
    for name in event:
        if any(word in name.lower() for word in _SECRETS):
            event[name] = "…"
    return event


def _without_controls(_logger: Any, _method: str, event: Any) -> Any:
    for name, value in event.items():
        if name == "exception":
            event[name] = printable_lines(str(value))
        else:
            event[name] = printable(value) if isinstance(value, str) else value
    return event


def _json(event: Any, **_options: Any) -> str:
    return printable_json(msgspec.json.encode(event, enc_hook=str).decode())

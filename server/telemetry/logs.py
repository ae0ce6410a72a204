"""Structured logs, in JSON or for the console, with request ids and without secrets."""

import logging
import re
import secrets
import sys
from collections.abc import MutableMapping
from functools import lru_cache
from typing import Any, BinaryIO, Protocol, cast

import orjson
import structlog
from structlog.contextvars import merge_contextvars
from structlog.typing import EventDict, WrappedLogger
from typing_extensions import override

from server.telemetry.error_reports import report_fault

REDACTED = "[redacted]"

LONGEST_STRING = 16_384
"""Longer values are truncated: logs are not for bodies, and the search for secrets takes time."""

SHORTEST_KNOWN_SECRET = 6
"""Replacing shorter ones everywhere would make lines unreadable without protecting anything."""

QUIET_LIBRARIES = ("asyncio", "mail", "httpx", "httpcore", "hpack")
"""Loggers that log each step at level info, including secret URLs and device tokens."""
MUTE_LIBRARIES = ("pika",)
"""Loggers that log each connection attempt as an error, which the caller reports itself."""

_WORDS = r"(?:api[_-]?key|passw(?:or)?d|authorization|secret|token|cookie|credentials?)"

_SECRET_KEY = re.compile(rf"{_WORDS}$|^(?:database|amqp)_url$", re.IGNORECASE)

_SUSPICIOUS = re.compile(rf"{_WORDS}|://|basic|bearer|[A-Za-z0-9]{{32}}", re.IGNORECASE)
"""Every secret that the patterns below match contains, or follows, one of these."""

_SECRETS_IN_TEXT: tuple[tuple[re.Pattern[str], str], ...] = (
    # scheme://name:password@host
    (re.compile(r"(://[^\s:/@]{0,100}:)[^\s@]{1,500}@"), rf"\1{REDACTED}@"),
    # Authorization headers
    (re.compile(r"\b(Basic|Bearer)\s+[\w+/=.~-]{4,}", re.IGNORECASE), rf"\1 {REDACTED}"),
    # password=x, api_key: x, "secret": "x", and the same escaped within a string
    (
        re.compile(
            rf"""({_WORDS}\\*["']?\s*[=:]\s*)"""
            r"""(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'"""  # quoted
            r"""|\\+["'][^"']*["']"""  # quoted within a quoted text
            r"""|\\*["'].*"""  # quoted, and cut before its end
            r"""|\[[^\]]*\]|[^\s"'&,;}\]]+)""",
            re.IGNORECASE,
        ),
        rf"\1{REDACTED}",
    ),
    # a key with a name (server/domain/api_keys.py)
    (re.compile(r"(?<!\w)ply_[A-Za-z0-9]{16,}"), REDACTED),
    # the shape of an API key: 32 letters and digits, of both cases
    (re.compile(r"(?<!\w)(?=\w*[a-z])(?=\w*[A-Z])[A-Za-z0-9]{32}(?!\w)"), REDACTED),
)


class LogSettings(Protocol):
    @property
    def log_format(self) -> str: ...
    @property
    def log_level(self) -> str: ...
    @property
    def secrets(self) -> tuple[str, ...]: ...


class Redactor:
    """Redacts secrets in a log line, by the name of their key and by their form."""

    def __init__(self, known_secrets: tuple[str, ...] = ()) -> None:
        self._known = tuple(s for s in known_secrets if len(s) >= SHORTEST_KNOWN_SECRET)

    def __call__(self, _logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
        return {key: self._value(key, value) for key, value in event.items()}

    def text(self, text: str) -> str:
        """Replace in a text everything that looks like a secret."""
        if len(text) > LONGEST_STRING:
            text = f"{text[:LONGEST_STRING]}... ({len(text)} characters)"
        for secret in self._known:
            text = text.replace(secret, REDACTED)
        if not _SUSPICIOUS.search(text):
            return text
        for pattern, replacement in _SECRETS_IN_TEXT:
            text = pattern.sub(replacement, text)
        return text

    def _value(self, key: object, value: object) -> object:
        if value is None or isinstance(value, bool | int | float):
            return value
        if isinstance(key, str) and _names_secret(key):
            return REDACTED
        if isinstance(value, dict):
            return {str(inner): self._value(inner, value[inner]) for inner in value}
        if isinstance(value, list | tuple | set | frozenset):
            return [self._value(None, item) for item in value]
        if isinstance(value, bytes):
            value = value.decode(errors="backslashreplace")
        return self.text(value if isinstance(value, str) else repr(value))


@lru_cache(maxsize=1000)
def _names_secret(key: str) -> bool:
    return _SECRET_KEY.search(key) is not None


class _StandardLibraryHandler(logging.Handler):
    """Pass records of the standard library's loggers through our processors.

    `extra={"fields": {...}}` adds fields, as keyword arguments do for structlog.
    """

    def __init__(self, processors: list[structlog.typing.Processor], out: BinaryIO) -> None:
        super().__init__()
        self._processors = processors
        self._logger = structlog.BytesLogger(out)

    @override
    def emit(self, record: logging.LogRecord) -> None:
        try:
            fields: dict[str, Any] = getattr(record, "fields", {})
            event: Any = {"event": record.getMessage(), "logger": record.name, **fields}
            if record.exc_info:
                event["exc_info"] = record.exc_info
            for processor in self._processors:
                event = processor(None, record.levelname.lower(), event)
            self._logger.msg(event)
        except Exception:  # noqa: BLE001 - a log line must not end what it tells about
            self.handleError(record)


def configure_logging(settings: LogSettings, out: BinaryIO | None = None) -> None:
    """Send all log lines of this process, including those of libraries, to `out` (stderr)."""
    stream = cast("BinaryIO", sys.stderr.buffer) if out is None else out
    processors = _processors(settings, stream)
    level = logging.getLevelNamesMapping()[settings.log_level.upper()]
    structlog.configure(
        processors=processors,
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.BytesLoggerFactory(stream),
    )
    logging.basicConfig(
        handlers=[_StandardLibraryHandler(processors, stream)], level=level, force=True
    )
    logging.captureWarnings(capture=True)
    for name in QUIET_LIBRARIES:
        logging.getLogger(name).setLevel(max(level, logging.WARNING))
    for name in MUTE_LIBRARIES:
        logging.getLogger(name).setLevel(logging.CRITICAL)


def new_request_id() -> str:
    """A request id, short enough to be read out."""
    return secrets.token_hex(8)


def _processors(settings: LogSettings, out: BinaryIO) -> list[structlog.typing.Processor]:
    console = settings.log_format == "console" or (settings.log_format == "auto" and out.isatty())
    render = _console_renderer(colors=out.isatty()) if console else _render_json
    return [
        merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        report_fault,
        structlog.processors.format_exc_info,
        Redactor(settings.secrets),
        render,
    ]


def _render_json(_logger: WrappedLogger, _method: str, event: MutableMapping[str, Any]) -> bytes:
    return orjson.dumps(event, option=orjson.OPT_NON_STR_KEYS, default=repr)


def _console_renderer(*, colors: bool) -> structlog.typing.Processor:
    renderer = structlog.dev.ConsoleRenderer(
        colors=colors, exception_formatter=structlog.dev.plain_traceback
    )

    def render(logger: WrappedLogger, method: str, event: EventDict) -> bytes:
        return renderer(logger, method, event).encode(errors="backslashreplace")

    return render

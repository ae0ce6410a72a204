"""Requests to the services that create calls, and the links that they return."""

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlencode, urlsplit

import msgspec
import structlog

from server.domain.errors import BadRequestError
from server.egress import Egress, EgressError, Limits
from server.i18n import _
from server.runtime.untrusted_json import decode_untrusted

LIMITS: Final = Limits(max_bytes=256 * 1024)
MAX_LINK_LENGTH: Final = 2000
SUCCESSFUL: Final = range(200, 300)

logger = structlog.get_logger(__name__)


class CallServiceError(BadRequestError):
    """The service does not create the call. Its reason is logged, not shown."""

    def __init__(self, provider: str) -> None:
        message = _("{provider} does not create the call. Try again later.", provider=provider)
        super().__init__(message)


class ServiceAnswer(msgspec.Struct, frozen=True):
    """An answer of a service, whatever its status."""

    status: int
    content: Mapping[str, Any]
    """Empty if the answer is not a JSON object."""

    @property
    def is_successful(self) -> bool:
        return self.status in SUCCESSFUL


async def post(
    egress: Egress,
    provider: str,
    url: str,
    *,
    headers: Mapping[str, str],
    payload: Mapping[str, Any] | None = None,
    form: Mapping[str, str] | None = None,
) -> ServiceAnswer:
    """Send the payload as JSON, or the form, and return the answer.

    Raises CallServiceError if there is none.
    """
    if form is None:
        kind, body = "application/json", msgspec.json.encode(payload or {})
    else:
        kind, body = "application/x-www-form-urlencoded", urlencode(form).encode()
    sent = {"Accept": "application/json", "Content-Type": kind, "User-Agent": "Parley", **headers}
    try:
        answer = await egress.fetch("POST", url, headers=sent, body=body, limits=LIMITS)
    except EgressError as error:
        raise failed(provider, str(error)) from error
    try:
        content = decode_untrusted(answer.body, dict[str, Any])
    except msgspec.DecodeError:
        content = {}
    return ServiceAnswer(answer.status, content)


def failed(provider: str, reason: str) -> CallServiceError:
    """Log why the service does not create the call, and return the error to raise."""
    logger.warning("calls.create_failed", provider=provider, reason=reason)
    return CallServiceError(provider)


def link_in(provider: str, answer: ServiceAnswer, field: str) -> str:
    """Return the link to the call. Raises CallServiceError if the answer has none."""
    if not answer.is_successful:
        raise failed(provider, f"It answered {answer.status}.")
    link = answer.content.get(field)
    if not isinstance(link, str) or not _is_link(link):
        raise failed(provider, f"Its answer has no `{field}` that is a link.")
    return link


def _is_link(text: str) -> bool:
    try:
        parts = urlsplit(text)
        host = parts.hostname
    except ValueError:
        return False
    is_clean = text.isprintable() and not any(c.isspace() for c in text)
    return (
        len(text) <= MAX_LINK_LENGTH
        and parts.scheme in {"http", "https"}
        and bool(host)
        and is_clean
    )

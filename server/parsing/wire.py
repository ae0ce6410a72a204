"""Messages between the server and its parsing processes, encoded as msgpack."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

import msgspec

from server.domain.webhook_payloads import Said
from server.integrations.base import Outcome
from server.mail.incoming import Content
from server.previews.page import PageMetadata


class MailOrder(msgspec.Struct, frozen=True, tag="mail"):
    """An email with its recipients: the options of each, and whether it is a reply."""

    raw: bytes
    wanted: Sequence[tuple[Sequence[str], bool]]


class MailAnswer(msgspec.Struct, frozen=True):
    """Relevant headers, and for each recipient the text or the error."""

    headers: Mapping[str, str] = {}
    contents: Sequence[Content | str] = ()
    refusal: str = ""
    """Error for all recipients."""


class PageOrder(msgspec.Struct, frozen=True, tag="page"):
    body: bytes
    url: str
    content_type: str


class OembedOrder(msgspec.Struct, frozen=True, tag="oembed"):
    page: PageMetadata
    body: bytes
    url: str


class WebhookOrder(msgspec.Struct, frozen=True, tag="webhook"):
    kind: Literal["slack", "json"]
    body: bytes
    topic_template: str | None = None
    text_template: str | None = None


class IntegrationOrder(msgspec.Struct, frozen=True, tag="integration"):
    """A delivery to an integration, as `read_delivery` takes it."""

    name: str
    body: bytes
    headers: Mapping[str, str]
    options: Mapping[str, str]


Order: TypeAlias = MailOrder | PageOrder | OembedOrder | WebhookOrder | IntegrationOrder

ANSWERS: Final[Mapping[type[Any], Any]] = {
    IntegrationOrder: Outcome,
    MailOrder: MailAnswer,
    PageOrder: PageMetadata,
    OembedOrder: PageMetadata,
    WebhookOrder: Said,
}
"""Response type of each kind of request."""

CPU_SECONDS: Final[Mapping[type[Any], float]] = {
    IntegrationOrder: 2.0,
    MailOrder: 5.0,
    PageOrder: 2.0,
    OembedOrder: 2.0,
    WebhookOrder: 2.0,
}
"""Limit of processor time for one request; ordinary ones take a hundredth of it."""

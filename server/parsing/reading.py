"""Read payloads of webhooks: small ones in the server, large ones in the parsing process."""

from typing import Final

from server.domain.webhook_payloads import Said, read_slack
from server.integrations.any_json import read_json
from server.parsing.wire import WebhookOrder

SMALL_BYTES: Final = 16 * 1024
"""Parsing the worst payload of this size takes a few milliseconds."""


def read_webhook(order: WebhookOrder) -> Said:
    """Return the message of a payload, or why there is none."""
    if order.kind == "slack":
        return read_slack(order.body)
    return read_json(order.body, order.topic_template, order.text_template)

"""Incoming webhooks that the server understands, each with its own path."""

from dataclasses import dataclass
from typing import Any, Final


@dataclass(frozen=True, slots=True)
class IncomingWebhook:
    """A kind of program that posts with a bot's key."""

    name: str
    """The last part of its path; clients build such URLs from it."""
    display_name: str

    @property
    def path(self) -> str:
        return f"/external/{self.name}"

    def wire(self) -> dict[str, Any]:
        """Return its description in register: it filters no events, and needs no options."""
        return {
            "name": self.name,
            "display_name": self.display_name,
            "all_event_types": None,
            "config_options": [],
            "url_options": [],
        }


SLACK_WEBHOOK: Final = IncomingWebhook("slack_incoming", "Slack-compatible webhook")
JSON_WEBHOOK: Final = IncomingWebhook("json", "JSON, shown as it comes")

INCOMING_WEBHOOKS: Final = (SLACK_WEBHOOK, JSON_WEBHOOK)

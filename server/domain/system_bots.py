"""The bots that every organization has from the start, with the same addresses everywhere."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class SystemBot:
    email: str
    full_name: str


NOTIFICATION_BOT: Final = SystemBot("notification-bot@zulip.com", "Notification Bot")
"""Tells people what concerns them: reminders, channels they were added to."""
WELCOME_BOT: Final = SystemBot("welcome-bot@zulip.com", "Welcome Bot")
"""Greets newcomers."""
EMAIL_GATEWAY: Final = SystemBot("emailgateway@zulip.com", "Email Gateway")
"""Posts what arrives by mail."""

SYSTEM_BOTS: Final = (NOTIFICATION_BOT, WELCOME_BOT, EMAIL_GATEWAY)

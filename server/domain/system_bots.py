"""System bots that every realm has, with the same addresses everywhere."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class SystemBot:
    email: str
    full_name: str


NOTIFICATION_BOT: Final = SystemBot("notification-bot@zulip.com", "Notification Bot")
"""Sends notices: reminders, new subscriptions."""
WELCOME_BOT: Final = SystemBot("welcome-bot@zulip.com", "Welcome Bot")
"""Welcomes new users."""
EMAIL_GATEWAY: Final = SystemBot("emailgateway@zulip.com", "Email Gateway")
"""Posts incoming mail."""

SYSTEM_BOTS: Final = (NOTIFICATION_BOT, WELCOME_BOT, EMAIL_GATEWAY)

"""Notification settings as a form on the account page."""

import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Final, NamedTuple

from server.domain.errors import BadRequestError
from server.domain.user_settings import MAX_BATCHING_SECONDS, UserSettings
from server.i18n import _, localized_span

PERIOD: Final = "email_notifications_batching_period_seconds"
PERIODS: Final = (60, 120, 300, 900, 3600, 6 * 3600, 24 * 3600)
CHOICES: Final = {
    _("Emails"): {
        "enable_offline_email_notifications": _("Direct messages, mentions and alert words"),
        "enable_followed_topic_email_notifications": _("Topics that I follow"),
        "enable_stream_email_notifications": _("All messages in my channels"),
        "message_content_in_email_notifications": _("Emails show what messages say"),
        "enable_digest_emails": _("A weekly digest while I am away"),
        "enable_login_emails": _("Sign-ins with a browser or an app that is new to the account"),
        "enable_marketing_emails": _("Words of welcome and what is new"),
    },
    _("Phones"): {
        "enable_offline_push_notifications": _("Direct messages, mentions and alert words"),
        "enable_online_push_notifications": _("Also while I am active elsewhere"),
        "enable_followed_topic_push_notifications": _("Topics that I follow"),
        "enable_stream_push_notifications": _("All messages in my channels"),
    },
    _("Both"): {
        "wildcard_mentions_notify": _("Mentions of everyone in a channel or topic"),
        "enable_followed_topic_wildcard_mentions_notify": _(
            "Mentions of everyone in topics that I follow"
        ),
    },
}
"""By group: the boolean settings, with their labels."""
_SECONDS: Final = re.compile(r"[0-9]{1,9}")
SWITCHES: Final = tuple(name for group in CHOICES.values() for name in group)


class Switch(NamedTuple):
    """A checkbox of the form."""

    name: str
    label: str
    is_on: bool


def groups_of(settings: UserSettings) -> dict[str, list[Switch]]:
    """Return the checkboxes for the current settings."""
    return {
        title: [Switch(name, label, getattr(settings, name)) for name, label in group.items()]
        for title, group in CHOICES.items()
    }


def periods_of(settings: UserSettings, language: str) -> list[tuple[int, str, bool]]:
    """Options of the delay of emails: seconds, label, whether it is selected."""
    present = settings.email_notifications_batching_period_seconds
    return [
        (seconds, localized_span(timedelta(seconds=seconds), language), seconds == present)
        for seconds in sorted({*PERIODS, present})
    ]


def chosen_in(form: Mapping[str, str]) -> dict[str, bool | int]:
    """Return the settings in a submitted form. Raises BadRequestError.

    Browsers omit unchecked boxes: a missing setting is off.
    """
    period = form.get(PERIOD, "")
    seconds = int(period) if _SECONDS.fullmatch(period) else 0
    if not 0 < seconds <= MAX_BATCHING_SECONDS:
        raise BadRequestError(_("Choose how long to wait before an email."))
    return {name: name in form for name in SWITCHES} | {PERIOD: seconds}

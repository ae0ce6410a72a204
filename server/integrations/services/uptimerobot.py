"""UptimeRobot: monitors that go down and come up again."""

from typing import Final

from server.integrations.alerts import FIRING, RESOLVED, WARNING, facts, moment, stage_of, state
from server.integrations.base import Category, Delivery, Integration, Message, Outcome, Unknown
from server.integrations.markdown import bold, link, one_line, paragraphs, text

_EVENTS: Final = {
    "1": (FIRING, "down"),
    "2": (RESOLVED, "up"),
    "3": (WARNING, "expiring"),
}


def read(delivery: Delivery) -> Outcome:
    """Turn an alert into a message."""
    payload = delivery.payload
    name, kind = payload["monitor_friendly_name"].required_text(), payload["alert_type"].text()
    if kind not in _EVENTS:
        return Unknown(payload["alert_type_friendly_name"].text(kind or "alert"))
    emoji, event = _EVENTS[kind]
    address, details = payload["monitor_url"].text(), text(payload["alert_details"].text())
    shown = link(name, address) if address else bold(name)
    lasted = text(payload["alert_friendly_duration"].text())
    if "*" in lasted:  # a variable that was not filled in
        lasted = ""
    content = paragraphs(
        state(emoji, payload["alert_type_friendly_name"].text(event.capitalize()), shown),
        facts(
            ("Details", details),
            ("Address", "" if address.startswith("http") else text(address)),
            ("It was down for" if event == "up" else "Duration", lasted),
            ("Time", moment(payload["alert_datetime"])),
            ("Expires", moment(payload["ssl_expiry_date"])),
        ),
    )
    return Message(one_line(name), content, event, about=name, stage=stage_of(emoji))


_FIELDS: Final = (
    "monitor_url",
    "monitor_friendly_name",
    "alert_type",
    "alert_type_friendly_name",
    "alert_details",
    "alert_friendly_duration",
)
_VARIABLES: Final = (
    "*monitorURL*",
    "*monitorFriendlyName*",
    "*alertType*",
    "*alertTypeFriendlyName*",
    "*alertDetails*",
    "*alertFriendlyDuration*",
)
_BODY: Final = ", ".join(
    f'"{field}": "{variable}"' for field, variable in zip(_FIELDS, _VARIABLES, strict=True)
)

INTEGRATIONS: Final = (
    Integration(
        name="uptimerobot",
        display_name="UptimeRobot",
        category=Category.MONITORING,
        read=read,
        setup=(
            "Under *Integrations & API* (*My Settings*, *Alert Contacts*), add a *Webhook* with"
            " the URL `{url}&`.\n"
            f"As POST value, paste `{{{_BODY}}}`, and choose to send it as JSON.\n"
            "Save, and choose the contact in the monitors."
        ),
        events=tuple(event for _, event in _EVENTS.values()),
    ),
)

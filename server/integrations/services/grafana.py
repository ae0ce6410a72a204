"""Grafana: alerts, of today's alerting and of the earlier one in dashboards."""

from typing import Final

from server.integrations.alerts import FIRING, NEUTRAL, RESOLVED, WARNING, labels, stage_of, state
from server.integrations.base import Category, Delivery, Integration, Message, Outcome, Unknown
from server.integrations.markdown import bullets, code, link, one_line, paragraphs, quote, text
from server.integrations.payload import Payload
from server.integrations.services._alert_groups import EVENTS, alert_group
from server.integrations.signatures import Signature

MAX_VALUES: Final = 10
_STATES: Final = {
    "alerting": (FIRING, "Alerting"),
    "ok": (RESOLVED, "OK"),
    "no_data": (WARNING, "No data"),
    "pending": (NEUTRAL, "Pending"),
    "paused": (NEUTRAL, "Paused"),
    "unknown": (NEUTRAL, "Unknown"),
}


def read(delivery: Delivery) -> Outcome:
    """Turn an alert, or several in a group, into a message."""
    payload = delivery.payload
    return alert_group(payload) if "alerts" in payload else _dashboard_alert(payload)


def _dashboard_alert(payload: Payload) -> Outcome:
    rule, event = payload["ruleName"].required_text(), payload["state"].required_text()
    if event not in _STATES:
        return Unknown(event)
    emoji, word = _STATES[event]
    values = [_measured(each) for each in payload["evalMatches"]]
    picture = payload["imageUrl"].text()
    content = paragraphs(
        state(emoji, word, link(rule, payload["ruleUrl"].text())),
        quote(payload["message"].text()),
        bullets([*values[:MAX_VALUES], link("Picture", picture) if picture else ""]),
    )
    about = payload["ruleId"].text() or rule
    return Message(one_line(rule), content, event, about=about, stage=stage_of(emoji))


def _measured(match: Payload) -> str:
    value = match["value"]
    shown = code(f"{value.number():.6g}" if value.exists else "no value")
    return f"{text(match['metric'].text('value'))}: {shown} {labels(match['tags'])}".rstrip()


SIGNATURE: Final = "X-Grafana-Alerting-Signature"

INTEGRATIONS: Final = (
    Integration(
        name="grafana",
        display_name="Grafana",
        category=Category.MONITORING,
        read=read,
        setup=(
            "Under *Alerting*, *Contact points*, add a contact point with the integration"
            " *Webhook*.\n"
            "Paste `{url}` as *URL*, leave the method `POST`, and press *Test*.\n"
            "Under *Notification policies*, send alerts to the contact point."
        ),
        events=(*EVENTS, *_STATES),
        signatures=(
            Signature(
                header=SIGNATURE, preamble="{timestamp}:", timestamp="X-Grafana-Alerting-Timestamp"
            ),
            Signature(header=SIGNATURE),
        ),
        signing_step=(
            "Under *HMAC Signature* of the contact point, set the secret as *Secret*, and"
            " `X-Grafana-Alerting-Timestamp` as *Timestamp Header*."
        ),
    ),
)

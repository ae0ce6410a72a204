"""Groups of alerts in the form of Prometheus, which Grafana sends, too."""

from typing import Final

from server.integrations.alerts import FIRING, RESOLVED, facts, labels, mark, moment, state
from server.integrations.base import Message, Outcome, Stage, Unknown
from server.integrations.markdown import (
    bullets,
    code,
    counted,
    link,
    listed,
    one_line,
    paragraphs,
    quote,
    text,
)
from server.integrations.payload import Payload

EVENTS: Final = ("firing", "resolved")

MAX_ALERTS: Final = 10
"""Alerts that are listed; the others are counted."""
_SHOWN_ELSEWHERE: Final = ("alertname", "severity")
_LINKS: Final = (
    ("silenceURL", "silence"),
    ("dashboardURL", "dashboard"),
    ("panelURL", "panel"),
)


def alert_group(payload: Payload, *, topic_from: str = "", description_from: str = "") -> Outcome:
    """Read alerts that are sent together.

    `topic_from` and `description_from` name the annotation or label that has the topic and the
    description of an alert.
    """
    status, alerts = payload["status"].required_text(), list(payload["alerts"].required())
    if status not in EVENTS:
        return Unknown(status)
    topic = _topic(payload, alerts, topic_from)
    if len(alerts) == 1:
        content = _alone(alerts[0], status, description_from)
    else:
        content = _together(payload, alerts, description_from)
    about = payload["groupKey"].text() or payload["alerts"][0]["fingerprint"].text()
    stage = Stage.RESOLVED if status == "resolved" else Stage.FIRING
    return Message(topic, content, status, about=about, stage=stage)


def _named(alert: Payload, name: str) -> str:
    return alert["annotations"][name].text() or alert["labels"][name].text()


def _topic(payload: Payload, alerts: list[Payload], topic_from: str) -> str:
    """Return what the alerts have in common."""
    for name in (topic_from, "alertname"):
        names = {_named(alert, name) for alert in alerts} if name else set()
        if len(names) == 1 and names != {""}:
            return one_line(names.pop())
    grouped_by = [value.text() for _, value in payload["groupLabels"].fields() if value.text()]
    return one_line(", ".join(grouped_by) or payload["receiver"].text("Alerts"))


def _mark(alert: Payload, status: str) -> str:
    severity = alert["labels"]["severity"].text()
    return RESOLVED if status == "resolved" else mark(severity) or FIRING


def _title(alert: Payload, *fields: Payload) -> str:
    """Return the first of the fields that has a value, linked to where the alert is made."""
    shown = next((each.text() for each in fields if each.text()), "alert")
    return link(shown, alert["generatorURL"].text())


def _alone(alert: Payload, group_status: str, description_from: str) -> str:
    status = alert["status"].text(group_status)
    is_resolved = status == "resolved"
    title = state(
        _mark(alert, status),
        "Resolved" if is_resolved else "Firing",
        _title(alert, alert["annotations"]["summary"], alert["labels"]["alertname"]),
        severity=alert["labels"]["severity"].text(),
    )
    return paragraphs(
        title,
        quote(_named(alert, description_from or "description")),
        facts(
            ("Labels", labels(alert["labels"], _SHOWN_ELSEWHERE)),
            ("Value", code(alert["valueString"].text())),
            ("Since", moment(alert["startsAt"])),
            ("Until", moment(alert["endsAt"]) if is_resolved else ""),
            ("Links", _links(alert, is_resolved=is_resolved)),
        ),
    )


def _links(alert: Payload, *, is_resolved: bool) -> str:
    shown = [
        link(label, alert[key].text())
        for key, label in _LINKS
        if alert[key].text() and not (is_resolved and label == "silence")
    ]
    runbook = alert["annotations"]["runbook_url"].text()
    return ", ".join([*shown, link("runbook", runbook)] if runbook else shown)


def _together(payload: Payload, alerts: list[Payload], description_from: str) -> str:
    """Return a line for each alert, those that fire first."""
    firing = [each for each in alerts if each["status"].text() != "resolved"]
    resolved = [each for each in alerts if each["status"].text() == "resolved"]
    count = listed(
        f"{len(some)} {word}" for some, word in ((firing, "firing"), (resolved, "resolved")) if some
    )
    lines = [_line(each, description_from) for each in [*firing, *resolved][:MAX_ALERTS]]
    rest = len(alerts) - len(lines) + payload["truncatedAlerts"].integer()
    more = f"and {counted(rest, 'more alert')}" if rest > 0 else ""
    return paragraphs(f"Alerts: {count or 'none'}.", bullets([*lines, more]))


def _line(alert: Payload, description_from: str) -> str:
    status, annotations = alert["status"].text(), alert["annotations"]
    first = state(
        _mark(alert, status),
        "Resolved" if status == "resolved" else "Firing",
        _title(alert, alert["labels"]["alertname"], annotations["summary"]),
        severity=alert["labels"]["severity"].text(),
    )
    named = _named(alert, description_from) if description_from else ""
    description = text(named or annotations.first("summary", "description").text())
    shown = labels(alert["labels"], _SHOWN_ELSEWHERE)
    return " ".join(
        part for part in (first, f"— {description}" if description else "", shown) if part
    )

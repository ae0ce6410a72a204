"""Librato: alerts, and snapshots of charts."""

from typing import Final

from server.integrations.alerts import FIRING, RESOLVED, moment, state
from server.integrations.base import Category, Delivery, Integration, Message, Outcome, Stage
from server.integrations.markdown import (
    bold,
    bullets,
    code,
    link,
    one_line,
    paragraphs,
    quote,
    text,
)
from server.integrations.payload import Payload

ALERT_PAGE: Final = "https://metrics.librato.com/alerts#/"
MAX_VIOLATIONS: Final = 10


def read(delivery: Delivery) -> Outcome:
    """Turn an alert or snapshots into a message."""
    payload = delivery.payload
    if "attachments" in payload:
        return _snapshots(payload["attachments"])
    alert = payload["alert"].required()
    name, time = alert["name"].required_text(), moment(payload["trigger_time"])
    identity = alert["id"].text()
    shown = link(name, f"{ALERT_PAGE}{identity}" if identity else "")
    if payload["clear"]:
        cause = {"manual": " by hand", "auto": " by itself"}.get(payload["clear"].text(), "")
        content = f"{state(RESOLVED, 'Cleared', shown)}{cause}{f' at {time}' if time else ''}."
        return Message(
            one_line(name), content, "clear", about=identity or name, stage=Stage.RESOLVED
        )
    runbook = alert["runbook_url"].text()
    is_test = payload["triggered_by_user_test"].flag()
    content = paragraphs(
        state(FIRING, "Alert", f"{shown}{f' at {time}' if time else ''}")
        + (" (a test)" if is_test else ""),
        quote(alert["description"].text()),
        bullets(_violations(payload)),
        link("Runbook", runbook) if runbook else "",
    )
    about = "" if is_test else identity or name
    return Message(one_line(name), content, "alert", about=about, stage=Stage.FIRING)


def _violations(payload: Payload) -> list[str]:
    conditions = {each["id"].text(): each for each in payload["conditions"]}
    lines = [
        _violation(each, source, conditions.get(each["condition_violated"].text()))
        for source, found in payload["violations"].fields()
        for each in found
    ]
    more = len(lines) - MAX_VIOLATIONS
    return lines[:MAX_VIOLATIONS] + ([f"and {more} more"] if more > 0 else [])


def _violation(violation: Payload, source: str, condition: Payload | None) -> str:
    metric, value = code(violation["metric"].text()), code(violation["value"].text())
    of = f" of {text(source)}" if source and source != "unassigned" else ""
    limit = ""
    if condition is not None:
        threshold, duration = condition["threshold"].text(), condition["duration"].text()
        function = condition["summary_function"].text().replace("_", " ")
        limit = " ".join(
            part
            for part in (
                f"{text(function)}" if function else "",
                text(condition["type"].text()),
                code(threshold),
                f"for {text(duration)} seconds" if duration else "",
            )
            if part
        )
    return f"{metric}{of} is {value}{f' ({limit})' if limit else ''}"


def _snapshots(attachments: Payload) -> Outcome:
    lines = []
    for each in attachments:
        who, title = each["author_name"].text(), each["title"].text("a chart")
        label = "a chart" if title.startswith("http") else title
        chart = link(label, each["title_link"].text())
        picture = each["image_url"].text()
        of = f"{bold(who)} sent a snapshot of {chart}" if who else f"Snapshot of {chart}"
        lines.append(f"{of} ({link('picture', picture)})." if picture else f"{of}.")
    attachments[0].required()
    return Message("Snapshots", "\n\n".join(lines[:MAX_VIOLATIONS]), "snapshot")


INTEGRATIONS: Final = (
    Integration(
        name="librato",
        display_name="Librato",
        category=Category.MONITORING,
        read=read,
        setup=(
            "Under *Integrations*, choose *Webhook* for alerts, and paste `{url}`.\n"
            "Choose the integration as a notification service in alerts.\n"
            "For snapshots of charts, add it as *Slack*, too."
        ),
        events=("alert", "clear", "snapshot"),
    ),
)

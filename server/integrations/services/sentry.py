"""Sentry: issues, alerts and comments of its integration platform, and its earlier plugin."""

import re
from collections.abc import Callable, Mapping
from textwrap import dedent
from typing import Final

from server.integrations.alerts import RESOLVED, facts, mark, moment, state
from server.integrations.base import (
    Category,
    Delivery,
    Ignored,
    Integration,
    Message,
    Outcome,
    Unknown,
)
from server.integrations.markdown import (
    bold,
    code,
    code_block,
    link,
    listed,
    one_line,
    paragraphs,
    quote,
)
from server.integrations.payload import Payload
from server.integrations.repositories import acted
from server.integrations.signatures import Signature

LINES_AROUND: Final = 2
"""Lines of source before and after the one where an error occurred."""
_PROJECT: Final = re.compile(r"/projects/[^/]+/([^/?]+)")
_LANGUAGES: Final = {"node": "javascript", "cocoa": "swift", "native": "c"}
_ISSUE_ACTIONS: Final = {
    "resolved": "resolved",
    "unresolved": "reopened",
    "assigned": "assigned",
    "ignored": "archived",
    "archived": "archived",
}
_COMMENT_ACTIONS: Final = {"created": "commented", "updated": "edited a comment"}


def read(delivery: Delivery) -> Outcome:
    """Turn a delivery into a message; what it is about is seen from what it has."""
    payload = delivery.payload
    data = payload["data"]
    for key, reader in _READERS.items():
        if key in data:
            return reader(payload, data, payload["action"].text())
    if "event" in payload:  # of the plugin
        rules = listed(each.text() for each in payload["triggering_rules"])
        return _event(payload, payload["event"], "event_alert", rules)
    return Unknown(payload["action"].required_text())


def _actor(payload: Payload) -> str:
    return payload["actor"]["name"].text("Someone")


# -- errors and other events


def _alerted(payload: Payload, data: Payload, _: str) -> Outcome:
    return _event(payload, data["event"], "event_alert", data["triggered_rule"].text())


def _error(payload: Payload, data: Payload, _: str) -> Outcome:
    return _event(payload, data["error"], "error", "")


def _event(payload: Payload, event: Payload, kind: str, rule: str) -> Outcome:
    title = (
        event["title"].text()
        or event["metadata"]["title"].text()
        or event["message"].text()
        or payload["message"].required_text()
    )
    level = event.first("level").text() or payload["level"].text("error")
    url = event["web_url"].text() or payload["url"].text()
    found = _PROJECT.search(event["url"].text())
    project = payload.first("project_name", "project_slug").text() or (found[1] if found else "")
    content = paragraphs(
        state(mark(level), level.capitalize(), link(title, url)),
        _source(event),
        facts(
            ("Project", code(project)),
            ("Environment", code(event["environment"].text())),
            ("Release", code(event["release"].text())),
            ("In", code(event["culprit"].text() or payload["culprit"].text())),
            ("Time", moment(event["datetime"]) or moment(event["timestamp"])),
            ("Rule", bold(rule)),
        ),
    )
    return Message(_topic(project, title), content, kind)


def _topic(project: str, title: str) -> str:
    """Return the topic of an issue: different projects have errors of the same name."""
    return one_line(f"{project} / {title}" if project else title)


def _source(event: Payload) -> str:
    """Return the source around the place where the error occurred, if the event has it."""
    trace = event["exception"]["values"][-1]["stacktrace"]
    frames = list((trace or event["stacktrace"])["frames"])
    own = [each for each in frames if each["in_app"].flag() and each["context_line"]]
    frame = (own or frames or [event["none"]])[-1]
    line = frame["context_line"].raw()
    if not isinstance(line, str) or not line.strip():
        return ""
    before = [each.raw() for each in frame["pre_context"]][-LINES_AROUND:]
    after = [each.raw() for each in frame["post_context"]][:LINES_AROUND]
    lines = [each for each in [*before, line, *after] if isinstance(each, str)]
    name, number = frame["filename"].text(), frame["lineno"].text()
    place = f"{code(f'{name}:{number}' if number else name)}:" if name else ""
    platform = event["platform"].text()
    language = _LANGUAGES.get(platform, platform if platform.isalpha() else "")
    return paragraphs(place, code_block(dedent("\n".join(lines)), language))


# -- issues, alerts on metrics, comments


def _issue(payload: Payload, data: Payload, action: str) -> Outcome:
    issue = data["issue"].required()
    title = issue["title"].required_text()
    kind = f"issue.{action}"
    url = issue.first("web_url", "permalink").text()
    shown = link(title, url) if url else bold(title)
    topic = _topic(issue["project"].first("slug", "name").text(), title)
    if action == "created":
        level = issue["level"].text("error")
        content = paragraphs(
            state(mark(level), f"New {level}", shown),
            facts(
                ("Project", code(issue["project"].first("name", "slug").text())),
                ("Issue", code(issue["shortId"].text())),
                ("In", code(issue["culprit"].text())),
                ("Time", moment(issue["firstSeen"])),
            ),
        )
        return Message(topic, content, kind)
    if action not in _ISSUE_ACTIONS:
        return Unknown(kind)
    extra = ""
    if action == "assigned":
        assignee = data["assignee"]
        team = "the team " if assignee["type"].text() == "team" else ""
        to = assignee["name"].text() or issue["assignedTo"]["name"].text()
        extra = f"to {team}{bold(to)}" if to else ""
    content = acted(_actor(payload), f"{_ISSUE_ACTIONS[action]} the issue", shown, extra=extra)
    emoji = f"{RESOLVED} " if action == "resolved" else ""
    return Message(topic, f"{emoji}{content}", kind)


def _metric_alert(_: Payload, data: Payload, action: str) -> Outcome:
    kind = f"metric_alert.{action}"
    if action not in ("critical", "warning", "resolved"):
        return Unknown(kind)
    alert = data["metric_alert"].required()
    title = data["description_title"].text()
    name = alert["alert_rule"]["name"].text() or alert["title"].text() or title.split(": ", 1)[-1]
    content = paragraphs(
        state(
            RESOLVED if action == "resolved" else mark(action),
            action.capitalize(),
            link(name or "Alert", data["web_url"].text()),
        ),
        quote(data["description_text"].text().replace("\\n", "\n")),
        facts(
            ("Projects", listed(code(each.text()) for each in alert["projects"])),
            ("Since", moment(alert["date_started"])),
        ),
    )
    return Message(one_line(name or "Alert"), content, kind)


def _comment(payload: Payload, data: Payload, action: str) -> Outcome:
    kind = f"comment.{action}"
    if action == "deleted":
        return Ignored(kind, "A comment was deleted.")
    if action not in _COMMENT_ACTIONS:
        return Unknown(kind)
    issue = data["issue_id"].required_text()
    project = data["project_slug"].text()
    where = f"on issue {code(issue)}{f' of {code(project)}' if project else ''}"
    content = acted(_actor(payload), _COMMENT_ACTIONS[action], where, body=data["comment"].text())
    return Message(f"{project} / issue {issue}" if project else f"issue {issue}", content, kind)


def _installation(_: Payload, __: Payload, action: str) -> Outcome:
    return Ignored(f"installation.{action}", "Nothing is said of installations.")


_READERS: Final[Mapping[str, Callable[[Payload, Payload, str], Outcome]]] = {
    "event": _alerted,
    "error": _error,
    "issue": _issue,
    "metric_alert": _metric_alert,
    "comment": _comment,
    "installation": _installation,
}

INTEGRATIONS: Final = (
    Integration(
        name="sentry",
        display_name="Sentry",
        category=Category.MONITORING,
        read=read,
        setup=(
            "In the organization's settings, under *Developer settings* (*Custom integrations*),"
            " create an internal integration.\n"
            "Paste `{url}` as *Webhook URL*, switch on *Alert rule action*, and choose the events"
            " to post under *Webhooks*.\n"
            "In alert rules, add the action to send a notification via the integration."
        ),
        events=(
            "event_alert",
            "error",
            "issue.created",
            *(f"issue.{action}" for action in _ISSUE_ACTIONS),
            "metric_alert.critical",
            "metric_alert.warning",
            "metric_alert.resolved",
            *(f"comment.{action}" for action in _COMMENT_ACTIONS),
        ),
        signatures=(Signature(header="Sentry-Hook-Signature"),),
        signing_step="Copy the *Client Secret* of the internal integration.",
    ),
)

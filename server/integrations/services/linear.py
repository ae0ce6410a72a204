"""Linear: issues, comments, projects and cycles."""

import re
from collections.abc import Callable, Mapping
from typing import Final

from server.integrations.alerts import FIRING, WARNING, facts, moment
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
    bullets,
    code,
    link,
    listed,
    one_line,
    paragraphs,
    quote,
    text,
)
from server.integrations.payload import Payload
from server.integrations.repositories import acted
from server.integrations.signatures import Signature

_IDENTIFIER: Final = re.compile(r"/issue/([A-Z0-9]{1,20}-[0-9]{1,9})\b")
_VERBS: Final = {"create": "created", "update": "changed", "remove": "deleted"}
_QUIET: Final = (
    *("Reaction", "IssueLabel", "Attachment", "Document", "Initiative", "InitiativeUpdate"),
    *("IssueRelation", "User", "Customer", "CustomerNeed", "OAuthApp", "Release", "ProjectLabel"),
    *("AgentSessionEvent", "AppUserNotification", "PermissionChange", "InitiativeToProject"),
)
_SLA: Final = "IssueSLA"
_SLA_STATES: Final = {
    "highRisk": f"{WARNING} {{issue}} is about to breach its SLA.",
    "breached": f"{FIRING} {{issue}} has breached its SLA.",
}


def read(delivery: Delivery) -> Outcome:
    """Turn a delivery into a message, by its type and action."""
    payload = delivery.payload
    kind, action = payload["type"].required_text(), payload["action"].text()
    if kind in _QUIET:
        return Ignored(kind, f"Nothing is said of {kind}.")
    if kind == _SLA:
        return _issue_sla(payload, action)
    if kind not in _READERS or action not in _VERBS:
        return Unknown(f"{kind}.{action}")
    payload["data"].required()
    return _READERS[kind](payload, action)


def _who(payload: Payload) -> str:
    data = payload["data"]
    return payload["actor"]["name"].text() or data["user"]["name"].text("Someone")


def _identifier(payload: Payload, issue: Payload) -> str:
    """Return the identifier of an issue, such as `WEB-46`; empty if the payload has none."""
    team, number = issue["team"]["key"].text(), issue["number"].text()
    found = _IDENTIFIER.search(payload["url"].text())
    own = f"{team}-{number}" if team and number else ""
    return issue["identifier"].text() or own or (found[1] if found else "")


def _topic(identifier: str, issue: Payload) -> str:
    return one_line(f"{identifier} {issue['title'].text()}")


# -- issues and comments


def _issue(payload: Payload, action: str) -> Outcome:
    issue, kind = payload["data"], f"Issue.{action}"
    issue["title"].required_text()
    topic = _topic(_identifier(payload, issue), issue)
    what = f"sub-issue {link(topic, payload['url'].text())}"
    shown = what if issue["parentId"] else what.removeprefix("sub-")
    if action == "create":
        content = paragraphs(
            acted(_who(payload), "created", shown, body=issue["description"].text()),
            _details(issue),
        )
    elif action == "remove":
        content = acted(_who(payload), "deleted", shown)
    else:
        changes = [
            change(issue) for key, change in _CHANGES.items() if key in payload["updatedFrom"]
        ]
        if payload["updatedFrom"]["title"]:
            changes.insert(0, f"Title was {bold(payload['updatedFrom']['title'].text())}")
        if not changes:
            return Ignored(kind, "It names no change that would be posted.")
        content = f"{bold(_who(payload))} changed {shown}:\n\n{bullets(changes)}"
    return Message(topic, content, kind)


def _issue_sla(payload: Payload, action: str) -> Outcome:
    """Say that an issue is about to breach its service-level agreement, or has breached it."""
    issue, kind = payload.first("issueData", "data").required(), f"{_SLA}.{action}"
    if action == "set":
        return Ignored(kind, "An SLA is posted if it is at risk, or breached.")
    if action not in _SLA_STATES:
        return Unknown(kind)
    url = payload["url"].text() or issue["url"].text()
    topic = _topic(_identifier(payload, issue), issue)
    due = facts(("Due", moment(issue["slaBreachesAt"])))
    said = _SLA_STATES[action].format(issue=f"Issue {link(topic, url)}")
    return Message(topic, paragraphs(said, due), kind)


def _details(issue: Payload) -> str:
    return facts(
        ("State", text(issue["state"]["name"].text())),
        ("Priority", text(issue["priorityLabel"].text()) if issue["priority"] else ""),
        ("Assignee", bold(issue["assignee"]["name"].text())),
        ("Labels", _labels(issue)),
        ("Project", text(issue["project"]["name"].text())),
        ("Due", text(issue["dueDate"].text())),
    )


def _labels(issue: Payload) -> str:
    return listed(code(each["name"].text()) for each in issue["labels"])


_CHANGES: Final[Mapping[str, Callable[[Payload], str]]] = {
    "stateId": lambda issue: f"State: {bold(issue['state']['name'].text())}",
    "assigneeId": lambda issue: f"Assignee: {bold(issue['assignee']['name'].text('none'))}",
    "priority": lambda issue: f"Priority: {bold(issue['priorityLabel'].text('none'))}",
    "labelIds": lambda issue: f"Labels: {_labels(issue) or 'none'}",
    "dueDate": lambda issue: f"Due: {bold(issue['dueDate'].text('no date'))}",
    "estimate": lambda issue: f"Estimate: {bold(issue['estimate'].text('none'))}",
    "projectId": lambda issue: f"Project: {bold(issue['project']['name'].text('none'))}",
    "cycleId": lambda issue: f"Cycle: {bold(issue['cycle']['number'].text('none'))}",
    "description": lambda _: "Description edited",
}


def _comment(payload: Payload, action: str) -> Outcome:
    comment, kind = payload["data"], f"Comment.{action}"
    issue = comment["issue"]
    identifier = _identifier(payload, issue)
    if not identifier:
        return Ignored(kind, "It does not say of which issue.")
    topic, page = _topic(identifier, issue), payload["url"].text().partition("#")[0]
    shown = link("comment", payload["url"].text())
    verb = {"create": "left a", "update": "edited a", "remove": "deleted a"}[action]
    body = "" if action == "remove" else comment["body"].text()
    content = acted(_who(payload), f"{verb} {shown} on", f"issue {link(topic, page)}", body=body)
    return Message(topic, content, kind)


# -- projects and cycles


def _project(payload: Payload, action: str) -> Outcome:
    project, changed = payload["data"], payload["updatedFrom"]
    name, kind = project["name"].required_text(), f"Project.{action}"
    state = project["status"]["name"].text() or project["state"].text()
    has_new_state = "state" in changed or "statusId" in changed
    if action == "update" and not has_new_state:
        return Ignored(kind, "Of changes of a project, only those of its state are posted.")
    shown = f"project {link(name, payload['url'].text())}"
    extra = f"to {bold(state)}" if action == "update" and state else ""
    verb = "changed the state of" if action == "update" else _VERBS[action]
    body = project["description"].text() if action == "create" else ""
    content = acted(_who(payload), verb, shown, extra=extra, body=body)
    return Message(one_line(f"Project {name}"), content, kind)


def _project_update(payload: Payload, action: str) -> Outcome:
    update = payload["data"]
    name = update["project"]["name"].required_text()
    verbs = {"create": "posted an", "update": "edited an", "remove": "deleted an"}
    health = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", update["health"].text()).lower()
    content = acted(
        _who(payload),
        f"{verbs[action]} {link('update', payload['url'].text())} of project {bold(name)}",
        f"({text(health)})" if health else "",
        body="" if action == "remove" else update["body"].text(),
    )
    return Message(one_line(f"Project {name}"), content, f"ProjectUpdate.{action}")


def _cycle(payload: Payload, action: str) -> Outcome:
    cycle, kind = payload["data"], f"Cycle.{action}"
    if action == "update" and "completedAt" not in payload["updatedFrom"]:
        return Ignored(kind, "Of changes of a cycle, only its completion is posted.")
    name = cycle["name"].text() or f"Cycle {cycle['number'].required_text()}"
    verb = "completed" if action == "update" else _VERBS[action]
    content = paragraphs(
        f"{bold(name)} was {verb}.",
        quote(cycle["description"].text()),
        facts(("From", moment(cycle["startsAt"])), ("Until", moment(cycle["endsAt"]))),
    )
    return Message(one_line(name), content, kind)


_READERS: Final[Mapping[str, Callable[[Payload, str], Outcome]]] = {
    "Issue": _issue,
    "Comment": _comment,
    "Project": _project,
    "ProjectUpdate": _project_update,
    "Cycle": _cycle,
}

INTEGRATIONS: Final = (
    Integration(
        name="linear",
        display_name="Linear",
        category=Category.PROJECT_MANAGEMENT,
        read=read,
        setup=(
            "In the workspace's settings, open *API*, and press *New webhook*.\n"
            "Paste `{url}` as *URL*, choose issues, comments, projects and cycles as events, and a"
            " team.\n"
            "Press *Create webhook*."
        ),
        events=(
            *(f"{kind}.{action}" for kind in _READERS for action in _VERBS),
            *(f"{_SLA}.{action}" for action in _SLA_STATES),
        ),
        delivery_id="Linear-Delivery",
        has_unique_bodies=True,
        signatures=(Signature(header="Linear-Signature"),),
        signing_step="Copy the *Signing secret* of the webhook.",
    ),
)

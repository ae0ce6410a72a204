"""Jira: issues, comments, sprints and versions, of Cloud and Data Center."""

import re
from typing import Final

from server.integrations.base import (
    Category,
    Delivery,
    Ignored,
    Integration,
    Malformed,
    Message,
    Outcome,
    Unknown,
)
from server.integrations.markdown import bold, bullets, link, one_line, paragraphs, text
from server.integrations.payload import Payload
from server.integrations.repositories import acted
from server.integrations.signatures import WEBSUB

_COMMENT_VERBS: Final = {
    "issue_commented": "commented on",
    "issue_comment_edited": "edited a comment on",
    "issue_comment_deleted": "deleted a comment on",
    "comment_created": "commented on",
    "comment_updated": "edited a comment on",
    "comment_deleted": "deleted a comment on",
}
_SPRINT_VERBS: Final = {
    "sprint_created": "was created",
    "sprint_started": "started",
    "sprint_updated": "was changed",
    "sprint_closed": "was closed",
    "sprint_deleted": "was deleted",
}
_VERSION_VERBS: Final = {
    "jira:version_created": "was created",
    "jira:version_updated": "was changed",
    "jira:version_released": "was released",
    "jira:version_unreleased": "is no longer released",
    "jira:version_deleted": "was deleted",
}
_ISSUE_EVENTS: Final = ("jira:issue_created", "jira:issue_updated", "jira:issue_deleted")
_QUIET: Final = (
    *("jira:worklog_", "worklog_", "issuelink_", "attachment_", "project_", "user_", "board_"),
    *("option_", "issue_property_", "jira:version_moved", "jira:version_merged"),
)
_QUIET_FIELDS: Final = frozenset(
    ("Rank", "WorklogId", "timespent", "timeestimate", "RemoteIssueLink", "IssueParentAssociation")
)
_LONG_FIELDS: Final = ("description", "environment", "comment")
MAX_CHANGES: Final = 10

_LINK: Final = re.compile(r"\[([^\[\]|\n]{1,200})\|(https?://[^\[\]|\s]{1,1000})[^\[\]\n]{0,200}\]")
_CODE: Final = re.compile(r"\{(?:code|noformat)(?::[^{}\n]{0,100})?\}")
_PERSON: Final = re.compile(r"\[~([^\[\]\n]{1,100})\]")


def read(delivery: Delivery) -> Outcome:
    """Turn a delivery into a message, by its `webhookEvent`."""
    payload = delivery.payload
    event = payload["webhookEvent"].text()
    if event in _ISSUE_EVENTS or (not event and payload["issue"]):
        return _issue(payload, event or "jira:issue_updated")
    if event in _COMMENT_VERBS:
        if not payload["issue"]:
            return Ignored(event, "It does not say of which issue; `jira:issue_updated` does.")
        return _commented(payload, event, event)
    if not event:
        return Malformed("webhookEvent is missing.")
    return _beside_issues(payload, event)


def _beside_issues(payload: Payload, event: str) -> Outcome:
    if event in _SPRINT_VERBS:
        return _sprint(payload["sprint"].required(), event)
    if event in _VERSION_VERBS:
        return _version(payload["version"].required(), event)
    if event.startswith(_QUIET):
        return Ignored(event, "Nothing is said of worklogs, links, attachments and settings.")
    return Unknown(event)


def _person(person: Payload) -> str:
    return person.first("displayName", "name").text()


def _topic(issue: Payload) -> str:
    return one_line(f"{issue['key'].required_text()}: {issue['fields']['summary'].text()}")


def _shown(issue: Payload) -> str:
    """Return a link to the page of an issue, whose address is beside that of the API."""
    key, (site, found, _) = issue["key"].text(), issue["self"].text().partition("/rest/api/")
    label = f"{key}: {issue['fields']['summary'].text()}".removesuffix(": ")
    return link(label, f"{site}/browse/{key}" if found else "")


def _markdown(body: str) -> str:
    """Return Jira's notation as Markdown, as far as links, code and people are concerned."""
    with_links = _LINK.sub(r"[\1](\2)", body)
    with_code = _CODE.sub("\n```\n", with_links)
    return _PERSON.sub(
        lambda found: "a user" if found[1].startswith("accountid:") else found[1], with_code
    )


# -- issues and comments


def _issue(payload: Payload, event: str) -> Outcome:
    issue = payload["issue"].required()
    kind = payload["issue_event_type_name"].text()
    if kind in _COMMENT_VERBS or (event == "jira:issue_updated" and payload["comment"]["body"]):
        return _commented(payload, kind if kind in _COMMENT_VERBS else "issue_commented", event)
    who = _person(payload["user"]) or "Someone"
    if event == "jira:issue_created":
        return Message(_topic(issue), _created(issue, who), event)
    if event == "jira:issue_deleted":
        return Message(_topic(issue), acted(who, "deleted", _shown(issue)), event)
    changes = _changes(payload)
    if not changes:
        return Ignored(event, "It names no change that would be posted.")
    if len(changes) == 1:
        content = acted(who, "changed", _shown(issue), extra=f"— {changes[0]}")
    else:
        content = f"{bold(who)} changed {_shown(issue)}:\n\n{bullets(changes[:MAX_CHANGES])}"
    return Message(_topic(issue), content, event)


def _created(issue: Payload, who: str) -> str:
    fields = issue["fields"]
    kind, priority = fields["issuetype"]["name"].text(), fields["priority"]["name"].text()
    assignee = _person(fields["assignee"])
    in_brackets = ", ".join(
        part
        for part in (
            text(kind),
            f"priority {text(priority)}" if priority else "",
            f"assigned to {bold(assignee)}" if assignee else "",
        )
        if part
    )
    return acted(
        who,
        "created",
        _shown(issue),
        extra=f"({in_brackets})" if in_brackets else "",
        body=_markdown(fields["description"].text()),
    )


def _changes(payload: Payload) -> list[str]:
    transition = payload["transition"]
    if transition["to_status"]:
        return [_change("status", transition["from_status"], transition["to_status"])]
    return [
        _change(each["field"].text(), each["fromString"], each["toString"])
        for each in payload["changelog"]["items"]
        if each["field"].text() and each["field"].text() not in _QUIET_FIELDS
    ]


def _change(field: str, before: Payload, after: Payload) -> str:
    name, old, new = text(field), bold(before.text()), bold(after.text())
    if field in _LONG_FIELDS:
        return f"{name} edited"
    if not new:
        return f"{name} removed{f' (was {old})' if old else ''}"
    return f"{name} from {old} to {new}" if old else f"{name} set to {new}"


def _commented(payload: Payload, kind: str, event: str) -> Outcome:
    issue, comment, verb = payload["issue"].required(), payload["comment"], _COMMENT_VERBS[kind]
    author = _person(comment["updateAuthor"]) or _person(comment["author"])
    who = _person(payload["user"]) or author or "Someone"
    body = "" if "deleted" in kind else _markdown(comment["body"].text())
    return Message(_topic(issue), acted(who, verb, _shown(issue), body=body), event)


# -- sprints and versions


def _sprint(sprint: Payload, event: str) -> Outcome:
    name, goal = sprint["name"].required_text(), sprint["goal"].text()
    content = paragraphs(
        f"The sprint {bold(name)} {_SPRINT_VERBS[event]}.", f"Goal: {text(goal)}" if goal else ""
    )
    return Message(one_line(name), content, event)


def _version(version: Payload, event: str) -> Outcome:
    name, description = version["name"].required_text(), version["description"].text()
    content = paragraphs(f"Version {bold(name)} {_VERSION_VERBS[event]}.", text(description))
    return Message(one_line(f"Version {name}"), content, event)


INTEGRATIONS: Final = (
    Integration(
        name="jira",
        display_name="Jira",
        category=Category.PROJECT_MANAGEMENT,
        read=read,
        setup=(
            "As an administrator, open *System*, *WebHooks* in Jira's settings, and create a"
            " webhook.\n"
            "Paste `{url}` as *URL*, and choose the events of issues and comments to post.\n"
            "With a JQL query it is only for some issues, such as those of one project."
        ),
        events=(
            *_ISSUE_EVENTS,
            *(kind for kind in _COMMENT_VERBS if kind.startswith("comment_")),
            *_SPRINT_VERBS,
            *_VERSION_VERBS,
        ),
        has_unique_bodies=True,
        signatures=(WEBSUB,),
        signing_step="Set the secret as *Secret* of the webhook.",
    ),
)

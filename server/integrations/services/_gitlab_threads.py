"""Merge requests, issues, work items, and the comments on them, of GitLab."""

from collections.abc import Iterator
from typing import Final

from server.integrations.base import Delivery, Ignored, Message, Outcome, Unknown
from server.integrations.markdown import bold, code, link, listed, text
from server.integrations.payload import Payload
from server.integrations.repositories import (
    acted,
    pull_request_topic,
    repository_topic,
    thing_topic,
)

_PLAIN: Final = {
    "open": "opened",
    "close": "closed",
    "reopen": "reopened",
    "merge": "merged",
    "approved": "approved",
    "unapproved": "took back the approval of",
    "approval": "added an approval to",
    "unapproval": "removed an approval from",
}
_STATES: Final = {"opened": "open", "closed": "close", "merged": "merge", "reopened": "reopen"}


def user(payload: Payload) -> str:
    """Return the name of the acting user."""
    return payload["user"].first("name", "username").text() or payload.first(
        "user_name", "user_username", "username"
    ).text("Someone")


def project(payload: Payload) -> str:
    """Return the name of the project."""
    return (
        payload["project"]["name"].text()
        or payload["repository"]["name"].text()
        or payload["project_name"].required_text()
    )


def merge_request_topic(delivery: Delivery, request: Payload) -> str:
    """Return the topic of a merge request."""
    return pull_request_topic(
        delivery,
        project(delivery.payload),
        request["iid"].text(),
        request["title"].required_text(),
        kind="MR",
        sign="!",
        together="merge requests",
    )


def _merge_request(delivery: Delivery, request: Payload) -> tuple[str, str]:
    label = f"MR !{request['iid'].text()} {request['title'].text()}"
    return merge_request_topic(delivery, request), link(label, request["url"].text())


def _issue(payload: Payload, issue: Payload) -> tuple[str, str]:
    number, title = issue["iid"].text(), issue["title"].required_text()
    kind = issue["type"].text("issue").lower()
    topic = thing_topic(project(payload), kind, number, title)
    return topic, link(f"{kind} #{number} {title}", issue["url"].text())


def _action(attributes: Payload) -> str:
    return attributes["action"].text() or _STATES.get(attributes["state"].text(), "")


def _people(people: Payload) -> str:
    return listed(bold(each.first("name", "username").text()) for each in people)


def _assigned(payload: Payload) -> str:
    names = _people(payload["assignees"])
    return names or bold(payload["assignee"].first("name", "username").text())


def merge_request(delivery: Delivery, event: str) -> Outcome:
    """Read what happened to a merge request."""
    payload = delivery.payload
    request = payload["object_attributes"].required()
    topic, shown = _merge_request(delivery, request)
    action = _action(request)
    if action == "update":
        return _updated(payload, event, topic, shown)
    if action not in _PLAIN:
        return Unknown(f"{event}.{action}")
    extra = body = ""
    if action in ("open", "reopen"):
        branches = (code(request[each].text()) for each in ("source_branch", "target_branch"))
        extra = "from {} into {}".format(*branches)
    if action == "open":
        names = _assigned(payload)
        extra += f" (assigned to {names})" if names else ""
        body = request["description"].text()
    content = acted(user(payload), _PLAIN[action], shown, extra=extra, body=body)
    return Message(topic, content, event)


def issue(delivery: Delivery, event: str) -> Outcome:
    """Read what happened to an issue, an incident or a work item."""
    payload = delivery.payload
    attributes = payload["object_attributes"].required()
    topic, shown = _issue(payload, attributes)
    action = _action(attributes)
    if action == "update":
        return _updated(payload, event, topic, shown)
    if action not in ("open", "close", "reopen"):
        return Unknown(f"{event}.{action}")
    extra = body = ""
    if action == "open":
        names = _assigned(payload)
        extra = f"(assigned to {names})" if names else ""
        body = attributes["description"].text()
    content = acted(user(payload), _PLAIN[action], shown, extra=extra, body=body)
    return Message(topic, content, event)


# -- what was changed


def _updated(payload: Payload, event: str, topic: str, shown: str) -> Outcome:
    """Say what was changed; where the payload does not list it, that something was."""
    attributes, changes = payload["object_attributes"], payload["changes"]
    if attributes["oldrev"]:
        content = acted(user(payload), "pushed new commits to", shown)
        return Message(topic, content, event)
    if not changes.exists:
        return Message(topic, acted(user(payload), "updated", shown), event)
    said = listed(_changes(changes))
    if not said:
        return Ignored(event, "Nothing is said of what was changed.")
    body = attributes["description"].text() if "description" in changes else ""
    return Message(topic, acted(user(payload), "updated", f"{shown}: {said}", body=body), event)


def _changes(changes: Payload) -> Iterator[str]:
    if changes["title"]["previous"]:
        yield f"renamed it from {code(changes['title']['previous'].text())}"
    if "description" in changes:
        yield "changed the description"
    if "target_branch" in changes:
        yield f"changed the target branch to {code(changes['target_branch']['current'].text())}"
    for key in ("draft", "work_in_progress"):
        if key in changes:
            yield "marked it as a draft" if changes[key]["current"] else "marked it as ready"
            break
    for key, noun in (("assignees", "assignee"), ("reviewers", "reviewer")):
        yield from _added_and_removed(changes[key], noun, "name")
    yield from _added_and_removed(changes["labels"], "label", "title")
    if "due_date" in changes:
        date = text(changes["due_date"]["current"].text())
        yield f"set the due date to {date}" if date else "removed the due date"
    for key, noun in (
        ("milestone_id", "milestone"),
        ("weight", "weight"),
        ("iteration", "iteration"),
    ):
        if key in changes:
            yield f"changed the {noun}"


def _added_and_removed(change: Payload, noun: str, key: str) -> Iterator[str]:
    before, after = (
        [each[key].text() for each in change[when] if each[key].text()]
        for when in ("previous", "current")
    )
    for verb, names in (
        ("added", [name for name in after if name not in before]),
        ("removed", [name for name in before if name not in after]),
    ):
        if names:
            shown = listed(map(code if noun == "label" else bold, names))
            yield f"{verb} the {noun if len(names) == 1 else noun + 's'} {shown}"


# -- comments


def note(delivery: Delivery, event: str) -> Outcome:
    """Read a comment on a commit, a merge request, an issue, a snippet or an epic."""
    payload = delivery.payload
    comment = payload["object_attributes"].required()
    topic, where = _place_of_comment(delivery, comment)
    shown = link("comment", comment["url"].text())
    verb = "edited a" if comment["action"].text() == "update" else "left a"
    content = acted(user(payload), f"{verb} {shown}", f"on {where}", body=comment["note"].text())
    return Message(topic, content, event)


def _place_of_comment(delivery: Delivery, comment: Payload) -> tuple[str, str]:
    payload = delivery.payload
    if payload["merge_request"]:
        topic, where = _merge_request(delivery, payload["merge_request"])
        return topic, f"a line of {where}" if comment["type"].text() == "DiffNote" else where
    for key in ("issue", "work_item"):
        if payload[key]:
            return _issue(payload, payload[key])
    if payload["snippet"]:
        snippet = payload["snippet"]
        title = snippet["title"].text()
        topic = thing_topic(project(payload), "snippet", snippet["id"].text(), title)
        return topic, link(f"snippet {title}", snippet["url"].text())
    if payload["commit"]:
        commit = payload["commit"]
        where = f"commit {link(commit['id'].text()[:10], commit['url'].text())}"
        return repository_topic(project(payload)), where
    kind = comment["noteable_type"].text("something").lower()
    return repository_topic(project(payload)), text(kind)


def emoji(delivery: Delivery, event: str) -> Outcome:
    """Ignore reactions: each would be a message."""
    del delivery
    return Ignored(event, "Nothing is said of reactions.")

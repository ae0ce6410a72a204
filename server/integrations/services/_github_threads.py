"""Pull requests, issues, discussions, and their comments, of GitHub and what speaks like it."""

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

_QUIET_PULL_REQUEST: Final = {"labeled", "unlabeled", "synchronize_draft", "dequeued", "enqueued"}
_REVIEWS: Final = {
    "approved": "approved",
    "changes_requested": "requested changes to",
    "commented": "reviewed",
}


def sender(payload: Payload) -> str:
    """Return the name of the acting user."""
    return payload["sender"]["login"].text("Someone")


def repository(payload: Payload) -> str:
    """Return the name of the repository."""
    return payload["repository"]["name"].required_text()


def linked_repository(payload: Payload) -> str:
    """Return a link to the repository, with its full name."""
    return linked(payload["repository"], "full_name")


def linked(thing: Payload, label: str) -> str:
    """Return a link to the page of a thing, with one of its fields as the label."""
    return link(thing[label].text(), thing["html_url"].text())


def about_repository(payload: Payload, event: str, content: str) -> Message:
    """Return a message in the topic of the repository."""
    return Message(repository_topic(repository(payload)), content, event)


def _pull(delivery: Delivery, pull: Payload) -> tuple[str, str]:
    """Return the topic of a pull request, and a link to it."""
    name, number, title = repository(delivery.payload), *_number_and_title(pull)
    topic = pull_request_topic(delivery, name, number, title)
    return topic, link(f"PR #{number} {title}", pull["html_url"].text())


def _thing(payload: Payload, thing: Payload, kind: str) -> tuple[str, str]:
    """Return the topic of an issue or a discussion, and a link to it."""
    name, number, title = repository(payload), *_number_and_title(thing)
    topic = thing_topic(name, kind, number, title)
    return topic, link(f"{kind} #{number} {title}", thing["html_url"].text())


def _number_and_title(thing: Payload) -> tuple[str, str]:
    return thing["number"].text(), thing["title"].required_text()


# -- pull requests


def pull_request(delivery: Delivery, event: str) -> Outcome:
    """Read what happened to a pull request."""
    payload = delivery.payload
    action, pull = payload["action"].required_text(), payload["pull_request"].required()
    if action in _QUIET_PULL_REQUEST:
        return Ignored(event, f"Nothing is said of the action {action}.")
    topic, shown = _pull(delivery, pull)
    said = _said_of_pull_request(payload, pull, action)
    if said is None:
        return Unknown(f"{event}.{action}")
    verb, extra, body = said
    return Message(topic, acted(sender(payload), verb, shown, extra=extra, body=body), event)


def _said_of_pull_request(
    payload: Payload, pull: Payload, action: str
) -> tuple[str, str, str] | None:
    """Return verb, addition and body of what happened to a pull request."""
    branches = f"from {code(pull['head']['ref'].text())} into {code(pull['base']['ref'].text())}"
    if action == "closed":
        return ("merged" if pull["merged"].flag() else "closed without merging", "", "")
    if action in ("review_requested", "review_request_removed"):
        of = (
            payload["requested_reviewer"]["login"].text()
            or payload["requested_team"]["name"].text()
        )
        verb = "requested" if action == "review_requested" else "no longer requests"
        return (f"{verb} a review of {bold(of)} for" if of else f"{verb} a review for", "", "")
    if action in ("assigned", "unassigned"):
        to = bold(payload["assignee"]["login"].text())
        return (action, f"{'to' if action == 'assigned' else 'from'} {to}" if to else "", "")
    if action in _LABELLED:
        return _labelled(payload, action), "", ""
    plain = {
        "opened": ("opened", branches, pull["body"].text()),
        "reopened": ("reopened", branches, ""),
        "synchronize": ("updated", branches, ""),
        "edited": ("edited", "", pull["body"].text() if payload["changes"]["body"] else ""),
        "ready_for_review": ("marked as ready for review:", "", ""),
        "converted_to_draft": ("made a draft of", "", ""),
        "auto_merge_enabled": ("switched on automatic merging of", "", ""),
        "auto_merge_disabled": ("switched off automatic merging of", "", payload["reason"].text()),
        "locked": ("locked", "", ""),
        "unlocked": ("unlocked", "", ""),
    }
    return plain.get(action)


def pull_request_review(delivery: Delivery, event: str) -> Outcome:
    """Read a review."""
    payload = delivery.payload
    review, action = payload["review"].required(), payload["action"].text()
    topic, shown = _pull(delivery, payload["pull_request"].required())
    if action == "submitted":
        verb = _REVIEWS.get(review["state"].text().lower(), "reviewed")
        link_to_review = link("review", review["html_url"].text())
        content = acted(
            sender(payload), verb, shown, extra=f"({link_to_review})", body=review["body"].text()
        )
        return Message(topic, content, event)
    if action in ("edited", "dismissed"):
        what = f"a {link('review', review['html_url'].text())} of"
        return Message(topic, acted(sender(payload), f"{action} {what}", shown), event)
    return Unknown(f"{event}.{action}")


def pull_request_review_comment(delivery: Delivery, event: str) -> Outcome:
    """Read a comment on a line of a pull request."""
    payload = delivery.payload
    topic, shown = _pull(delivery, payload["pull_request"].required())
    return _commented(payload, event, topic, f"on a line of {shown}")


def pull_request_review_thread(delivery: Delivery, event: str) -> Outcome:
    """Read that a conversation on a line of a pull request was resolved, or not any more."""
    payload = delivery.payload
    action = payload["action"].required_text()
    if action not in ("resolved", "unresolved"):
        return Unknown(f"{event}.{action}")
    topic, shown = _pull(delivery, payload["pull_request"].required())
    comment = payload["thread"]["comments"][0]
    thread = link("conversation", comment["html_url"].text())
    return Message(topic, acted(sender(payload), f"{action} a {thread} on", shown), event)


# -- issues, discussions, comments


def issues(delivery: Delivery, event: str) -> Outcome:
    """Read what happened to an issue."""
    payload = delivery.payload
    action, issue = payload["action"].required_text(), payload["issue"].required()
    topic, shown = _thing(payload, issue, "issue")
    extra, body, verb = "", "", action
    match action:
        case "opened":
            body = issue["body"].text()
            people = listed(bold(each["login"].text()) for each in issue["assignees"])
            extra = f"(assigned to {people})" if people else ""
        case "edited":
            body = issue["body"].text() if payload["changes"]["body"] else ""
        case "closed":
            reason = issue["state_reason"].text().replace("_", " ")
            extra = f"as {text(reason)}" if reason else ""
        case "assigned" | "unassigned":
            to = "to" if action == "assigned" else "from"
            extra = f"{to} {bold(payload['assignee']['login'].text())}"
        case "labeled" | "unlabeled" | "milestoned" | "demilestoned":
            verb = _labelled(payload, action)
        case "typed" | "untyped":
            name = payload["type"]["name"].text()
            verb = "set the type of" if action == "typed" else "removed the type of"
            extra = f"to {bold(name)}" if name and action == "typed" else ""
        case "reopened" | "deleted" | "transferred" | "pinned" | "unpinned" | "locked" | "unlocked":
            pass
        case _:
            return Unknown(f"{event}.{action}")
    return Message(topic, acted(sender(payload), verb, shown, extra=extra, body=body), event)


def sub_issues(delivery: Delivery, event: str) -> Outcome:
    """Read that an issue became a part of another one, or no longer is."""
    payload = delivery.payload
    action = payload["action"].required_text()
    said = {
        "sub_issue_added": ("added", "as a sub-issue of"),
        "sub_issue_removed": ("removed", "from the sub-issues of"),
    }
    if action.startswith("parent_issue_"):
        return Ignored(event, "It is posted in the topic of the parent.")
    if action not in said:
        return Unknown(f"{event}.{action}")
    verb, preposition = said[action]
    topic, parent = _thing(payload, payload["parent_issue"].required(), "issue")
    _topic, part = _thing(payload, payload["sub_issue"].required(), "issue")
    content = acted(sender(payload), verb, part, extra=f"{preposition} {parent}")
    return Message(topic, content, event)


def issue_dependencies(delivery: Delivery, event: str) -> Outcome:
    """Read that an issue is blocked by another one, or no longer is."""
    payload = delivery.payload
    action = payload["action"].required_text()
    said = {"blocked_by_added": "as blocked by", "blocked_by_removed": "as no longer blocked by"}
    if action.startswith("blocking_"):
        return Ignored(event, "It is posted in the topic of the blocked issue.")
    if action not in said:
        return Unknown(f"{event}.{action}")
    topic, blocked = _thing(payload, payload["blocked_issue"].required(), "issue")
    _topic, blocking = _thing(payload, payload["blocking_issue"].required(), "issue")
    content = acted(sender(payload), "marked", blocked, extra=f"{said[action]} {blocking}")
    return Message(topic, content, event)


_LABELLED: Final = ("labeled", "unlabeled", "milestoned", "demilestoned")


def _labelled(payload: Payload, action: str) -> str:
    """Return that a label or a milestone was added to, or removed from."""
    is_removed = action.startswith(("un", "de"))
    if action.endswith("labeled"):
        what = f"the label {code(payload['label']['name'].text())}"
    else:
        milestone = payload["milestone"] or payload["pull_request"]["milestone"]
        name = link(milestone["title"].text(), milestone["html_url"].text())
        what = f"the milestone {name}" if name else "the milestone"
    return f"removed {what} from" if is_removed else f"added {what} to"


def issue_comment(delivery: Delivery, event: str) -> Outcome:
    """Read a comment on an issue or a pull request."""
    payload = delivery.payload
    issue = payload["issue"].required()
    is_pull = bool(issue["pull_request"])
    topic, shown = _pull(delivery, issue) if is_pull else _thing(payload, issue, "issue")
    return _commented(payload, event, topic, f"on {shown}")


def discussion(delivery: Delivery, event: str) -> Outcome:
    """Read what happened to a discussion."""
    payload = delivery.payload
    thread, action = payload["discussion"].required(), payload["action"].text()
    topic, shown = _thing(payload, thread, "discussion")
    category = text(thread["category"]["name"].text())
    extra, body, verb = (f"in {category}" if category else ""), "", action
    match action:
        case "created":
            body = thread["body"].text()
        case "category_changed":
            verb, extra = "moved", f"to {category}" if category else ""
        case "labeled" | "unlabeled":
            verb = _labelled(payload, action)
        case "unanswered":
            verb = "took back the answer to"
        case "closed" | "reopened" | "answered" | "locked" | "unlocked" | "deleted" | "edited":
            pass
        case "pinned" | "unpinned" | "transferred":
            pass
        case _:
            return Unknown(f"{event}.{action}")
    return Message(topic, acted(sender(payload), verb, shown, extra=extra, body=body), event)


def discussion_comment(delivery: Delivery, event: str) -> Outcome:
    """Read a comment in a discussion."""
    payload = delivery.payload
    topic, shown = _thing(payload, payload["discussion"].required(), "discussion")
    return _commented(payload, event, topic, f"on {shown}")


def commit_comment(delivery: Delivery, event: str) -> Outcome:
    """Read a comment on a commit."""
    payload = delivery.payload
    topic = repository_topic(repository(payload))
    return _commented(
        payload, event, topic, f"on commit {code(payload['comment']['commit_id'].text()[:10])}"
    )


def _commented(payload: Payload, event: str, topic: str, where: str) -> Outcome:
    comment, action = payload["comment"].required(), payload["action"].text("created")
    shown = link("comment", comment["html_url"].text())
    verbs = {"created": "left a", "edited": "edited a", "deleted": "deleted a"}
    verbs |= {"pinned": "pinned a", "unpinned": "unpinned a"}
    if action not in verbs:
        return Unknown(f"{event}.{action}")
    body = comment["body"].text() if action in ("created", "edited") else ""
    return Message(
        topic, acted(sender(payload), f"{verbs[action]} {shown}", where, body=body), event
    )

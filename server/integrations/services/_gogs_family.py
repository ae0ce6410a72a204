"""The events of Gogs, and of Gitea and Forgejo, which stem from it."""

from collections.abc import Callable, Mapping
from typing import Final

from server.integrations.base import Delivery, Ignored, Message, Outcome, Unknown
from server.integrations.builds import state_words
from server.integrations.markdown import bold, code, link, listed, text
from server.integrations.payload import Payload
from server.integrations.repositories import (
    HEADS,
    TAGS,
    Commit,
    acted,
    branch_deleted,
    branch_made,
    is_no_commit,
    pull_request_topic,
    pushed,
    repository_topic,
    thing_topic,
)

_PLAIN: Final = {
    "opened": "opened",
    "closed": "closed",
    "reopened": "reopened",
    "edited": "edited",
    "assigned": "assigned",
    "unassigned": "unassigned",
    "milestoned": "set the milestone of",
    "demilestoned": "removed the milestone of",
    "synchronized": "pushed new commits to",
    "synchronize": "pushed new commits to",
    "ready_for_review": "marked as ready for review:",
    "converted_to_draft": "made a draft of",
    "deleted": "deleted",
    "pinned": "pinned",
    "unpinned": "unpinned",
    "locked": "locked",
    "unlocked": "unlocked",
}
_QUIET: Final = ("label_updated", "label_cleared", "labeled", "unlabeled")
_REVIEWS: Final = {
    "pull_request_approved": "approved",
    "pull_request_rejected": "requested changes to",
    "pull_request_comment": "reviewed",
}


def _who(payload: Payload) -> str:
    return payload["sender"].first("login", "username").text("Someone")


def _repository(payload: Payload) -> str:
    return payload["repository"]["name"].required_text()


def _about_repository(payload: Payload, event: str, content: str) -> Message:
    return Message(repository_topic(_repository(payload)), content, event)


def _pull(delivery: Delivery, pull: Payload) -> tuple[str, str]:
    """Return the topic of a pull request, and a link to it."""
    payload, (number, title) = delivery.payload, _number_and_title(pull)
    topic = pull_request_topic(delivery, _repository(payload), number, title)
    return topic, link(f"PR #{number} {title}", _page(payload, pull, f"pulls/{number}"))


def _issue(payload: Payload, issue: Payload) -> tuple[str, str]:
    """Return the topic of an issue, and a link to it."""
    number, title = _number_and_title(issue)
    topic = thing_topic(_repository(payload), "issue", number, title)
    return topic, link(f"issue #{number} {title}", _page(payload, issue, f"issues/{number}"))


def _number_and_title(thing: Payload) -> tuple[str, str]:
    return thing["number"].required_text(), thing["title"].required_text()


def _page(payload: Payload, thing: Payload, path: str) -> str:
    """Return the address of a thing; some deliveries have that of the repository alone."""
    page = payload["repository"]["html_url"].text()
    return thing["html_url"].text() or (f"{page}/{path}" if page else "")


# -- pushes, branches and tags


def _push(delivery: Delivery, event: str) -> Outcome:
    payload = delivery.payload
    ref = payload["ref"].required_text()
    who = payload["pusher"].first("login", "username").text() or _who(payload)
    if ref.startswith(TAGS):
        return Ignored(event, "Of tags the events create and delete are posted.")
    branch = ref.removeprefix(HEADS)
    if not delivery.wants_branch(branch):
        return Ignored(event, f"The address does not ask for the branch {branch}.")
    topic = repository_topic(_repository(payload), branch=branch)
    if is_no_commit(payload["after"].text()):
        return Message(topic, branch_deleted(who, branch), event)
    commits = [
        Commit(
            each["id"].text(),
            each["message"].text(),
            each["url"].text(),
            each["author"].first("username", "name").text(),
        )
        for each in payload["commits"]
    ]
    content = pushed(
        who,
        branch,
        commits,
        compare_url=payload["compare_url"].text(),
        total=payload["total_commits"].integer(),
    )
    return Message(topic, content, event)


def _create_or_delete(delivery: Delivery, event: str) -> Outcome:
    payload = delivery.payload
    kind, ref = payload["ref_type"].text("branch"), payload["ref"].required_text()
    if kind == "branch" and not delivery.wants_branch(ref):
        return Ignored(event, f"The address does not ask for the branch {ref}.")
    name = ref.removeprefix(HEADS).removeprefix(TAGS)
    page = payload["repository"]["html_url"].text()
    if event == "delete":
        return _about_repository(payload, event, branch_deleted(_who(payload), name, kind=kind))
    url = f"{page}/src/{name}" if page else ""
    return _about_repository(payload, event, branch_made(_who(payload), name, url=url, kind=kind))


# -- pull requests, issues and comments


def _pull_request(delivery: Delivery, event: str) -> Outcome:
    payload = delivery.payload
    action, pull = payload["action"].required_text(), payload["pull_request"].required()
    topic, shown = _pull(delivery, pull)
    if action in ("review_requested", "review_request_removed"):
        of = bold(payload["requested_reviewer"].first("login", "username", "name").text())
        verb = "requested" if action == "review_requested" else "no longer requests"
        verb = f"{verb} a review of {of} for" if of else f"{verb} a review for"
        return Message(topic, acted(_who(payload), verb, shown), event)
    if action == "closed":
        verb = "merged" if pull["merged"].flag() else "closed without merging"
        return Message(topic, acted(_who(payload), verb, shown), event)
    head = pull["head"].first("ref", "label").text() or pull["head_branch"].text()
    base = pull["base"].first("ref", "label").text() or pull["base_branch"].text()
    branches = f"from {code(head)} into {code(base)}" if head and base else ""
    return _changed(payload, event, pull, topic, shown, branches)


def _issues(delivery: Delivery, event: str) -> Outcome:
    payload = delivery.payload
    issue = payload["issue"].required()
    topic, shown = _issue(payload, issue)
    return _changed(payload, event, issue, topic, shown, "")


def _changed(
    payload: Payload, event: str, thing: Payload, topic: str, shown: str, branches: str
) -> Outcome:
    """Say what happened to a pull request or an issue."""
    action = payload["action"].required_text()
    if action in _QUIET:
        return Ignored(event, "Nothing is said of labels.")
    if action not in _PLAIN:
        return Unknown(f"{event}.{action}")
    extra = body = ""
    match action:
        case "opened":
            people = _assignees(thing)
            assigned = f"(assigned to {people})" if people else ""
            extra = " ".join(part for part in (branches, assigned) if part)
            body = thing["body"].text()
        case "reopened":
            extra = branches
        case "assigned":
            people = _assignees(thing)
            extra = f"to {people}" if people else ""
        case "milestoned":
            title = thing["milestone"]["title"].text()
            extra = f"to {bold(title)}" if title else ""
        case "edited":
            before = payload["changes"]["title"]["from"].text()
            extra = f"(renamed from {code(before)})" if before else ""
            body = thing["body"].text() if "body" in payload["changes"] else ""
    content = acted(_who(payload), _PLAIN[action], shown, extra=extra, body=body)
    return Message(topic, content, event)


def _assignees(thing: Payload) -> str:
    names = [each.first("login", "username").text() for each in thing["assignees"]]
    names = names or [thing["assignee"].first("login", "username").text()]
    return listed(map(bold, names))


def _issue_comment(delivery: Delivery, event: str) -> Outcome:
    payload = delivery.payload
    action = payload["action"].required_text()
    comment = payload["comment"].required()
    thing = payload.first("pull_request", "issue").required()
    is_pull = payload["is_pull"].flag() or thing["pull_request"] or payload["pull_request"]
    topic, shown = _pull(delivery, thing) if is_pull else _issue(payload, thing)
    verbs = {"created": "left a", "edited": "edited a", "deleted": "deleted a"}
    if action not in verbs:
        return Unknown(f"{event}.{action}")
    verb = f"{verbs[action]} {link('comment', comment['html_url'].text())}"
    body = "" if action == "deleted" else comment["body"].text()
    return Message(topic, acted(_who(payload), verb, f"on {shown}", body=body), event)


def _review(delivery: Delivery, event: str) -> Outcome:
    payload = delivery.payload
    topic, shown = _pull(delivery, payload["pull_request"].required())
    body = payload["review"]["content"].text()
    return Message(topic, acted(_who(payload), _REVIEWS[event], shown, body=body), event)


# -- releases, wiki, packages and repositories


def _release(delivery: Delivery, event: str) -> Outcome:
    payload = delivery.payload
    release, action = payload["release"].required(), payload["action"].text("published")
    verbs = {"published": "published", "updated": "changed", "edited": "changed"}
    verbs["deleted"] = "deleted"
    if action not in verbs:
        return Unknown(f"{event}.{action}")
    tag = release["tag_name"].text()
    page = payload["repository"]["html_url"].text()
    url = release["html_url"].text() or (f"{page}/releases/tag/{tag}" if page and tag else "")
    shown = link(release.first("name", "tag_name").text("a release"), url)
    body = release.first("body", "note").text() if action == "published" else ""
    content = acted(_who(payload), verbs[action], f"the release {shown}", body=body)
    return _about_repository(payload, event, content)


def _wiki(delivery: Delivery, event: str) -> Outcome:
    payload = delivery.payload
    page, action = payload["page"].required_text(), payload["action"].text("edited")
    site = payload["repository"]["html_url"].text()
    shown = link(page, f"{site}/wiki/{page}" if site and action != "deleted" else "")
    body = payload["comment"].text()
    content = acted(_who(payload), text(action), f"the wiki page {shown}", body=body)
    topic = repository_topic(_repository(payload), branch="wiki pages")
    return Message(topic, content, event)


def _fork(delivery: Delivery, event: str) -> Outcome:
    payload = delivery.payload
    given, other = payload["repository"].required(), payload["forkee"].required()
    is_given_new = given["fork"].flag() and not other["fork"].flag()
    new, origin = (given, other) if is_given_new else (other, given)
    shown = link(new["full_name"].text("a repository"), new["html_url"].text())
    content = acted(_who(payload), "forked", f"this repository as {shown}")
    return Message(repository_topic(origin["name"].required_text()), content, event)


def _repository_event(delivery: Delivery, event: str) -> Outcome:
    payload = delivery.payload
    repository = payload["repository"]
    shown = link(repository["full_name"].text(), repository["html_url"].text())
    verb = text(payload["action"].text("changed"))
    return _about_repository(payload, event, acted(_who(payload), verb, f"the repository {shown}"))


def _package(delivery: Delivery, event: str) -> Outcome:
    payload = delivery.payload
    package, action = payload["package"].required(), payload["action"].text("created")
    kind, name = text(package["type"].text()), package["name"].required_text()
    version = package["version"].text()
    shown = link(f"{name} {version}".strip(), package["html_url"].text())
    verb = "published" if action == "created" else text(action)
    content = acted(_who(payload), verb, f"the {kind} package {shown}".replace("  ", " "))
    topic = payload["repository"]["name"].text() or package["owner"]["login"].text("packages")
    return Message(repository_topic(topic), content, event)


# -- builds


def _status(delivery: Delivery, event: str) -> Outcome:
    payload = delivery.payload
    state = payload["state"].required_text()
    if state == "pending":
        return Ignored(event, "The check has not been completed.")
    check = link(payload["context"].text("a check"), payload["target_url"].text())
    commit = link(payload["sha"].text()[:10], payload["commit"].first("html_url", "url").text())
    return _about_repository(payload, event, f"{check} {state_words(state)} for commit {commit}.")


def _workflow(delivery: Delivery, event: str) -> Outcome:
    payload = delivery.payload
    run = payload[event].required()
    if payload["action"].text() != "completed":
        return Ignored(event, "It has not been completed.")
    noun = "Workflow" if event == "workflow_run" else "Job"
    shown = link(run.first("display_title", "name").text("a run"), run["html_url"].text())
    branch = run["head_branch"].text()
    of = f" of {code(branch)}" if branch else ""
    content = f"{noun} {shown}{of} {state_words(run['conclusion'].text('completed'))}."
    return Message(repository_topic(_repository(payload), branch=branch), content, event)


def _action_run(delivery: Delivery, event: str) -> Outcome:
    run = delivery.payload["run"].required()
    shown = link(run["title"].text("a run"), run["html_url"].text())
    branch = run["prettyref"].text()
    of = f" of {code(branch)}" if branch else ""
    said = {
        "action_run_failure": state_words("failed"),
        "action_run_success": state_words("succeeded"),
        "action_run_recover": ":check: succeeded again",
    }
    name = run["repository"]["name"].text() or _repository(delivery.payload)
    content = f"Workflow {shown}{of} {said[event]}."
    return Message(repository_topic(name, branch=branch), content, event)


Readers = Mapping[str, Callable[[Delivery, str], Outcome]]

GOGS: Final[Readers] = {
    "create": _create_or_delete,
    "delete": _create_or_delete,
    "fork": _fork,
    "issue_comment": _issue_comment,
    "issues": _issues,
    "pull_request": _pull_request,
    "push": _push,
    "release": _release,
}
GITEA: Final[Readers] = {
    **GOGS,
    "package": _package,
    "pull_request_approved": _review,
    "pull_request_comment": _review,
    "pull_request_rejected": _review,
    "repository": _repository_event,
    "status": _status,
    "wiki": _wiki,
    "workflow_job": _workflow,
    "workflow_run": _workflow,
}
FORGEJO: Final[Readers] = {
    **{event: reader for event, reader in GITEA.items() if not event.startswith("workflow_")},
    "action_run_failure": _action_run,
    "action_run_recover": _action_run,
    "action_run_success": _action_run,
}

"""Bitbucket Cloud."""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from server.integrations.base import (
    BRANCHES,
    IGNORE_PRIVATE,
    PULL_REQUEST_TOPICS,
    Category,
    Delivery,
    Ignored,
    Integration,
    Message,
    Outcome,
    Unknown,
)
from server.integrations.builds import state_words
from server.integrations.markdown import bold, code, link, listed, paragraphs
from server.integrations.payload import Payload
from server.integrations.repositories import (
    Commit,
    acted,
    branch_deleted,
    branch_made,
    pull_request_topic,
    pushed,
    repository_topic,
    thing_topic,
)
from server.integrations.signatures import WEBSUB

_PULL_REQUESTS: Final = {
    "created": "opened",
    "updated": "updated",
    "approved": "approved",
    "unapproved": "took back the approval of",
    "changes_request_created": "requested changes to",
    "changes_request_removed": "took back the request for changes to",
    "fulfilled": "merged",
    "rejected": "declined",
    "comment_created": "left a",
    "comment_updated": "edited a",
    "comment_deleted": "deleted a",
    "comment_resolved": "resolved a",
    "comment_reopened": "reopened a",
}
_WITH_COMMENT: Final = ("comment_created", "comment_updated")


def read(delivery: Delivery) -> Outcome:
    """Turn a delivery into a message, by its `X-Event-Key`."""
    event = delivery.header("X-Event-Key")
    reader = _READERS.get(event)
    if reader is None:
        return Unknown(event)
    if delivery.flag(IGNORE_PRIVATE) and delivery.payload["repository"]["is_private"].flag():
        return Ignored(event, "The repository is private.")
    return reader(delivery, event)


def _name(person: Payload) -> str:
    return person.first("display_name", "nickname", "username").text()


def _who(payload: Payload) -> str:
    return _name(payload["actor"]) or _name(payload["comment"]["user"]) or "Someone"


def _repository(payload: Payload) -> str:
    return payload["repository"]["name"].required_text()


def _page(thing: Payload) -> str:
    return thing["links"]["html"]["href"].text()


def _about_repository(payload: Payload, event: str, content: str) -> Message:
    return Message(repository_topic(_repository(payload)), content, event)


# -- pushes


def _push(delivery: Delivery, event: str) -> Outcome:
    """Say what was pushed. Several branches or tags at once are one message."""
    payload = delivery.payload
    repository, said, topics = _repository(payload), [], set()
    for change in list(payload["push"].required()["changes"])[:10]:
        ref = change.first("new", "old")
        name, is_tag = ref["name"].text(), ref["type"].text() == "tag"
        if not is_tag and not delivery.wants_branch(name):
            continue
        topics.add(repository_topic(repository, branch="" if is_tag else name))
        said.append(_change(payload, change, name, "tag" if is_tag else "branch"))
    if not said:
        return Ignored(event, "It has no changes of branches or tags that are asked for.")
    topic = topics.pop() if len(topics) == 1 else repository_topic(repository)
    return Message(topic, paragraphs(*said), event)


def _change(payload: Payload, change: Payload, name: str, kind: str) -> str:
    who = _who(payload)
    if not change["new"]:
        return branch_deleted(who, name, kind=kind)
    if kind == "tag" or (not change["old"] and not change["commits"]):
        return branch_made(who, name, url=_page(change["new"]), kind=kind)
    commits = [
        Commit(each["hash"].text(), each["message"].text(), _page(each), _author(each["author"]))
        for each in change["commits"]
    ]
    return pushed(
        who,
        name,
        commits,
        compare_url=_page(change),
        is_forced=change["forced"].flag(),
        is_truncated=change["truncated"].flag(),
    )


def _author(author: Payload) -> str:
    return _name(author["user"]) or author["raw"].text().split("<", 1)[0].strip()


# -- pull requests


def _pull_request(delivery: Delivery, event: str) -> Outcome:
    payload, action = delivery.payload, event.removeprefix("pullrequest:")
    pull = payload["pullrequest"].required()
    number, title = pull["id"].required_text(), pull["title"].required_text()
    topic = pull_request_topic(delivery, _repository(payload), number, title)
    shown, verb = link(f"PR #{number} {title}", _page(pull)), _PULL_REQUESTS[action]
    extra = body = ""
    if action.startswith("comment_"):
        comment = payload["comment"].required()
        body = comment["content"]["raw"].text() if action in _WITH_COMMENT else ""
        verb, shown = f"{verb} {link('comment', _page(comment))}", f"on {shown}"
    elif action in ("created", "updated"):
        branches = (code(pull[each]["branch"]["name"].text()) for each in ("source", "destination"))
        extra = "from {} into {}".format(*branches)
        people = listed(bold(_name(each)) for each in pull["reviewers"])
        extra += f" (to be reviewed by {people})" if people and action == "created" else ""
        body = pull.first("description", "summary").text() if action == "created" else ""
    elif action == "rejected":
        body = pull["reason"].text()
    return Message(topic, acted(_who(payload), verb, shown, extra=extra, body=body), event)


# -- issues


def _issue(delivery: Delivery, event: str) -> Outcome:
    payload = delivery.payload
    issue = payload["issue"].required()
    number, title = issue["id"].required_text(), issue["title"].required_text()
    topic = thing_topic(_repository(payload), "issue", number, title)
    shown = link(f"issue #{number} {title}", _page(issue))
    comment = payload["comment"]
    match event:
        case "issue:created":
            name = _name(issue["assignee"])
            extra = f"(assigned to {bold(name)})" if name else ""
            body = issue["content"]["raw"].text()
            content = acted(_who(payload), "opened", shown, extra=extra, body=body)
        case "issue:comment_created":
            verb = f"left a {link('comment', _page(comment))}"
            body = comment["content"]["raw"].text()
            content = acted(_who(payload), verb, f"on {shown}", body=body)
        case _:
            said = listed(_issue_changes(payload["changes"]))
            body = comment["content"]["raw"].text()
            if "content" in payload["changes"] and not body:
                body = issue["content"]["raw"].text()
            shown += f": {said}" if said else ""
            content = acted(_who(payload), "updated", shown, body=body)
    return Message(topic, content, event)


def _issue_changes(changes: Payload) -> Iterator[str]:
    for key in ("title", "status", "priority", "kind", "milestone", "component", "version"):
        old, new = _value(changes[key]["old"]), _value(changes[key]["new"])
        if old or new:
            yield f"{key} from {code(old) or 'none'} to {code(new) or 'none'}"
    if "assignee" in changes or "responsible" in changes:
        name = _name(changes["assignee"]["new"]) or changes.first("assignee", "responsible")[
            "new"
        ].text("no one")
        yield f"assigned to {bold(name)}"
    if "content" in changes:
        yield "changed the description"


def _value(value: Payload) -> str:
    return value.text() or value["name"].text()


# -- the rest


def _commit_comment(delivery: Delivery, event: str) -> Outcome:
    payload = delivery.payload
    comment, commit = payload["comment"].required(), payload["commit"]
    page = _page(commit) or _page(comment["commit"])
    where = f"on commit {link(commit['hash'].text()[:10], page)}"
    verb = f"left a {link('comment', _page(comment))}"
    body = comment["content"]["raw"].text()
    return _about_repository(payload, event, acted(_who(payload), verb, where, body=body))


def _commit_status(delivery: Delivery, event: str) -> Outcome:
    payload = delivery.payload
    status = payload["commit_status"].required()
    state = status["state"].required_text()
    if state == "INPROGRESS":
        return Ignored(event, "The build has not been completed.")
    build = link(status.first("name", "key").text("A build"), status["url"].text())
    commit_page = status["links"]["commit"]["href"].text()
    commit = code(
        (commit_page or status["links"]["self"]["href"].text()).partition("/commit/")[2][:10]
    )
    branch = status["refname"].text()
    if branch and not delivery.wants_branch(branch):
        return Ignored(event, f"The address does not ask for the branch {branch}.")
    content = f"{build} {state_words(state)}{f' for commit {commit}' if commit else ''}."
    return Message(repository_topic(_repository(payload), branch=branch), content, event)


def _fork(delivery: Delivery, event: str) -> Outcome:
    payload = delivery.payload
    fork = payload["fork"].required()
    shown = link(fork["full_name"].text("a repository"), _page(fork))
    content = acted(_who(payload), "forked", f"this repository as {shown}")
    return _about_repository(payload, event, content)


def _updated(delivery: Delivery, event: str) -> Outcome:
    payload = delivery.payload
    changes = payload["changes"]
    said = [
        f"{key.replace('_', ' ')} to {code(changes[key]['new'].text())}"
        for key in ("name", "full_name", "website", "language", "description")
        if changes[key]["new"]
    ]
    if not said:
        return Ignored(event, "Nothing is said of what was changed.")
    repository = payload["repository"]
    shown = link(repository["full_name"].text("the repository"), _page(repository))
    content = acted(_who(payload), "changed", f"{shown}: {listed(said)}")
    return _about_repository(payload, event, content)


def _repository_event(delivery: Delivery, event: str) -> Outcome:
    verb = {"repo:transfer": "transferred", "repo:deleted": "deleted"}.get(event, "created")
    repository = delivery.payload["repository"]
    shown = link(repository["full_name"].text(), _page(repository))
    content = acted(_who(delivery.payload), verb, f"the repository {shown}")
    return _about_repository(delivery.payload, event, content)


_READERS: Final[Mapping[str, Callable[[Delivery, str], Outcome]]] = {
    **{f"pullrequest:{action}": _pull_request for action in _PULL_REQUESTS},
    "issue:comment_created": _issue,
    "issue:created": _issue,
    "issue:updated": _issue,
    "repo:commit_comment_created": _commit_comment,
    "repo:commit_status_created": _commit_status,
    "repo:commit_status_updated": _commit_status,
    "repo:created": _repository_event,
    "repo:deleted": _repository_event,
    "repo:fork": _fork,
    "repo:push": _push,
    "repo:transfer": _repository_event,
    "repo:updated": _updated,
}

INTEGRATIONS: Final = (
    Integration(
        name="bitbucket2",
        display_name="Bitbucket Cloud",
        category=Category.VERSION_CONTROL,
        read=read,
        setup=paragraphs(
            "In the repository, open *Repository settings*, *Webhooks*, *Add webhook*.",
            "Paste `{url}` as *URL*, and leave *Active* on.",
            "Choose the triggers to post, and save.",
        ),
        events=tuple(_READERS),
        headers=("X-Event-Key",),
        options=(BRANCHES, IGNORE_PRIVATE, PULL_REQUEST_TOPICS),
        delivery_id="X-Request-UUID",
        has_unique_bodies=True,
        signatures=(WEBSUB,),
        signing_step="Set the secret as *Secret* of the webhook.",
    ),
)

"""Bitbucket Server and Data Center."""

from collections.abc import Callable, Mapping
from typing import Final

from server.integrations.alerts import FIRING
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
from server.integrations.markdown import bold, bullets, code, link, listed, paragraphs, text
from server.integrations.payload import Payload
from server.integrations.repositories import (
    acted,
    branch_deleted,
    branch_made,
    pull_request_topic,
    repository_topic,
)
from server.integrations.signatures import WEBSUB

_PULL_REQUESTS: Final = {
    "pr:opened": "opened",
    "pr:modified": "edited",
    "pr:from_ref_updated": "pushed new commits to",
    "pr:merged": "merged",
    "pr:declined": "declined",
    "pr:deleted": "deleted",
    "pr:reviewer:approved": "approved",
    "pr:reviewer:unapproved": "took back the approval of",
    "pr:reviewer:needs_work": "requested changes to",
    "pr:reviewer:changes_requested": "requested changes to",
    "pr:reviewer:updated": "changed the reviewers of",
    "pr:comment:added": "left a comment on",
    "pr:comment:edited": "edited a comment on",
    "pr:comment:deleted": "deleted a comment on",
}
_COMMITS: Final = {
    "repo:comment:added": "left a comment on",
    "repo:comment:edited": "edited a comment on",
    "repo:comment:deleted": "deleted a comment on",
}
_CHANGES: Final = 10
"""Branches that are listed of a push."""


def read(delivery: Delivery) -> Outcome:
    """Turn a delivery into a message, by its `eventKey`."""
    payload = delivery.payload
    if payload["test"].flag():
        return Ignored("test", "The connection was tested.")
    event = payload["eventKey"].required_text()
    reader = _READERS.get(event)
    if reader is None:
        return Unknown(event)
    public = _repository_of(payload)["public"]
    if delivery.flag(IGNORE_PRIVATE) and public.exists and not public.flag():
        return Ignored(event, "The repository is private.")
    return reader(delivery, event)


def _name(person: Payload) -> str:
    return person.first("displayName", "name").text()


def _who(payload: Payload) -> str:
    return _name(payload["actor"]) or "Someone"


def _page(thing: Payload) -> str:
    return thing["links"]["self"][0]["href"].text()


def _repository_of(payload: Payload) -> Payload:
    found = payload.first("repository", "new") or payload["pullRequest"]["toRef"]["repository"]
    return found or payload["secretLocations"][0]["repository"]


def _repository(payload: Payload) -> str:
    return _repository_of(payload)["name"].required_text()


def _about_repository(payload: Payload, event: str, content: str) -> Message:
    return Message(repository_topic(_repository(payload)), content, event)


# -- pushes


def _refs_changed(delivery: Delivery, event: str) -> Outcome:
    payload = delivery.payload
    repository, who = _repository(payload), _who(payload)
    page = _page(payload["repository"]).removesuffix("/browse")
    said, topics = [], set()
    for change in list(payload["changes"].required())[:_CHANGES]:
        name = change["ref"]["displayId"].text() or change["refId"].text()
        is_tag = change["ref"]["type"].text() == "TAG"
        if not is_tag and not delivery.wants_branch(name):
            continue
        topics.add(repository_topic(repository, branch="" if is_tag else name))
        said.append(_change(change, who, name, "tag" if is_tag else "branch", page))
    if not said:
        return Ignored(event, "It has no changes of branches or tags that are asked for.")
    topic = topics.pop() if len(topics) == 1 else repository_topic(repository)
    return Message(topic, bullets(said) if len(said) > 1 else said[0], event)


def _change(change: Payload, who: str, name: str, kind: str, page: str) -> str:
    head = change["toHash"].text()
    if change["type"].text() == "ADD":
        return branch_made(who, name, url=f"{page}/commits?until={name}" if page else "", kind=kind)
    if change["type"].text() == "DELETE":
        return branch_deleted(who, name, kind=kind)
    commit = link(head[:10], f"{page}/commits/{head}" if page else "")
    compared = f"{page}/compare/diff?targetBranch={change['fromHash'].text()}&sourceBranch={head}"
    verb = link("pushed", compared) if page else "pushed"
    return f"{bold(who)} {verb} to {kind} {code(name)}. The last commit is {commit}."


# -- pull requests


def _pull_request(delivery: Delivery, event: str) -> Outcome:
    payload = delivery.payload
    pull = payload["pullRequest"].required()
    number, title = pull["id"].required_text(), pull["title"].required_text()
    topic = pull_request_topic(delivery, _repository(payload), number, title)
    shown, extra, body = link(f"PR #{number} {title}", _page(pull)), "", ""
    match event:
        case "pr:opened":
            extra, body = _branches(pull), pull["description"].text()
            people = listed(bold(_name(each["user"])) for each in pull["reviewers"])
            extra += f" (to be reviewed by {people})" if people else ""
        case "pr:modified":
            extra, body = _modified(payload, pull)
        case "pr:reviewer:updated":
            added, removed = (
                listed(bold(_name(each)) for each in payload[key])
                for key in ("addedReviewers", "removedReviewers")
            )
            parts = (f"added {added}" if added else "", f"removed {removed}" if removed else "")
            said = listed(parts)
            extra = f"({said})" if said else ""
        case "pr:comment:added" | "pr:comment:edited":
            body = payload["comment"].required()["text"].text()
    content = acted(_who(payload), _PULL_REQUESTS[event], shown, extra=extra, body=body)
    return Message(topic, content, event)


def _branches(pull: Payload) -> str:
    branches = (code(pull[each]["displayId"].text()) for each in ("fromRef", "toRef"))
    return "from {} into {}".format(*branches)


def _modified(payload: Payload, pull: Payload) -> tuple[str, str]:
    parts = []
    before, target = payload["previousTitle"].text(), payload["previousTarget"]["displayId"].text()
    if before and before != pull["title"].text():
        parts.append(f"renamed it from {code(before)}")
    current = pull["toRef"]["displayId"].text()
    if target and target != current:
        parts.append(f"changed the target branch to {code(current)}")
    is_described = (
        payload["previousDescription"].text().split() != pull["description"].text().split()
    )
    said = listed(parts)
    return f"({said})" if said else "", pull["description"].text() if is_described else ""


# -- the rest


def _commit_comment(delivery: Delivery, event: str) -> Outcome:
    payload = delivery.payload
    sha, page = payload["commit"].text(), _page(payload["repository"]).removesuffix("/browse")
    commit = link(sha[:10], f"{page}/commits/{sha}" if page else "")
    comment = payload["comment"].required()
    body = "" if event.endswith("deleted") else comment["text"].text()
    content = acted(_who(payload), _COMMITS[event], f"commit {commit}", body=body)
    return _about_repository(payload, event, content)


def _forked(delivery: Delivery, event: str) -> Outcome:
    payload = delivery.payload
    fork = payload["repository"].required()
    shown = link(f"{fork['project']['name'].text()} / {fork['name'].text()}", _page(fork))
    topic = fork["origin"]["name"].text() or fork["name"].required_text()
    content = acted(_who(payload), "forked", f"this repository as {shown}")
    return Message(repository_topic(topic), content, event)


def _modified_repository(delivery: Delivery, event: str) -> Outcome:
    payload = delivery.payload
    old, new = payload["old"], payload["new"].required()
    shown = link(new["name"].text(), _page(new))
    if old["name"].text() == new["name"].text():
        content = acted(_who(payload), "changed", f"the repository {shown}")
    else:
        content = acted(
            _who(payload), "renamed", f"the repository {code(old['name'].text())} to {shown}"
        )
    return Message(repository_topic(new["name"].required_text()), content, event)


def _modified_project(delivery: Delivery, event: str) -> Outcome:
    payload = delivery.payload
    old, new = payload["old"]["name"].text(), payload["new"].required()
    shown = link(new["name"].required_text(), _page(new))
    is_renamed = old and old != new["name"].text()
    verb, what = ("renamed", f"{code(old)} to {shown}") if is_renamed else ("changed", shown)
    content = acted(_who(payload), f"{verb} the project", what)
    return Message(repository_topic(new["name"].text()), content, event)


def _secret_detected(delivery: Delivery, event: str) -> Outcome:
    payload = delivery.payload
    places = [
        f"{text(each['ruleName'].text('Secret'))} in {code(_place(each))}"
        f" of commit {code(each['commitId'].text()[:10])}"
        for each in payload["secretLocations"].required()
    ]
    more = f"and {len(places) - _CHANGES} more" if len(places) > _CHANGES else ""
    content = f"{FIRING} {bold(_who(payload))} pushed what looks like a secret:"
    found = bullets([*places[:_CHANGES], more])
    return _about_repository(payload, event, paragraphs(content, found))


def _place(location: Payload) -> str:
    path, line = location["path"].text("a file"), location["line"].text()
    return f"{path}:{line}" if line else path


def _quiet(delivery: Delivery, event: str) -> Outcome:
    del delivery
    return Ignored(event, "Nothing is said of what other events say.")


_READERS: Final[Mapping[str, Callable[[Delivery, str], Outcome]]] = {
    **dict.fromkeys(_PULL_REQUESTS, _pull_request),
    **dict.fromkeys(_COMMITS, _commit_comment),
    "mirror:repo_synchronized": _quiet,
    "pr:to_ref_updated": _quiet,
    "proj:modified": _modified_project,
    "project:modified": _modified_project,
    "repo:forked": _forked,
    "repo:modified": _modified_repository,
    "repo:refs_changed": _refs_changed,
    "repo:secret_detected": _secret_detected,
}

INTEGRATIONS: Final = (
    Integration(
        name="bitbucket3",
        display_name="Bitbucket Server",
        category=Category.VERSION_CONTROL,
        read=read,
        setup=paragraphs(
            "In the repository (or project), open *Settings*, *Webhooks*, *Create webhook*.",
            "Paste `{url}` as *URL*, choose the events to post, and save.",
        ),
        events=tuple(_READERS),
        options=(BRANCHES, IGNORE_PRIVATE, PULL_REQUEST_TOPICS),
        delivery_id="X-Request-Id",
        has_unique_bodies=True,
        signatures=(WEBSUB,),
        signing_step="Set the secret as *Secret* of the webhook.",
    ),
)

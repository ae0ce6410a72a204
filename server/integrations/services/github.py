"""GitHub: repositories, organizations and sponsors."""

from collections.abc import Callable, Mapping
from typing import Final

from msgspec.structs import replace

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
from server.integrations.builds import stage_of, state_words
from server.integrations.markdown import bold, code, link, listed, paragraphs, text
from server.integrations.payload import Payload
from server.integrations.repositories import (
    HEADS,
    TAGS,
    Commit,
    acted,
    branch_deleted,
    branch_made,
    pushed,
    repository_topic,
)
from server.integrations.services import _github_automation, _github_settings
from server.integrations.services._github_threads import (
    about_repository,
    commit_comment,
    discussion,
    discussion_comment,
    issue_comment,
    issue_dependencies,
    issues,
    linked,
    linked_repository,
    pull_request,
    pull_request_review,
    pull_request_review_comment,
    pull_request_review_thread,
    repository,
    sender,
    sub_issues,
)
from server.integrations.signatures import HUB

MERGE_QUEUE: Final = "gh-readonly-queue/"


def read(delivery: Delivery) -> Outcome:
    """Turn a delivery into a message, by its `X-GitHub-Event`."""
    event = delivery.header("X-GitHub-Event")
    reader = _READERS.get(event) or _github_settings.QUIET.get(event)
    if reader is None:
        return Unknown(event)
    if delivery.flag(IGNORE_PRIVATE) and delivery.payload["repository"]["private"].flag():
        return Ignored(event, "The repository is private.")
    return reader(delivery, event)


# -- pushes, branches and tags


def _push(delivery: Delivery, event: str) -> Outcome:
    payload = delivery.payload
    ref = payload["ref"].required_text()
    who = payload["sender"]["login"].text() or payload["pusher"]["name"].text("Someone")
    if ref.startswith(TAGS):
        return _pushed_tag(payload, event, who, ref.removeprefix(TAGS))
    branch = ref.removeprefix(HEADS)
    if branch.startswith(MERGE_QUEUE):
        return Ignored(event, "Branches of merge queues are temporary.")
    if not delivery.wants_branch(branch):
        return Ignored(event, f"The address does not ask for the branch {branch}.")
    topic = repository_topic(repository(payload), branch=branch)
    if payload["deleted"].flag():
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
    if payload["created"].flag() and not commits:
        return Message(topic, branch_made(who, branch, url=_tree(payload, branch)), event)
    content = pushed(
        who,
        branch,
        commits,
        compare_url=payload["compare"].text(),
        is_forced=payload["forced"].flag(),
    )
    return Message(topic, content, event)


def _tree(payload: Payload, branch: str) -> str:
    page = payload["repository"]["html_url"].text()
    return f"{page}/tree/{branch}" if page else ""


def _pushed_tag(payload: Payload, event: str, who: str, tag: str) -> Message:
    if payload["deleted"].flag():
        return about_repository(payload, event, branch_deleted(who, tag, kind="tag"))
    return about_repository(payload, event, branch_made(who, tag, kind="tag"))


def _create(delivery: Delivery, event: str) -> Outcome:
    payload = delivery.payload
    kind, ref = payload["ref_type"].text("branch"), payload["ref"].text()
    if kind == "branch" and not delivery.wants_branch(ref):
        return Ignored(event, f"The address does not ask for the branch {ref}.")
    return about_repository(payload, event, branch_made(sender(payload), ref, kind=kind))


def _delete(delivery: Delivery, event: str) -> Outcome:
    payload = delivery.payload
    kind, ref = payload["ref_type"].text("branch"), payload["ref"].text()
    return about_repository(payload, event, branch_deleted(sender(payload), ref, kind=kind))


# -- builds and deployments


def _status(delivery: Delivery, event: str) -> Outcome:
    payload = delivery.payload
    state = state_words(payload["state"].text())
    check = link(payload["context"].text("a check"), payload["target_url"].text())
    commit = link(payload["sha"].text()[:10], payload["commit"]["html_url"].text())
    message = about_repository(payload, event, f"{check} {state} for commit {commit}.")
    about = f"{payload['sha'].text()} {payload['context'].text()}"
    return replace(message, about=about, stage=stage_of(state))


def _check_run(delivery: Delivery, event: str) -> Outcome:
    payload = delivery.payload
    run = payload["check_run"].required()
    if run["status"].text() != "completed":
        return Ignored(event, "The check has not been completed.")
    check = link(run["name"].text("A check"), run["html_url"].text())
    state = state_words(run["conclusion"].text("completed"))
    sha = run["head_sha"].text()
    commit = link(sha[:10], f"{payload['repository']['html_url'].text()}/commit/{sha}")
    return about_repository(payload, event, f"{check} {state} for commit {commit}.")


def _deployment(delivery: Delivery, event: str) -> Outcome:
    payload = delivery.payload
    deployment = payload["deployment"].required()
    where = code(deployment["environment"].text())
    of = code(deployment["ref"].text())
    content = acted(sender(payload), "started a deployment", f"of {of} to {where}" if of else "")
    return about_repository(payload, event, content)


def _deployment_status(delivery: Delivery, event: str) -> Outcome:
    payload = delivery.payload
    status = payload["deployment_status"].required()
    state = state_words(status["state"].text())
    shown = link("Deployment", status.first("environment_url", "target_url").text())
    where = code(payload["deployment"]["environment"].text())
    message = about_repository(payload, event, f"{shown} to {where} {state}.")
    return replace(message, about=payload["deployment"]["url"].text(), stage=stage_of(state))


def _page_build(delivery: Delivery, event: str) -> Outcome:
    payload = delivery.payload
    build = payload["build"].required()
    status = build["status"].text()
    said = {"built": "built", "errored": "failed to build", "building": "is building"}
    content = (
        f"GitHub Pages {said.get(status, 'finished building')} for {bold(_pusher(build, payload))}"
    )
    error = text(build["error"]["message"].text())
    return about_repository(payload, event, f"{content}{f': {error}' if error else '.'}")


def _pusher(build: Payload, payload: Payload) -> str:
    return build["pusher"]["login"].text() or sender(payload)


# -- releases, wiki, repositories


def _release(delivery: Delivery, event: str) -> Outcome:
    payload = delivery.payload
    release, action = payload["release"].required(), payload["action"].text("published")
    if action not in ("published", "released", "edited", "deleted", "prereleased", "unpublished"):
        return Ignored(event, f"Nothing is said of the action {action}.")
    shown = link(release.first("name", "tag_name").text("a release"), release["html_url"].text())
    body = release["body"].text() if action in ("published", "released", "prereleased") else ""
    content = acted(sender(payload), f"{action} the release", shown, body=body)
    return about_repository(payload, event, content)


def _gollum(delivery: Delivery, event: str) -> Outcome:
    payload = delivery.payload
    pages = dict.fromkeys(
        f"{text(each['action'].text('edited'))} {linked(each, 'title')}"
        for each in payload["pages"]
    )
    content = f"{bold(sender(payload))} {listed(pages) or 'changed pages'} in the wiki."
    return Message(repository_topic(repository(payload), branch="wiki pages"), content, event)


def _fork(delivery: Delivery, event: str) -> Outcome:
    fork = delivery.payload["forkee"].required()
    shown = link(fork["full_name"].text(), fork["html_url"].text())
    return about_repository(
        delivery.payload,
        event,
        acted(sender(delivery.payload), "forked", f"this repository as {shown}"),
    )


def _star(delivery: Delivery, event: str) -> Outcome:
    verb = "no longer stars" if delivery.payload["action"].text() == "deleted" else "starred"
    return _of_repository(delivery, event, verb)


def _watch(delivery: Delivery, event: str) -> Outcome:
    return _of_repository(delivery, event, "starred")


def _public(delivery: Delivery, event: str) -> Outcome:
    return about_repository(
        delivery.payload,
        event,
        f"The repository {linked_repository(delivery.payload)} is public now.",
    )


def _repository_event(delivery: Delivery, event: str) -> Outcome:
    return _of_repository(delivery, event, text(delivery.payload["action"].text("changed")))


def _of_repository(delivery: Delivery, event: str, verb: str) -> Outcome:
    payload = delivery.payload
    content = acted(sender(payload), verb, f"the repository {linked_repository(payload)}")
    return about_repository(payload, event, content)


# -- people and teams


def _member(delivery: Delivery, event: str) -> Outcome:
    payload = delivery.payload
    action = payload["action"].text("added")
    member = bold(payload["member"]["login"].required_text())
    preposition = "from" if action == "removed" else "to"
    where = f"{preposition} {linked_repository(payload)}"
    content = acted(sender(payload), text(action), member, extra=where)
    return about_repository(payload, event, content)


def _membership(delivery: Delivery, event: str) -> Outcome:
    payload = delivery.payload
    action = payload["action"].text("added")
    member = payload["member"]
    shown = link(member["login"].required_text(), member["html_url"].text())
    team = payload["team"]["name"].text("team")
    preposition = "from" if action == "removed" else "to"
    content = acted(
        sender(payload), text(action), shown, extra=f"{preposition} the team {bold(team)}"
    )
    return Message(f"{payload['organization']['login'].text()} / {team}", content, event)


def _team(delivery: Delivery, event: str) -> Outcome:
    payload = delivery.payload
    team, action = payload["team"].required(), payload["action"].text()
    topic = f"{payload['organization']['login'].text()} / {team['name'].text()}"
    shown = link(team["name"].text("a team"), team["html_url"].text())
    if action != "edited":
        return Message(topic, acted(sender(payload), text(action), f"the team {shown}"), event)
    changes, parts = payload["changes"], []
    if changes["name"]:
        parts.append(f"renamed it from {code(changes['name']['from'].text())}")
    if "description" in changes:
        parts.append(f"changed its description to {code(team['description'].text('nothing'))}")
    if changes["privacy"]:
        parts.append(f"made it {text(team['privacy'].text())}")
    content = f"{bold(sender(payload))} edited the team {shown}: {listed(parts) or 'its settings'}."
    return Message(topic, content, event)


def _team_add(delivery: Delivery, event: str) -> Outcome:
    payload = delivery.payload
    team = bold(payload["team"]["name"].text())
    content = f"The repository {linked_repository(payload)} was added to the team {team}."
    return about_repository(payload, event, content)


# -- sponsors


def _sponsorship(delivery: Delivery, event: str) -> Outcome:
    payload = delivery.payload
    action, sponsorship = payload["action"].required_text(), payload["sponsorship"].required()
    who = sponsorship["sponsor"]["login"].text() or sender(payload)
    tier = text(sponsorship["tier"]["name"].text())
    before = text(payload["changes"]["tier"]["from"]["name"].text())
    date = text(payload["effective_date"].text()[:10])
    since = f" on {date}" if date else ""
    level = f"from {before} to {tier}" if before else f"to {tier}"
    said = {
        "created": f"became a sponsor: {tier}",
        "cancelled": f"ended the sponsorship: {tier}",
        "edited": "changed who may see the sponsorship",
        "tier_changed": f"changed the sponsorship {level}",
        "pending_tier_change": f"will change the sponsorship {level}{since}",
        "pending_cancellation": f"will end the sponsorship{since}",
    }
    if action not in said:
        return Unknown(f"{event}.{action}")
    return Message("sponsors", f"{bold(who)} {said[action]}.", event)


def _milestone(delivery: Delivery, event: str) -> Outcome:
    payload = delivery.payload
    action, milestone = payload["action"].required_text(), payload["milestone"].required()
    if action not in ("created", "closed", "opened", "edited", "deleted"):
        return Unknown(f"{event}.{action}")
    shown = link(milestone["title"].text("a milestone"), milestone["html_url"].text())
    body = milestone["description"].text() if action == "created" else ""
    verb = "reopened" if action == "opened" else action
    content = acted(sender(payload), verb, f"the milestone {shown}", body=body)
    return about_repository(payload, event, content)


def _package(delivery: Delivery, event: str) -> Outcome:
    payload = delivery.payload
    package = payload.first("package", "registry_package").required()
    version = package["package_version"]
    name = f"{package['name'].text('a package')} {version['version'].text()[:80]}".strip()
    shown = link(name, version["html_url"].text() or package["html_url"].text())
    verb = text(payload["action"].text("published"))
    return about_repository(payload, event, acted(sender(payload), verb, f"the package {shown}"))


def _merge_group(delivery: Delivery, event: str) -> Outcome:
    del delivery
    return Ignored(event, "Branches of merge queues are temporary.")


def _ping(delivery: Delivery, event: str) -> Outcome:
    payload = delivery.payload
    full_name = payload["repository"]["full_name"].text() or payload["organization"]["login"].text()
    topic = payload["repository"]["name"].text() or payload["organization"]["login"].text("GitHub")
    where = link(full_name, payload["repository"]["html_url"].text()) or "GitHub"
    return Message(topic, f"The webhook of {where} works: GitHub has sent its first event.", event)


_READERS: Final[Mapping[str, Callable[[Delivery, str], Outcome]]] = {
    "check_run": _check_run,
    "commit_comment": commit_comment,
    "create": _create,
    "delete": _delete,
    "deployment": _deployment,
    "deployment_status": _deployment_status,
    "discussion": discussion,
    "discussion_comment": discussion_comment,
    "fork": _fork,
    "gollum": _gollum,
    "issue_comment": issue_comment,
    "issue_dependencies": issue_dependencies,
    "issues": issues,
    "member": _member,
    "membership": _membership,
    "merge_group": _merge_group,
    "milestone": _milestone,
    "package": _package,
    "page_build": _page_build,
    "ping": _ping,
    "public": _public,
    "pull_request": pull_request,
    "pull_request_review": pull_request_review,
    "pull_request_review_comment": pull_request_review_comment,
    "pull_request_review_thread": pull_request_review_thread,
    "push": _push,
    "registry_package": _package,
    "release": _release,
    "repository": _repository_event,
    "sponsorship": _sponsorship,
    "star": _star,
    "status": _status,
    "sub_issues": sub_issues,
    "team": _team,
    "team_add": _team_add,
    "watch": _watch,
    **_github_automation.EVENTS,
    **_github_settings.EVENTS,
}

INTEGRATIONS: Final = (
    Integration(
        name="github",
        display_name="GitHub",
        category=Category.VERSION_CONTROL,
        read=read,
        setup=paragraphs(
            "In the repository (or organization), open *Settings*, *Webhooks*, *Add webhook*.",
            "Paste `{url}` as *Payload URL*, and choose `application/json` as *Content type*.",
            "Choose the events to post, and save. GitHub sends a ping at once.",
        ),
        events=tuple(_READERS),
        headers=("X-GitHub-Event",),
        options=(BRANCHES, IGNORE_PRIVATE, PULL_REQUEST_TOPICS),
        delivery_id="X-GitHub-Delivery",
        has_unique_bodies=True,
        signatures=(HUB,),
        signing_step="Set the secret as *Secret* of the webhook.",
    ),
)

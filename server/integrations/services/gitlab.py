"""GitLab: webhooks of projects and groups, and system hooks."""

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
from server.integrations.builds import FAILED, lasted, stage_of, state_words
from server.integrations.markdown import bold, code, link, listed, paragraphs, text
from server.integrations.payload import Payload
from server.integrations.repositories import (
    HEADS,
    TAGS,
    Commit,
    acted,
    branch_deleted,
    branch_made,
    is_no_commit,
    pushed,
    repository_topic,
    thing_topic,
)
from server.integrations.services import _gitlab_system
from server.integrations.services._gitlab_threads import (
    emoji,
    issue,
    merge_request,
    merge_request_topic,
    note,
    project,
    user,
)
from server.integrations.signatures import STANDARD, Token

CONFIDENTIAL: Final = ("confidential_issue", "confidential_note")

_UNFINISHED: Final = {
    "created",
    "waiting_for_resource",
    "waiting_for_callback",
    "preparing",
    "pending",
    "running",
    "scheduled",
}


def read(delivery: Delivery) -> Outcome:
    """Turn a delivery into a message, by its kind or, of a system hook, its name."""
    payload = delivery.payload
    event = payload.first("object_kind", "event_name").required_text()
    visibility = payload["project"]["visibility_level"]
    if delivery.flag(IGNORE_PRIVATE) and visibility.exists and visibility.number(-1) == 0:
        return Ignored(event, "The project is private.")
    if event in _gitlab_system.EVENTS:
        return _gitlab_system.read(delivery, event)
    reader = _READERS.get(event)
    if reader is None:
        return Unknown(event)
    kind = payload["event_type"].text()
    return reader(delivery, kind if kind in CONFIDENTIAL else event)


def _about_project(payload: Payload, event: str, content: str) -> Message:
    return Message(repository_topic(project(payload)), content, event)


# -- pushes and tags


def _push(delivery: Delivery, event: str) -> Outcome:
    payload = delivery.payload
    branch = payload["ref"].required_text().removeprefix(HEADS)
    if not delivery.wants_branch(branch):
        return Ignored(event, f"The address does not ask for the branch {branch}.")
    topic = repository_topic(project(payload), branch=branch)
    if is_no_commit(payload["after"].text()):
        return Message(topic, branch_deleted(user(payload), branch), event)
    page = payload["project"]["web_url"].text() or payload["repository"]["homepage"].text()
    is_new = is_no_commit(payload["before"].text())
    if is_new and not payload["commits"]:
        made = branch_made(user(payload), branch, url=f"{page}/-/tree/{branch}" if page else "")
        return Message(topic, made, event)
    compared = f"{page}/-/compare/{payload['before'].text()}...{payload['after'].text()}"
    content = pushed(
        user(payload),
        branch,
        [
            Commit(
                each["id"].text(),
                each["message"].text(),
                each["url"].text(),
                each["author"]["name"].text(),
            )
            for each in payload["commits"]
        ],
        compare_url=compared if page and not is_new else "",
        total=payload["total_commits_count"].integer(),
    )
    return Message(topic, content, event)


def _tag_push(delivery: Delivery, event: str) -> Outcome:
    payload = delivery.payload
    tag = payload["ref"].required_text().removeprefix(TAGS)
    if is_no_commit(payload["after"].text()):
        return _about_project(payload, event, branch_deleted(user(payload), tag, kind="tag"))
    made = branch_made(user(payload), tag, kind="tag")
    page = payload["project"]["web_url"].text()
    if page:
        made = branch_made(user(payload), tag, url=f"{page}/-/tags/{tag}", kind="tag")
    return _about_project(payload, event, made)


# -- pipelines, jobs and deployments


def _pipeline(delivery: Delivery, event: str) -> Outcome:
    payload = delivery.payload
    pipeline = payload["object_attributes"].required()
    number, state = pipeline["id"].required_text(), pipeline["status"].required_text()
    if state in _UNFINISHED:
        return Ignored(event, "The pipeline has not been completed.")
    ref = pipeline["ref"].text()
    if not delivery.wants_branch(ref):
        return Ignored(event, f"The address does not ask for the branch {ref}.")
    page = payload["project"]["web_url"].text()
    url = pipeline["url"].text() or (f"{page}/-/pipelines/{number}" if page else "")
    name = pipeline["name"].text()
    label = f"Pipeline #{number}{f' {name}' if name else ''}"
    state_shown = state_words(state) + lasted(pipeline["duration"].number())
    commit = payload["commit"]
    first_line = commit["message"].text().split("\n", 1)[0]
    of = f" Last commit: {link(first_line, commit['url'].text())}." if first_line else ""
    content = f"{link(label, url)} of {code(ref)} {state_shown}.{of}"
    broken = listed(_failed_jobs(payload, page))
    artifacts = listed(_artifacts(payload, page))
    content = paragraphs(
        content,
        f"Failed: {broken}." if broken else "",
        f"Artifacts of {artifacts}." if artifacts else "",
    )
    request = payload["merge_request"]
    topic = repository_topic(project(payload), branch=ref)
    return Message(merge_request_topic(delivery, request) if request else topic, content, event)


def _failed_jobs(payload: Payload, page: str) -> list[str]:
    return [
        link(job["name"].text(), f"{page}/-/jobs/{job['id'].text()}" if page else "")
        for job in list(payload["builds"])[:30]
        if job["status"].text() == "failed" and not job["allow_failure"].flag()
    ][:10]


def _artifacts(payload: Payload, page: str) -> list[str]:
    return [
        link(job["name"].text(), f"{page}/-/jobs/{job['id'].text()}/artifacts/browse")
        for job in list(payload["builds"])[:30]
        if page and job["artifacts_file"]["filename"]
    ][:10]


def _build(delivery: Delivery, event: str) -> Outcome:
    payload = delivery.payload
    state, job_id = payload["build_status"].required_text(), payload["build_id"].text()
    if state in _UNFINISHED:
        return Ignored(event, "The job has not been completed.")
    ref = payload["ref"].text()
    if not delivery.wants_branch(ref):
        return Ignored(event, f"The address does not ask for the branch {ref}.")
    page = payload["project"]["web_url"].text() or payload["repository"]["homepage"].text()
    job = link(payload["build_name"].text("a job"), f"{page}/-/jobs/{job_id}" if page else "")
    shown = state_words(state)
    if shown == FAILED:
        shown += ", which is allowed" if payload["build_allow_failure"].flag() else ""
    else:
        shown += lasted(payload["build_duration"].number())
    stage = text(payload["build_stage"].text())
    content = f"Job {job} of stage {stage} of {code(ref)} {shown}."
    name = payload["repository"]["name"].text() or project(payload)
    return Message(repository_topic(name, branch=ref), content, event)


def _deployment(delivery: Delivery, event: str) -> Outcome:
    payload = delivery.payload
    state = payload["status"].required_text()
    if state in ("created", "blocked"):
        return Ignored(event, "The deployment has not started.")
    shown = link("Deployment", payload["deployable_url"].text())
    where = link(payload["environment"].text(), payload["environment_external_url"].text())
    commit = link(payload["short_sha"].text(), payload["commit_url"].text())
    content = f"{shown} of {code(payload['ref'].text()) or 'a commit'} ({commit}) to {where}"
    words = state_words(state)
    message = _about_project(payload, event, f"{content} {words}, by {bold(user(payload))}.")
    about = f"{payload['project']['id'].text()} {payload['deployment_id'].text()}"
    return replace(message, about=about, stage=stage_of(words))


# -- releases, wiki and the rest


def _release(delivery: Delivery, event: str) -> Outcome:
    payload = delivery.payload
    verbs = {"create": "published", "update": "changed", "delete": "deleted"}
    action = payload["action"].text("create")
    if action not in verbs:
        return Unknown(f"{event}.{action}")
    shown = link(payload.first("name", "tag").required_text(), payload["url"].text())
    body = payload["description"].text() if action == "create" else ""
    return _about_project(
        payload, event, acted("", f"The release {shown} was {verbs[action]}", "", body=body)
    )


def _wiki_page(delivery: Delivery, event: str) -> Outcome:
    payload = delivery.payload
    page = payload["object_attributes"].required()
    verbs = {"create": "created", "update": "edited", "delete": "deleted"}
    verb = verbs.get(page["action"].text(), "changed")
    shown = link(page["title"].required_text(), page["url"].text())
    changed = page["message"].text()
    content = acted(user(payload), verb, f"the wiki page {shown}", body=changed)
    return Message(repository_topic(project(payload), branch="wiki pages"), content, event)


def _feature_flag(delivery: Delivery, event: str) -> Outcome:
    payload = delivery.payload
    flag = payload["object_attributes"].required()
    verb = "switched on" if flag["active"].flag() else "switched off"
    content = acted(user(payload), verb, f"the feature flag {code(flag['name'].text())}")
    return _about_project(payload, event, content)


def _milestone(delivery: Delivery, event: str) -> Outcome:
    payload = delivery.payload
    milestone, action = payload["object_attributes"].required(), payload["action"].text("create")
    verbs = {"create": "opened", "close": "closed", "reopen": "reopened", "delete": "deleted"}
    if action not in verbs:
        return Unknown(f"{event}.{action}")
    title, number = milestone["title"].required_text(), milestone["iid"].text()
    due = text(milestone["due_date"].text())
    extra = f"(due on {due})" if due and action != "delete" else ""
    content = f"The milestone {bold(title)} was {verbs[action]}{f' {extra}' if extra else ''}."
    name = payload["project"]["name"].text() or payload["group"]["group_name"].text("GitLab")
    return Message(thing_topic(name, "milestone", number, title), content, event)


def _access_token(delivery: Delivery, event: str) -> Outcome:
    payload = delivery.payload
    token = payload["object_attributes"].required()
    of = payload["project"]["name"].text() or payload["group"]["group_name"].text("GitLab")
    date = text(token["expires_at"].text("soon"))
    content = (
        f":warning: The access token {code(token['name'].text())} of {bold(of)} expires: {date}."
    )
    return Message(of, content, event)


def _vulnerability(delivery: Delivery, event: str) -> Outcome:
    payload = delivery.payload
    found = payload["object_attributes"].required()
    title = found["title"].required_text()
    name = payload["project"]["name"].text("GitLab")
    shown = link(title, found["url"].text())
    severity = text(found["severity"].text("unknown").lower())
    state = text(found["state"].text("detected").lower())
    content = f":warning: Vulnerability {shown} is {state}. Severity: {severity}."
    return Message(f"{name} / vulnerability {title}", content, event)


_READERS: Final[Mapping[str, Callable[[Delivery, str], Outcome]]] = {
    "access_token": _access_token,
    "build": _build,
    "deployment": _deployment,
    "emoji": emoji,
    "feature_flag": _feature_flag,
    "issue": issue,
    "merge_request": merge_request,
    "milestone": _milestone,
    "note": note,
    "pipeline": _pipeline,
    "push": _push,
    "release": _release,
    "tag_push": _tag_push,
    "vulnerability": _vulnerability,
    "wiki_page": _wiki_page,
    "work_item": issue,
}

INTEGRATIONS: Final = (
    Integration(
        name="gitlab",
        display_name="GitLab",
        category=Category.VERSION_CONTROL,
        read=read,
        setup=paragraphs(
            "In the project (or group), open *Settings*, *Webhooks*, *Add new webhook*;"
            " administrators find *System Hooks* for all projects.",
            "Paste `{url}` as *URL*, and choose the triggers to post.",
            "Save, and use *Test* beside the webhook to send an event.",
        ),
        events=(*_READERS, *CONFIDENTIAL, *_gitlab_system.EVENTS),
        options=(BRANCHES, IGNORE_PRIVATE, PULL_REQUEST_TOPICS),
        delivery_id="Idempotency-Key",
        has_unique_bodies=True,
        signatures=(STANDARD, Token(header="X-Gitlab-Token")),
        signing_step=(
            "Generate a *Signing token* for the webhook, and copy it. Where GitLab has none yet,"
            " set the secret as *Secret token*."
        ),
    ),
)

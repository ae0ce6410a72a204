"""Azure DevOps: code, builds, releases and work items."""

from collections.abc import Callable, Mapping
from typing import Final

from server.integrations.base import (
    BRANCHES,
    PULL_REQUEST_TOPICS,
    Category,
    Delivery,
    Ignored,
    Integration,
    Message,
    Outcome,
    Stage,
    Unknown,
)
from server.integrations.builds import stage_of, state_words
from server.integrations.markdown import bold, code, link, listed, paragraphs, plain, text
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
from server.integrations.signatures import PASSWORD


def read(delivery: Delivery) -> Outcome:
    """Turn a delivery into a message, by its `eventType`."""
    event = delivery.payload["eventType"].required_text()
    reader = _READERS.get(event)
    return Unknown(event) if reader is None else reader(delivery, event)


def _name(person: Payload) -> str:
    """Return a name; work items have it as text, with an address."""
    name = person.text() or person.first("displayName", "uniqueName", "name").text()
    return name.split("<", 1)[0].strip()


def _page(repository: Payload) -> str:
    return repository.first("webUrl", "remoteUrl").text().rstrip("/")


def _link_in_message(payload: Payload) -> str:
    """Return the first address in the text that the service sends along."""
    _, found, rest = payload["message"]["markdown"].text().partition("](")
    return rest.partition(")")[0] if found else ""


# -- code


def _push(delivery: Delivery, event: str) -> Outcome:
    """Say what was pushed. Several branches or tags at once are one message."""
    resource = delivery.payload["resource"].required()
    repository = resource["repository"]["name"].required_text()
    who, said, topics = _name(resource["pushedBy"]) or "Someone", [], set()
    for update in list(resource["refUpdates"])[:10]:
        ref = update["name"].text()
        is_tag, name = ref.startswith(TAGS), ref.removeprefix(HEADS).removeprefix(TAGS)
        if not is_tag and not delivery.wants_branch(name):
            continue
        topics.add(repository_topic(repository, branch="" if is_tag else name))
        said.append(_update(resource, update, who, name, "tag" if is_tag else "branch"))
    if not said:
        return Ignored(event, "It has no changes of branches or tags that are asked for.")
    topic = topics.pop() if len(topics) == 1 else repository_topic(repository)
    return Message(topic, paragraphs(*said), event)


def _update(resource: Payload, update: Payload, who: str, name: str, kind: str) -> str:
    old, new, page = update["oldObjectId"].text(), update["newObjectId"].text(), ""
    page = _page(resource["repository"])
    version = "GT" if kind == "tag" else "GB"
    if is_no_commit(new):
        return branch_deleted(who, name, kind=kind)
    if kind == "tag" or (is_no_commit(old) and not resource["commits"]):
        return branch_made(who, name, url=f"{page}?version={version}{name}", kind=kind)
    commits = [
        Commit(
            each["commitId"].text(),
            each["comment"].text(),
            f"{page}/commit/{each['commitId'].text()}",
            each["author"]["name"].text(),
        )
        for each in resource["commits"]
    ]
    compared = f"{page}/branchCompare?baseVersion=GC{old}&targetVersion=GC{new}&_a=files"
    return pushed(who, name, commits, compare_url="" if is_no_commit(old) else compared)


def _pull(delivery: Delivery, pull: Payload) -> tuple[str, str]:
    """Return the topic of a pull request, and a link to it."""
    number, title = pull["pullRequestId"].required_text(), pull["title"].required_text()
    page = pull["_links"]["web"]["href"].text()
    page = page or f"{_page(pull['repository'])}/pullrequest/{number}"
    topic = pull_request_topic(delivery, pull["repository"]["name"].required_text(), number, title)
    return topic, link(f"PR #{number} {title}", page)


def _pull_request(delivery: Delivery, event: str) -> Outcome:
    payload = delivery.payload
    pull = payload["resource"].required()
    topic, shown = _pull(delivery, pull)
    names = ("sourceRefName", "targetRefName")
    branches = "from {} into {}".format(
        *(code(pull[each].text().removeprefix(HEADS)) for each in names)
    )
    author, status = _name(pull["createdBy"]) or "Someone", pull["status"].text()
    closer = _name(pull["closedBy"]) or author
    if event == "git.pullrequest.created":
        people = listed(bold(_name(each)) for each in pull["reviewers"])
        extra = f"{branches} (to be reviewed by {people})" if people else branches
        body = pull["description"].text()
        content = acted(author, "opened", shown, extra=extra, body=body)
    elif event == "git.pullrequest.merged":
        content = _merge(pull, shown, closer, branches)
    elif status in ("completed", "abandoned"):
        content = acted(closer, "completed" if status == "completed" else "abandoned", shown)
    else:
        # The payload does not say what was changed, but in the text that comes along.
        said = payload["message"]["text"].text().split("\n", 1)[0]
        content = f"{shown}: {text(said)}." if said else f"{shown} was changed."
    return Message(topic, content, event)


def _merge(pull: Payload, shown: str, closer: str, branches: str) -> str:
    if pull["status"].text() == "completed":
        return acted(closer, "merged", shown, extra=branches)
    states = {
        "succeeded": "is possible",
        "conflicts": "is not possible: there are conflicts",
        "failure": ":cross_mark: failed",
        "rejectedByPolicy": "is not allowed by a policy",
    }
    state = states.get(pull["mergeStatus"].text(), "was tried")
    return f"A merge of {shown} {branches} {state}."


def _comment(delivery: Delivery, event: str) -> Outcome:
    resource = delivery.payload["resource"].required()
    comment = resource["comment"].required()
    topic, shown = _pull(delivery, resource["pullRequest"].required())
    if comment["isDeleted"].flag():
        return Ignored(event, "The comment was deleted.")
    who = _name(comment["author"]) or "Someone"
    body = comment["content"].text()
    return Message(topic, acted(who, "left a comment on", shown, body=body), event)


def _repository_event(delivery: Delivery, event: str) -> Outcome:
    resource = delivery.payload["resource"].required()
    repository = resource["repository"]
    name = repository["name"].text() or resource["repositoryName"].required_text()
    verb = event.removeprefix("git.repo.")
    words = {"forked": "forked", "renamed": "renamed", "statuschanged": "disabled or enabled"}
    who = _name(resource["initiatedBy"]) or "Someone"
    shown = link(name, _page(repository))
    content = acted(who, words.get(verb, text(verb)), f"the repository {shown}")
    return Message(repository_topic(name), content, event)


# -- builds and releases


def _build(delivery: Delivery, event: str) -> Outcome:
    payload = delivery.payload
    build = payload["resource"].required()
    branch = build["sourceBranch"].text().removeprefix(HEADS)
    if branch and not delivery.wants_branch(branch):
        return Ignored(event, f"The address does not ask for the branch {branch}.")
    name = build["definition"]["name"].text("a build")
    page = build["_links"]["web"]["href"].text() or _link_in_message(payload)
    shown = link(build["buildNumber"].required_text(), page)
    state = state_words(build.first("result", "status").text("completed"))
    who = _name(build["requestedFor"]) or _name(build["requests"][0]["requestedFor"])
    by = f", for {bold(who)}" if who else ""
    of = f" of {code(branch)}" if branch else ""
    return Message(f"build {name}", f"Build {shown}{of} {state}{by}.", event)


def _run(delivery: Delivery, event: str) -> Outcome:
    payload = delivery.payload
    run = payload["resource"]["run"].required()
    state = run["result"].text() or run["state"].required_text()
    if not run["result"]:
        return Ignored(event, "The run has not been completed.")
    shown = link(run["name"].text("a run"), run["_links"]["web"]["href"].text())
    topic = _pipeline_topic(payload["resource"])
    return Message(topic, f"Run {shown} {state_words(state)}.", event)


def _stage(delivery: Delivery, event: str) -> Outcome:
    resource = delivery.payload["resource"].required()
    stage, run = resource["stage"].required(), resource["run"]
    name = stage.first("displayName", "name").text("a stage")
    if name == "__default":
        return Ignored(event, "The run has no stages: what is said of the run is posted.")
    if not stage["result"]:
        return Ignored(event, "The stage has not been completed.")
    shown = link(name, stage["_links"]["web"]["href"].text())
    state = state_words(stage["result"].text())
    content = f"Stage {shown} of run {bold(run['name'].text('?'))} {state}."
    return Message(_pipeline_topic(resource), content, event)


def _pipeline_topic(resource: Payload) -> str:
    name = resource["pipeline"]["name"].text() or resource["run"]["pipeline"]["name"].text()
    return f"pipeline {name}" if name else "pipelines"


def _approval(delivery: Delivery, event: str) -> Outcome:
    resource = delivery.payload["resource"].required()
    approval, run = resource["approval"].required(), resource["run"]
    shown = link(run["name"].text("a pipeline"), run["_links"]["web"]["href"].text())
    stage = resource["stage"].first("displayName", "name").text() or resource["stageName"].text()
    of = f"Stage {bold(stage)} of run {shown}" if stage else f"A run of {shown}"
    status, steps = approval["status"].text("pending"), list(approval["steps"])
    is_pending = status == "pending"
    people = dict.fromkeys(
        _name(each.first("actualApprover", "assignedApprover"))
        for each in steps
        if is_pending or each["status"].text() == status
    )
    names = listed(bold(name) for name in people)
    comments = "\n\n".join(each["comment"].text() for each in steps if each["comment"])
    content = acted(
        "",
        f"{of} {_APPROVALS.get(status, 'needs no approval any more')}",
        f"{'from' if is_pending else 'by'} {names}" if names else "",
        body=approval["instructions"].text() if is_pending else comments,
    )
    return Message(_pipeline_topic(resource), content, event)


_APPROVALS: Final = {
    "pending": "waits for approval",
    "approved": "was approved",
    "rejected": ":cross_mark: was rejected",
    "timedOut": ":cross_mark: was not approved in time",
}


def _job(delivery: Delivery, event: str) -> Outcome:
    del delivery
    return Ignored(event, "Of a run, its end and those of its stages are posted.")


def _release(delivery: Delivery, event: str) -> Outcome:
    resource = delivery.payload["resource"].required()
    environment = resource["environment"]
    release = resource["release"] or environment["release"] or resource["deployment"]["release"]
    name = release["name"].required_text()
    definition = release["releaseDefinition"]["name"].text() or environment["releaseDefinition"][
        "name"
    ].text(name)
    shown = link(name, release["_links"]["web"]["href"].text())
    where = environment["name"].text()
    to = f" to {code(where)}" if where else ""
    status = resource["deployment"]["deploymentStatus"].text() or environment["status"].text()
    last = event.rsplit(".", 1)[-1]
    said = {
        "release-created-event": f"Release {shown} was created.",
        "release-abandoned-event": f"Release {shown} was abandoned.",
        "deployment-started-event": f"The deployment of {shown}{to} has started.",
        "deployment-approval-pending-event": f"The deployment of {shown}{to} waits for approval.",
        "deployment-approval-completed-event": f"The approval of {shown}{to} is complete.",
        "deployment-completed-event": f"The deployment of {shown}{to}"
        f" {state_words(status or 'completed')}.",
    }
    stage = None
    if last == "deployment-started-event":
        stage = Stage.STARTED
    elif last == "deployment-completed-event":
        stage = stage_of(state_words(status or "completed"))
    about = f"{release['id'].text() or name} {environment['id'].text() or where}"
    return Message(f"release {definition}", said[last], event, about=about, stage=stage)


def _check_in(delivery: Delivery, event: str) -> Outcome:
    resource = delivery.payload["resource"].required()
    number = resource["changesetId"].required_text()
    shown = link(f"changeset {number}", _link_in_message(delivery.payload))
    who = _name(resource.first("checkedInBy", "author")) or "Someone"
    content = acted(who, "checked in", shown, body=resource["comment"].text())
    return Message("changesets", content, event)


# -- work items


def _work_item(delivery: Delivery, event: str) -> Outcome:
    resource = delivery.payload["resource"].required()
    item = resource["revision"] or resource
    fields, number = item["fields"], resource.first("workItemId", "id").required_text()
    kind = fields["System.WorkItemType"].text("work item")
    title = fields["System.Title"].text()
    project = fields["System.TeamProject"].text("Azure DevOps")
    page = resource["_links"]["html"]["href"].text() or item["_links"]["html"]["href"].text()
    shown = link(f"{kind} #{number} {title}", page or _link_in_message(delivery.payload))
    by = resource["revisedBy"] or fields["System.ChangedBy"] or fields["System.CreatedBy"]
    who, extra, body = _name(by) or "Someone", "", ""
    match event.removeprefix("workitem."):
        case "created":
            assignee = _name(fields["System.AssignedTo"])
            verb, extra = "created", f"(assigned to {bold(assignee)})" if assignee else ""
        case "commented":
            verb, body = "commented on", plain(fields["System.History"].text())
        case "updated":
            changes = listed(_field_changes(resource["fields"]))
            if not changes:
                return Ignored(event, "Nothing is said of what was changed.")
            verb, shown = "updated", f"{shown}: {changes}"
        case other:
            verb = text(other)
    content = acted(who, verb, shown, extra=extra, body=body)
    return Message(thing_topic(project, kind, number, title), content, event)


_FIELDS: Final = {
    "System.State": "state",
    "System.Title": "title",
    "System.AssignedTo": "assignee",
    "System.IterationPath": "iteration",
    "System.AreaPath": "area",
    "System.Tags": "tags",
    "Microsoft.VSTS.Common.Priority": "priority",
    "Microsoft.VSTS.Common.Severity": "severity",
}


def _field_changes(fields: Payload) -> list[str]:
    said = []
    for key, noun in _FIELDS.items():
        old, new = _name(fields[key]["oldValue"]), _name(fields[key]["newValue"])
        if old != new:
            said.append(f"{noun} from {code(old) or 'none'} to {code(new) or 'none'}")
    return said


_RELEASES: Final = (
    "ms.vss-release.release-created-event",
    "ms.vss-release.release-abandoned-event",
    "ms.vss-release.deployment-started-event",
    "ms.vss-release.deployment-approval-pending-event",
    "ms.vss-release.deployment-approval-completed-event",
    "ms.vss-release.deployment-completed-event",
)
_READERS: Final[Mapping[str, Callable[[Delivery, str], Outcome]]] = {
    "build.complete": _build,
    "git.pullrequest.created": _pull_request,
    "git.pullrequest.merged": _pull_request,
    "git.pullrequest.updated": _pull_request,
    "git.push": _push,
    "git.repo.created": _repository_event,
    "git.repo.deleted": _repository_event,
    "git.repo.forked": _repository_event,
    "git.repo.renamed": _repository_event,
    "git.repo.statuschanged": _repository_event,
    **dict.fromkeys(_RELEASES, _release),
    "ms.vss-code.git-pullrequest-comment-event": _comment,
    "ms.vss-pipelinechecks-events.approval-completed": _approval,
    "ms.vss-pipelinechecks-events.approval-pending": _approval,
    "ms.vss-pipelines.job-state-changed-event": _job,
    "ms.vss-pipelines.run-state-changed-event": _run,
    "ms.vss-pipelines.stage-state-changed-event": _stage,
    "tfvc.checkin": _check_in,
    "workitem.commented": _work_item,
    "workitem.created": _work_item,
    "workitem.deleted": _work_item,
    "workitem.restored": _work_item,
    "workitem.updated": _work_item,
}

INTEGRATIONS: Final = (
    Integration(
        name="azuredevops",
        display_name="Azure DevOps",
        category=Category.VERSION_CONTROL,
        read=read,
        setup=paragraphs(
            "In the project, open *Project settings*, *Service hooks*, *Create subscription*, and"
            " choose *Web Hooks*.",
            "Choose the event and its filters: each event is a subscription of its own.",
            "Paste `{url}` as *URL*, press *Test*, then *Finish*.",
        ),
        events=tuple(_READERS),
        options=(BRANCHES, PULL_REQUEST_TOPICS),
        signatures=(PASSWORD,),
        signing_step="Set the secret as *Basic authentication password*; any user name will do.",
    ),
)

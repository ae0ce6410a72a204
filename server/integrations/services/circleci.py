"""CircleCI: workflows and jobs that have ended."""

from typing import Final

from server.integrations.base import (
    BRANCHES,
    Category,
    Delivery,
    Ignored,
    Integration,
    Message,
    Outcome,
    Unknown,
)
from server.integrations.builds import state_words
from server.integrations.markdown import bold, code, link, paragraphs
from server.integrations.payload import Payload
from server.integrations.repositories import repository_topic
from server.integrations.signatures import Signature

WORKFLOW: Final = "workflow-completed"
JOB: Final = "job-completed"
PING: Final = "ping"


def read(delivery: Delivery) -> Outcome:
    """Turn a delivery into a message, by its `type`."""
    payload = delivery.payload
    event = payload["type"].required_text()
    if event == PING:
        name = bold(payload["webhook"]["name"].text("CircleCI"))
        return Message("CircleCI", f"The webhook {name} works: CircleCI has sent an event.", event)
    if event not in (WORKFLOW, JOB):
        return Unknown(event)
    project, branch = payload["project"]["name"].required_text(), _branch(payload["pipeline"])
    if branch and not delivery.wants_branch(branch):
        return Ignored(event, f"The address does not ask for the branch {branch}.")
    workflow = payload["workflow"].required()
    shown = link(workflow["name"].text("a workflow"), workflow["url"].text())
    if event == JOB:
        job = payload["job"].required()
        subject = f"Job {bold(job['name'].text())} of workflow {shown}"
        state = state_words(job["status"].required_text())
    else:
        subject, state = f"Workflow {shown}", state_words(workflow["status"].required_text())
    content = f"{subject}{f' of {code(branch)}' if branch else ''} {state}{_commit(payload)}."
    return Message(repository_topic(project, branch=branch), content, event)


def _branch(pipeline: Payload) -> str:
    return (
        pipeline["vcs"].first("branch", "tag").text()
        or pipeline["trigger_parameters"]["git"]["branch"].text()
    )


def _commit(payload: Payload) -> str:
    pipeline = payload["pipeline"]
    vcs, git = pipeline["vcs"], pipeline["trigger_parameters"]["git"]
    gitlab = pipeline["trigger_parameters"]["gitlab"]
    sha = vcs["revision"].text() or git["checkout_sha"].text()
    subject = vcs["commit"]["subject"].text() or gitlab["commit_title"].text()
    who = vcs["commit"]["author"]["name"].text() or gitlab["commit_author_name"].text()
    if not sha:
        return ""
    page = vcs["target_repository_url"].text() or gitlab["web_url"].text()
    provider = "gitlab" if gitlab else vcs["provider_name"].text()
    folder = {"bitbucket": "commits", "gitlab": "-/commit"}.get(provider, "commit")
    url = f"{page}/{folder}/{sha}" if page else ""
    by = f" by {bold(who)}" if who else ""
    return f" for commit {link(subject or sha[:10], url)}{by}"


INTEGRATIONS: Final = (
    Integration(
        name="circleci",
        display_name="CircleCI",
        category=Category.CONTINUOUS_INTEGRATION,
        read=read,
        setup=paragraphs(
            "In the project, open *Project Settings*, *Webhooks*, *Add Webhook*.",
            "Paste `{url}` as *Receiver URL*, and leave certificate verification on.",
            "Choose *Workflow Completed*, *Job Completed* or both, and save.",
        ),
        events=(WORKFLOW, JOB, PING),
        options=(BRANCHES,),
        has_unique_bodies=True,
        signatures=(Signature(header="circleci-signature", prefix="v1="),),
        signing_step="Set the secret as *Secret token* of the webhook.",
    ),
)

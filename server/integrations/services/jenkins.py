"""Jenkins, by its Notification plugin."""

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
from server.integrations.builds import STARTED, lasted, stage_of, state_words
from server.integrations.markdown import code, link, paragraphs
from server.integrations.payload import Payload

PHASES: Final = ("STARTED", "COMPLETED", "FINALIZED", "QUEUED")


def read(delivery: Delivery) -> Outcome:
    """Turn a delivery into a message, by the phase of the build."""
    payload = delivery.payload
    build = payload["build"].required()
    name = payload.first("display_name", "name").required_text()
    event = build["phase"].required_text()
    if event not in PHASES:
        return Unknown(event)
    if event in ("QUEUED", "COMPLETED"):
        return Ignored(event, "The phases STARTED and FINALIZED are posted.")
    branch = build["scm"]["branch"].text().removeprefix("origin/")
    if branch and not delivery.wants_branch(branch):
        return Ignored(event, f"The address does not ask for the branch {branch}.")
    shown = link(f"Build #{build['number'].required_text()}", build["full_url"].text())
    of = f" of {code(branch)}" if branch else ""
    state = STARTED if event == "STARTED" else _state(build)
    return Message(
        f"build {name}",
        f"{shown}{of} {state}{_commit(build)}.",
        event,
        about=build["full_url"].text(),
        stage=stage_of(state),
    )


def _state(build: Payload) -> str:
    state = state_words(build["status"].text("completed"))
    return state + lasted(build["duration"].number() / 1000)


def _commit(build: Payload) -> str:
    commit = build["scm"]["commit"].text()
    return f" (commit {code(commit[:10])})" if commit else ""


INTEGRATIONS: Final = (
    Integration(
        name="jenkins",
        display_name="Jenkins",
        category=Category.CONTINUOUS_INTEGRATION,
        read=read,
        setup=paragraphs(
            "Install the *Notification* plugin in *Manage Jenkins*, *Plugins*.",
            "In the job, under *Job Notifications*, add an endpoint with the format *JSON*, the"
            " protocol *HTTP* and the events *All Events*.",
            "Paste `{url}` as *URL*, and save.",
        ),
        events=PHASES,
        options=(BRANCHES,),
    ),
)

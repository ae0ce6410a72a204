"""Buildbot, by its reporters of builds."""

from typing import Final

from server.integrations.base import (
    Category,
    Delivery,
    Integration,
    Message,
    Outcome,
    Unknown,
)
from server.integrations.builds import FAILED, STARTED, SUCCEEDED, stage_of
from server.integrations.markdown import link, paragraphs
from server.integrations.signatures import PASSWORD

EVENTS: Final = ("new", "finished")

_RESULTS: Final = (
    SUCCEEDED,
    f"{SUCCEEDED}, with warnings",
    FAILED,
    "was skipped",
    ":cross_mark: had an exception",
    "will be retried",
    "was cancelled",
)


def read(delivery: Delivery) -> Outcome:
    """Turn a delivery into a message: a build that began or ended."""
    payload = delivery.payload
    event = payload["event"].text()
    if payload["builder"] and not event:  # a build as Buildbot's own data has it
        event = "finished" if payload["complete"].flag() else "new"
    if event not in EVENTS:
        return Unknown(event)
    name = payload["buildername"].text() or payload["builder"]["name"].required_text()
    result = payload["results"].integer(-1)
    ended = _RESULTS[result] if 0 <= result < len(_RESULTS) else "ended"
    state = STARTED if event == "new" else ended
    build = link(
        f"Build #{payload.first('number', 'buildid').required_text()}", payload["url"].text()
    )
    project = payload["project"].text()
    topic = f"{project} / {name}" if project else name
    return Message(
        topic,
        f"{build} {state}.",
        event,
        about=payload["url"].text(),
        stage=stage_of(state),
    )


INTEGRATIONS: Final = (
    Integration(
        name="buildbot",
        display_name="Buildbot",
        category=Category.CONTINUOUS_INTEGRATION,
        read=read,
        setup=paragraphs(
            "In the master's configuration, add `from buildbot.plugins import reporters`.",
            "Add `reporters.HttpStatusPush('{url}')` to `c['services']`, and reload the master.",
        ),
        events=EVENTS,
        signatures=(PASSWORD,),
        signing_step="Pass `auth=('bot', 'SECRET')` to `HttpStatusPush`.",
    ),
)

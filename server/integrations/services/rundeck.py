"""Rundeck: executions of jobs."""

from typing import Final

from server.integrations.base import (
    Category,
    Delivery,
    Integration,
    Message,
    Outcome,
    Stage,
    Unknown,
)
from server.integrations.builds import FAILED, STARTED, SUCCEEDED, lasted
from server.integrations.markdown import bold, link, paragraphs

_STATES: Final = {
    "start": STARTED,
    "success": SUCCEEDED,
    "failure": FAILED,
    "avgduration": ":warning: takes longer than usual",
    "retryablefailure": f"{FAILED} and will be retried",
}
_STAGES: Final = {"start": Stage.STARTED, "success": Stage.ENDED, "failure": Stage.FAILED}


def read(delivery: Delivery) -> Outcome:
    """Turn a delivery into a message, by its `trigger`."""
    payload = delivery.payload
    event = payload["trigger"].required_text()
    if event not in _STATES:
        return Unknown(event)
    execution = payload["execution"].required()
    job = execution["job"]
    name = job["name"].text() or execution["description"].text("a command")
    state = _STATES[event]
    if payload["status"].text() == "scheduled":
        state = "is scheduled"
    elif payload["status"].text() == "aborted":
        state = "was cancelled"
    started, ended = (
        execution[each]["unixtime"].number() for each in ("date-started", "date-ended")
    )
    lasting = lasted((ended - started) / 1000) if started and ended else ""
    number = execution["id"].text() or payload["executionId"].required_text()
    shown = link(f"Execution #{number}", execution["href"].text())
    of = link(name, job["permalink"].text())
    who = execution["user"].text()
    by = f", by {bold(who)}" if who else ""
    project = execution["project"].text() or job["project"].text("Rundeck")
    return Message(
        f"{project} / {name}",
        f"{shown} of {of} {state}{lasting}{by}.",
        event,
        about=execution["href"].text(),
        stage=_STAGES.get(event),
    )


INTEGRATIONS: Final = (
    Integration(
        name="rundeck",
        display_name="Rundeck",
        category=Category.CONTINUOUS_INTEGRATION,
        read=read,
        setup=paragraphs(
            "In the job, open *Notifications*, and add one of the type *Send Webhook* for each"
            " trigger.",
            "Paste `{url}` as *URL*, choose the format *JSON* and the method *POST*, and save.",
        ),
        events=tuple(_STATES),
    ),
)

"""TeamCity, by the tcWebHooks plugin."""

from typing import Final

from server.integrations.base import (
    BRANCHES,
    Category,
    Delivery,
    Ignored,
    Integration,
    Message,
    Outcome,
)
from server.integrations.builds import FAILED, STARTED, SUCCEEDED, stage_of, state_words
from server.integrations.markdown import bold, code, link, paragraphs, text

_DELTAS: Final = {"fixed": f"{SUCCEEDED} again", "broken": f"{FAILED}, and succeeded before"}
_NOTICES: Final = {
    "buildStarted": STARTED,
    "buildInterrupted": "was cancelled",
    "beforeBuildFinish": "",
    "buildFinished": "",
    "buildAddedToQueue": "",
    "changesLoaded": "",
}


def read(delivery: Delivery) -> Outcome:
    """Turn a delivery into a message, by its `notifyType`."""
    build = delivery.payload["build"].required()
    event = build["notifyType"].text("buildFinished")
    result = build["buildResult"].text()
    if event in ("beforeBuildFinish", "buildAddedToQueue", "changesLoaded"):
        return Ignored(event, "The beginning and the end of builds are posted.")
    branch = build.first("branchDisplayName", "branchName").text()
    if branch and not delivery.wants_branch(branch):
        return Ignored(event, f"The address does not ask for the branch {branch}.")
    name = build.first("buildFullName", "buildName").required_text()
    number = build["buildNumber"].text()
    root = build["rootUrl"].text()
    build_id = build["buildId"].text()
    url = build["buildStatusUrl"].text() or f"{root}/viewLog.html?buildId={build_id}"
    said = _NOTICES.get(event) or _DELTAS.get(build["buildResultDelta"].text())
    state = said or state_words(result or "completed")
    of = f" of {code(branch)}" if branch else ""
    status = text(build["buildStatus"].text())
    log = link("log", f"{root}/viewLog.html?buildId={build_id}&tab=buildLog") if root else ""
    changes = (
        link("changes", f"{root}/viewLog.html?buildId={build_id}&tab=buildChangesDiv")
        if root
        else ""
    )
    by = build["triggeredBy"].text()
    more = f" Started by {bold(by)}." if by else ""
    content = f"Build {link(number or build_id, url)}{of} {state}{f': {status}' if status else ''}."
    links = f" See the {changes} and the {log}." if log else ""
    return Message(
        name, f"{content}{more}{links}", event, about=f"{root} {build_id}", stage=stage_of(state)
    )


INTEGRATIONS: Final = (
    Integration(
        name="teamcity",
        display_name="TeamCity",
        category=Category.CONTINUOUS_INTEGRATION,
        read=read,
        setup=paragraphs(
            "Install the *tcWebHooks* plugin, and restart TeamCity.",
            "In the project, open *WebHooks & Templates*, *Edit project webhooks*, and add one.",
            "Paste `{url}` as *URL*, choose the payload format *JSON* and the events *On"
            " completion*, and save.",
        ),
        events=tuple(_NOTICES),
        options=(BRANCHES,),
    ),
)

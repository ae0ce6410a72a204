"""Netlify: deploys of sites."""

from typing import Final

from server.integrations.base import (
    BRANCHES,
    Category,
    Delivery,
    Ignored,
    Integration,
    Message,
    Outcome,
    Stage,
    Unknown,
)
from server.integrations.builds import FAILED, STARTED, SUCCEEDED, lasted
from server.integrations.markdown import bold, code, link, paragraphs, quote
from server.integrations.signatures import WebToken

_STATES: Final = {
    "deploy_building": STARTED,
    "deploy_created": SUCCEEDED,
    "deploy_failed": FAILED,
    "deploy_locked": "is locked: it stays published",
    "deploy_unlocked": "is unlocked: newer ones are published again",
    "deploy_request_pending": "waits for approval",
    "deploy_request_accepted": "was approved",
    "deploy_request_rejected": "was rejected",
    "deploy_deleted": "was deleted",
}
_STAGES: Final = {
    "deploy_building": Stage.STARTED,
    "deploy_created": Stage.ENDED,
    "deploy_failed": Stage.FAILED,
}


def read(delivery: Delivery) -> Outcome:
    """Turn a delivery into a message, by its `X-Netlify-Event`."""
    payload = delivery.payload
    event = delivery.header("X-Netlify-Event")
    if event not in _STATES:
        return Unknown(event)
    site, branch = payload["name"].required_text(), payload["branch"].text()
    if branch and not delivery.wants_branch(branch):
        return Ignored(event, f"The address does not ask for the branch {branch}.")
    url = payload.first("deploy_ssl_url", "deploy_url", "ssl_url", "url").text()
    log = payload["admin_url"].text()
    log = f" ({link('log', f'{log}/deploys/' + payload['id'].text())})" if log else ""
    of = f" of {code(branch)}" if branch else ""
    state = _STATES[event]
    if event == "deploy_created":
        state += lasted(payload["deploy_time"].number())
    who = payload["committer"].text()
    by = f", by {bold(who)}" if who else ""
    title = payload["title"].text() or payload["error_message"].text()
    content = f"{link('Deploy', url)}{of} {state}{by}{log}."
    if event == "deploy_failed":
        title = payload["error_message"].text() or title
    return Message(
        f"{site} / {branch}" if branch else site,
        paragraphs(content, quote(title)),
        event,
        about=payload["id"].text(),
        stage=_STAGES.get(event),
    )


INTEGRATIONS: Final = (
    Integration(
        name="netlify",
        display_name="Netlify",
        category=Category.CONTINUOUS_INTEGRATION,
        read=read,
        setup=paragraphs(
            "In the site's configuration, open *Notifications*, *Deploy notifications*, *Add"
            " notification*, *HTTP POST request*.",
            "Choose the event, paste `{url}` as the URL, and save: each event is one notification.",
        ),
        events=tuple(_STATES),
        headers=("X-Netlify-Event",),
        options=(BRANCHES,),
        signatures=(WebToken(header="X-Webhook-Signature", issuer="netlify"),),
        signing_step="Set the secret as *JWS secret token* of the notification.",
    ),
)

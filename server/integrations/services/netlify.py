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
from server.integrations.markdown import bold, code, link, paragraphs, quote, text
from server.integrations.payload import Payload
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
    "deploy_restored": "was published by hand",
}
_SPLIT_TESTS: Final = {
    "split_test_activated": "was activated",
    "split_test_deactivated": "was deactivated",
    "split_test_modified": "was changed",
}
_SUBMISSIONS: Final = ("submission_created", "form_submission")
_STAGES: Final = {
    "deploy_building": Stage.STARTED,
    "deploy_created": Stage.ENDED,
    "deploy_failed": Stage.FAILED,
}


def read(delivery: Delivery) -> Outcome:
    """Turn a delivery into a message, by its `X-Netlify-Event`."""
    payload = delivery.payload
    event = delivery.header("X-Netlify-Event")
    if event in _SUBMISSIONS:
        return _submission(payload, event)
    if event in _SPLIT_TESTS:
        return _split_test(payload, event)
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


def _submission(payload: Payload, event: str) -> Message:
    form = payload["form_name"].text()
    who = payload.first("name", "email").text()
    number = payload["number"].text()
    shown = f"Submission {text(number)}" if number else "A submission"
    of = f" of the form {bold(form)}" if form else ""
    by = f" by {bold(who)}" if who else ""
    said = payload.first("body", "summary").text()
    topic = form or payload["site_url"].text().partition("//")[2] or "forms"
    return Message(topic, paragraphs(f"{shown}{of}{by}.", quote(said)), event)


def _split_test(payload: Payload, event: str) -> Message:
    name = payload.first("name", "id").required_text()
    parts = [
        f"{code(each['branch'].text('?'))} {text(each['percentage'].text('?'))} %"
        for each in payload["branches"]
    ]
    between = f": {', '.join(parts)}" if parts else ""
    return Message(name, f"The split test {bold(name)} {_SPLIT_TESTS[event]}{between}.", event)


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
        events=(*_STATES, *_SUBMISSIONS, *_SPLIT_TESTS),
        headers=("X-Netlify-Event",),
        options=(BRANCHES,),
        has_unique_bodies=True,
        signatures=(WebToken(header="X-Webhook-Signature", issuer="netlify"),),
        signing_step="Set the secret as *JWS secret token* of the notification.",
    ),
)

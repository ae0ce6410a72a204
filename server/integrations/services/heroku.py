"""Heroku: webhooks of apps."""

from typing import Final

from server.integrations.base import (
    Category,
    Delivery,
    Ignored,
    Integration,
    Message,
    Outcome,
    Unknown,
)
from server.integrations.builds import state_words
from server.integrations.markdown import bold, code, paragraphs, text
from server.integrations.payload import Payload
from server.integrations.repositories import acted
from server.integrations.signatures import Signature

_VERBS: Final = {"create": "created", "update": "changed", "destroy": "removed"}
_KINDS: Final = (
    "api:addon",
    "api:addon-attachment",
    "api:app",
    "api:build",
    "api:collaborator",
    "api:domain",
    "api:formation",
    "api:release",
    "api:sni-endpoint",
    "dyno",
)


def read(delivery: Delivery) -> Outcome:
    """Turn a delivery into a message, by what it is about."""
    payload = delivery.payload
    include = payload["webhook_metadata"]["event"]["include"]
    resource = payload["resource"].text() or include.required_text()
    event = resource if resource == "dyno" or resource.startswith("api:") else f"api:{resource}"
    if event not in _KINDS:
        return Unknown(event)
    data, action = payload["data"].required(), payload["action"].text("update")
    app = data["app"]["name"].text() or data["name"].required_text()
    who = payload["actor"]["email"].text() or data["user"]["email"].text("Heroku")
    if event == "api:release":
        return _release(data, app, who, event)
    if event == "api:build":
        return _build(data, app, who, event)
    if event == "dyno":
        return _dyno(data, app, event)
    noun = event.removeprefix("api:").replace("-", " ")
    of = data.first("hostname", "type", "name")
    name = of.text() or data["user"]["email"].text()
    what = "the app" if event == "api:app" else f"the {text(noun)} {code(name)}".rstrip()
    return Message(app, acted(who, _VERBS.get(action, "changed"), what), event)


def _release(data: Payload, app: str, who: str, event: str) -> Outcome:
    if data["status"].text() == "pending":
        return Ignored(event, "The release has not been completed.")
    version = data["version"].required_text()
    about = text(data["description"].text())
    state = state_words(data["status"].text("succeeded"))
    content = f"Release {bold(f'v{version}')} by {bold(who)} {state}"
    return Message(app, f"{content}{f': {about}' if about else ''}.", event)


def _build(data: Payload, app: str, who: str, event: str) -> Outcome:
    if data["status"].text() == "pending":
        return Ignored(event, "The build has not been completed.")
    commit = code(data["source_blob"]["version"].text()[:10])
    of = f" of {commit}" if commit else ""
    state = state_words(data["status"].required_text())
    return Message(app, f"The build{of} by {bold(who)} {state}.", event)


def _dyno(data: Payload, app: str, event: str) -> Outcome:
    state = data["state"].required_text()
    if state not in ("crashed", "down"):
        return Ignored(event, "Of dynos crashes are posted.")
    exit_status = text(data["exit_status"].text())
    status = f" with exit status {exit_status}" if exit_status else ""
    verb = "crashed" if state == "crashed" else "is down"
    content = f":cross_mark: Dyno {code(data['name'].text())} {verb}{status}."
    return Message(app, content, event)


INTEGRATIONS: Final = (
    Integration(
        name="heroku",
        display_name="Heroku",
        category=Category.CONTINUOUS_INTEGRATION,
        read=read,
        setup=paragraphs(
            "In the app's dashboard, open *More*, *View webhooks*, *Create Webhook*.",
            "Paste `{url}` as *Payload URL*, and choose the events, such as `api:release`.",
            "Save. Instead, `heroku webhooks:add -i api:release -l notify -u` with the address.",
        ),
        events=_KINDS,
        has_unique_bodies=True,
        signatures=(Signature(header="Heroku-Webhook-Hmac-SHA256", encoding="base64"),),
        signing_step="Set the secret as *Secret* of the webhook; on the command line, with `-s`.",
    ),
)

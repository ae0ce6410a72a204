"""New Relic: issues, and incidents of its earlier alerts."""

from typing import Final

from server.integrations.alerts import (
    FIRING,
    RESOLVED,
    WARNING,
    facts,
    moment,
    stage_of,
    state,
    topic_with_id,
)
from server.integrations.base import Category, Delivery, Integration, Message, Outcome, Unknown
from server.integrations.markdown import bold, link, listed, paragraphs, quote, text
from server.integrations.payload import Payload
from server.integrations.signatures import PASSWORD

_STATES: Final = {
    "open": (FIRING, "Open"),
    "created": (FIRING, "Created"),
    "activated": (FIRING, "Active"),
    "acknowledged": (WARNING, "Acknowledged"),
    "closed": (RESOLVED, "Closed"),
    "deactivated": (RESOLVED, "Deactivated"),
}


def read(delivery: Delivery) -> Outcome:
    """Turn the state of an issue into a message."""
    payload = delivery.payload
    event = (payload["state"].text() or payload["current_state"].required_text()).lower()
    if event not in _STATES:
        return Unknown(event)
    emoji, word = _STATES[event]
    title = (
        _first(payload["title"])
        or _first(payload["condition_name"])
        or _first(payload["alertConditionNames"])
        or "Alert"
    )
    details = _first(payload["details"])
    url = payload.first("issueUrl", "incident_url").text()
    owner = payload["owner"].text()
    by = f" by {bold(owner)}" if owner and event == "acknowledged" else ""
    acknowledge = payload["incident_acknowledge_url"].text()
    can_acknowledge = acknowledge and emoji == FIRING
    is_new = emoji == FIRING
    content = paragraphs(
        state(emoji, word, f"{link(title, url)}{by}", severity=_severity(payload)),
        quote(details if details != title else ""),
        facts(
            ("Policy", listed(text(each) for each in _policies(payload))),
            ("Entities", listed(text(each.text()) for each in payload["impactedEntities"])),
            ("Since", moment(payload.first("createdAt", "timestamp")) if is_new else ""),
            ("Links", link("acknowledge", acknowledge) if can_acknowledge else ""),
        ),
    )
    identity = payload.first("incident_id", "issueId", "id").text()
    topic, stage = topic_with_id(title, identity), stage_of(emoji)
    return Message(topic, content, event, about=identity, stage=stage)


def _first(value: Payload) -> str:
    """Return a text, or the first of several."""
    return value.text() or value[0].text()


def _policies(payload: Payload) -> list[str]:
    names = [each.text() for each in payload["alertPolicyNames"]]
    return names or [payload["policy_name"].text()]


def _severity(payload: Payload) -> str:
    return payload.first("priority", "severity").text().lower()


INTEGRATIONS: Final = (
    Integration(
        name="newrelic",
        display_name="New Relic",
        category=Category.MONITORING,
        read=read,
        setup=(
            "Under *Alerts*, *Destinations*, add a *Webhook* with `{url}` as *Endpoint URL*.\n"
            "Under *Workflows*, add a workflow with a channel *Webhook* to the destination. The"
            " payload needs at least `id`, `state`, `createdAt`, `issueUrl` and `title`, which the"
            " default template has.\n"
            "Send a test notification, and activate the workflow."
        ),
        events=tuple(_STATES),
        signatures=(PASSWORD,),
        signing_step=(
            "Choose the authorization *Bearer token* for the destination, with the secret as token."
        ),
    ),
)

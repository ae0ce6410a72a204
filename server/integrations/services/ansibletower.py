"""Ansible Tower, AWX and the Ansible Automation Platform: jobs and updates."""

from typing import Final

from server.integrations.base import Category, Delivery, Integration, Message, Outcome
from server.integrations.builds import FAILED, stage_of, state_words
from server.integrations.markdown import bold, code, link, listed, paragraphs
from server.integrations.payload import Payload
from server.integrations.signatures import PASSWORD

EVENTS: Final = (
    "playbook",
    "project",
    "inventory",
    "command",
    "system",
    "workflow",
    "workflow_approval",
)
_HOSTS: Final = 20
"""Hosts that are listed; the others are counted."""
_NOUNS: Final = {
    "playbook": "Job",
    "project": "Project update",
    "inventory": "Inventory update",
    "command": "Command",
    "system": "System job",
    "workflow": "Workflow",
    "workflow_approval": "Approval",
}


def read(delivery: Delivery) -> Outcome:
    """Turn a delivery into a message: the state of a job."""
    payload = delivery.payload
    name, state = payload["name"].required_text(), payload["status"].required_text()
    event = _kind(payload)
    shown = link(f"{_NOUNS[event]} #{payload['id'].text()} {name}", payload["url"].text())
    who = payload["created_by"].text()
    by = f", by {bold(who)}" if who not in ("", "None") else ""  # as scheduled jobs have it
    words = state_words(state)
    content = f"{shown} {words}{by}."
    failed = _failed_hosts(payload["hosts"])
    count = len(payload["hosts"])
    hosts = ""
    if failed:
        more = f" and {len(failed) - _HOSTS} more" if len(failed) > _HOSTS else ""
        hosts = f"Failed on {listed(map(code, failed[:_HOSTS]))}{more} ({len(failed)} of {count})."
    elif count and words != FAILED:
        hosts = f"Hosts: {listed(code(each) for each, _ in _first(payload['hosts']))}."
    return Message(
        name,
        paragraphs(content, hosts),
        event,
        about=payload["url"].text(),
        stage=stage_of(words),
    )


def _kind(payload: Payload) -> str:
    """Return the event by the address of its page, which has it before the number."""
    parts = payload["url"].text().rstrip("/").split("/")
    found = parts[-2] if len(parts) > 1 else ""
    return found if found in EVENTS else "playbook"


def _failed_hosts(hosts: Payload) -> list[str]:
    return [
        name
        for name, each in hosts.fields()
        if each["failed"].flag() or each["failures"].integer() or each["dark"].integer()
    ]


def _first(hosts: Payload) -> list[tuple[str, Payload]]:
    return list(hosts.fields())[:_HOSTS]


INTEGRATIONS: Final = (
    Integration(
        name="ansibletower",
        display_name="Ansible Tower and AWX",
        category=Category.CONTINUOUS_INTEGRATION,
        read=read,
        setup=paragraphs(
            "Open *Notifications*, and add a notification template of the type *Webhook*.",
            "Paste `{url}` as *Target URL*, choose *POST*, and save.",
            "Switch it on in the *Notifications* of job templates, projects or inventories.",
        ),
        events=EVENTS,
        signatures=(PASSWORD,),
        signing_step="Set the secret as *Password* of the notification template; any name will do.",
    ),
)

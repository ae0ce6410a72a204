"""Nagios: notifications about hosts and services, sent by a command."""

from typing import Final

from server.integrations.alerts import FIRING, NEUTRAL, RESOLVED, WARNING, facts, state
from server.integrations.base import (
    Category,
    Delivery,
    Integration,
    Message,
    Outcome,
    Stage,
    Unknown,
)
from server.integrations.markdown import bold, code_block, one_line, paragraphs, text

_KINDS: Final = {
    "PROBLEM": (FIRING, "Problem"),
    "RECOVERY": (RESOLVED, "Recovery"),
    "ACKNOWLEDGEMENT": (NEUTRAL, "Acknowledged"),
    "FLAPPINGSTART": (WARNING, "Flapping"),
    "FLAPPINGSTOP": (RESOLVED, "No longer flapping"),
    "FLAPPINGDISABLED": (NEUTRAL, "Flapping is no longer detected"),
    "DOWNTIMESTART": (NEUTRAL, "Downtime began"),
    "DOWNTIMEEND": (NEUTRAL, "Downtime ended"),
    "DOWNTIMECANCELLED": (NEUTRAL, "Downtime was cancelled"),
    "CUSTOM": (NEUTRAL, "Note"),
}
_STAGES: Final = {"PROBLEM": Stage.FIRING, "RECOVERY": Stage.RESOLVED}
_MILD: Final = ("WARNING", "UNKNOWN")


def read(delivery: Delivery) -> Outcome:
    """Turn a notification into a message, by its type."""
    payload = delivery.payload
    kind, host = payload["type"].required_text().upper(), payload["host"].required_text()
    if kind not in _KINDS:
        return Unknown(kind)
    emoji, word = _KINDS[kind]
    service = payload["service"].text()
    of = "service" if service else "host"
    current = payload[f"{of}_state"].text()
    if kind == "PROBLEM" and current.upper() in _MILD:
        emoji = WARNING
    shown = f"{bold(service)} on {bold(host)}" if service else f"host {bold(host)}"
    if current:
        shown += f" is {bold(current)}"
    content = paragraphs(
        state(emoji, word, shown),
        code_block(payload[f"{of}_output"].text()),
        facts(("By", bold(payload["author"].text())), ("Comment", text(payload["comment"].text()))),
    )
    about = f"{host}: {service}" if service else host
    stage = _STAGES.get(kind)
    return Message(one_line(about), content, kind.lower(), about=about, stage=stage)


_MACROS: Final = {
    "type": "NOTIFICATIONTYPE",
    "host": "HOSTNAME",
    "host_state": "HOSTSTATE",
    "host_output": "HOSTOUTPUT",
    "service": "SERVICEDESC",
    "service_state": "SERVICESTATE",
    "service_output": "SERVICEOUTPUT",
    "author": "NOTIFICATIONAUTHOR",
    "comment": "NOTIFICATIONCOMMENT",
}
_OBJECT: Final = ", ".join(f"{key}: .NAGIOS_{macro}" for key, macro in _MACROS.items())

INTEGRATIONS: Final = (
    Integration(
        name="nagios",
        display_name="Nagios",
        category=Category.MONITORING,
        read=read,
        setup=(
            "Set `enable_environment_macros=1` in `nagios.cfg`, and install `jq` and `curl`.\n"
            f"Define a command with the line `jq -n 'env | {{{_OBJECT}}}' |"
            " curl -fsS -H 'Content-Type: application/json' --data-binary @- '{url}'`.\n"
            "Define a contact with the command as its `host_notification_commands` and"
            " `service_notification_commands`, and reload Nagios."
        ),
        events=tuple(kind.lower() for kind in _KINDS),
    ),
)

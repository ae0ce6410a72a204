"""Zabbix: problems, sent by a media type that is a webhook."""

from typing import Final

from server.integrations.alerts import FIRING, RESOLVED, facts, mark, state
from server.integrations.base import (
    Category,
    Delivery,
    Integration,
    Message,
    Outcome,
    Stage,
    Unknown,
)
from server.integrations.markdown import bold, link, one_line, paragraphs, quote, text
from server.integrations.payload import Payload

_EVENTS: Final = {"problem": "problem", "ok": "ok", "resolved": "ok"}


def read(delivery: Delivery) -> Outcome:
    """Turn a problem, its update or its end into a message."""
    payload = delivery.payload
    host, trigger = payload["hostname"].required_text(), payload["trigger"].required_text()
    status = payload["status"].required_text()
    event = _EVENTS.get(status.lower())
    if event is None:
        return Unknown(status)
    severity, update = _filled(payload["severity"]), _filled(payload["update"])
    if update:
        event = "update"
    word = {"ok": "Resolved", "update": "Update"}.get(event, "Problem")
    emoji = {"ok": RESOLVED, "update": ""}.get(event, mark(severity) or FIRING)
    who = _filled(payload["user"]) if update else ""
    content = paragraphs(
        state(emoji, word, link(trigger, payload["link"].text()), severity=severity.lower()),
        quote(update),
        facts(
            ("Host", bold(host)),
            ("Item", text(_filled(payload["item"]))),
            ("By", bold(who)),
        ),
    )
    about = f"{host}: {trigger}"
    stage = {"problem": Stage.FIRING, "ok": Stage.RESOLVED}.get(event)
    return Message(one_line(about), content, event, about=about, stage=stage)


def _filled(value: Payload) -> str:
    """Return the value of a macro; empty if Zabbix did not know it."""
    found = value.text()
    is_macro = found.startswith("{") and found.endswith("}")
    return "" if is_macro or found == "*UNKNOWN*" else found


_PARAMETERS: Final = {
    "url": "{url}",
    "hostname": "{HOST.NAME}",
    "severity": "{EVENT.SEVERITY}",
    "status": "{EVENT.STATUS}",
    "item": "{ITEM.NAME1}: {ITEM.VALUE1}",
    "trigger": "{EVENT.NAME}",
    "link": "{$ZABBIX.URL}/tr_events.php?triggerid={TRIGGER.ID}&eventid={EVENT.ID}",
    "update": "{EVENT.UPDATE.MESSAGE}",
    "user": "{USER.FULLNAME}",
}

INTEGRATIONS: Final = (
    Integration(
        name="zabbix",
        display_name="Zabbix",
        category=Category.MONITORING,
        read=read,
        setup=(
            "Under *Alerts*, *Media types*, create a media type of the type *Webhook* with the"
            " parameters "
            + ", ".join(f"`{name}` = `{value}`" for name, value in _PARAMETERS.items())
            + ".\nAs its script, paste `var request = new HttpRequest();"
            " request.addHeader('Content-Type: application/json');"
            " request.post(JSON.parse(value).url, value); return 'OK';`, and add message templates"
            " for problems, their updates and recoveries.\n"
            "Set the global macro `{$ZABBIX.URL}`, give a user the media, and name the user in an"
            " action under *Trigger actions*, also for recoveries and updates."
        ),
        events=("problem", "ok", "update"),
    ),
)

"""Airbrake: errors."""

from typing import Final

from server.integrations.alerts import FIRING, facts, moment, state
from server.integrations.base import Category, Delivery, Integration, Message, Outcome
from server.integrations.markdown import code, link, one_line, paragraphs
from server.integrations.payload import Payload


def read(delivery: Delivery) -> Outcome:
    """Turn an error into a message."""
    payload = delivery.payload
    error = payload["error"].required()
    kind, message = error["error_class"].text(), error["error_message"].text()
    title = ": ".join(part for part in (kind, message) if part) or "Error"
    times = error["times_occurred"].integer()
    content = paragraphs(
        state(FIRING, "Error", link(title, payload["airbrake_error_url"].text())),
        facts(
            ("Project", code(error["project"]["name"].text())),
            ("Environment", code(error["environment"].text())),
            ("In", code(_place(error))),
            ("Request", code(error["last_notice"]["request_url"].text())),
            ("Occurrences", str(times) if times > 1 else ""),
            ("Since", moment(error["first_occurred_at"]) if times > 1 else ""),
            ("Last", moment(error["last_occurred_at"])),
        ),
    )
    return Message(one_line(title), content)


def _place(error: Payload) -> str:
    file, line = error["file"].text(), error["line_number"].text()
    return (
        f"{file}:{line}" if file and line else file or error["last_notice"]["backtrace"][0].text()
    )


INTEGRATIONS: Final = (
    Integration(
        name="airbrake",
        display_name="Airbrake",
        category=Category.MONITORING,
        read=read,
        setup=(
            "In the project's settings, open *Integrations*, and choose *Webhook*.\n"
            "Paste `{url}` as *URL*, and save."
        ),
    ),
)

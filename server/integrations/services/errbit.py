"""Errbit: problems, which are errors of one kind."""

from typing import Final

from server.integrations.alerts import FIRING, RESOLVED, facts, moment, state
from server.integrations.base import Category, Delivery, Integration, Message, Outcome
from server.integrations.markdown import code, link, one_line, paragraphs, text


def read(delivery: Delivery) -> Outcome:
    """Turn a problem into a message."""
    problem = delivery.payload["problem"].required()
    kind, message = problem["error_class"].text(), problem["message"].text()
    title = message if message.startswith(kind) else f"{kind}: {message}".removesuffix(": ")
    is_resolved, where = problem["resolved"].flag(), problem["where"].text()
    content = paragraphs(
        state(
            RESOLVED if is_resolved else FIRING,
            "Resolved" if is_resolved else "Error",
            link(title or "Error", problem["url"].text()),
        ),
        facts(
            ("Application", code(problem["app_name"].text())),
            ("Environment", code(problem["environment"].text())),
            ("In", code("" if where == "unknown" else where)),
            ("Occurrences", text(problem["notices_count"].text())),
            ("First", moment(problem["first_notice_at"])),
            ("Last", moment(problem["last_notice_at"])),
        ),
    )
    return Message(one_line(title or "Error"), content)


INTEGRATIONS: Final = (
    Integration(
        name="errbit",
        display_name="Errbit",
        category=Category.MONITORING,
        read=read,
        setup=(
            "Edit the application in Errbit, and choose *WebHook* as its notification service.\n"
            "Paste `{url}` as *URL*, choose after how many errors it is called, and save."
        ),
    ),
)

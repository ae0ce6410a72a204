"""Dropbox: that files have changed; its notices do not say which."""

from typing import Final

from server.integrations.base import Category, Delivery, Integration, Message, Outcome
from server.integrations.markdown import counted, link, paragraphs
from server.integrations.signatures import Signature

PAGE: Final = "https://www.dropbox.com/home"


def read(delivery: Delivery) -> Outcome:
    """Turn a delivery into a message."""
    payload = delivery.payload
    accounts = payload["list_folder"]["accounts"] or payload["delta"]["users"]
    number = len(accounts.required())
    of = f" of {counted(number, 'account')}" if number > 1 else ""
    return Message("Dropbox", f"Files{of} have changed in {link('Dropbox', PAGE)}.", "")


INTEGRATIONS: Final = (
    Integration(
        name="dropbox",
        display_name="Dropbox",
        category=Category.AUTOMATION,
        read=read,
        setup=paragraphs(
            "Create an app in Dropbox's *App Console*, and open its settings.",
            "Paste `{url}` as *Webhook URI*, and press *Add*; Dropbox checks the address at once.",
            "Accounts that have connected the app are watched.",
        ),
        signatures=(Signature(header="X-Dropbox-Signature"),),
        signing_step="Copy the *App secret* of the app.",
    ),
)

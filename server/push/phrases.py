"""Texts of notifications that the server itself writes, in the users' languages."""

from functools import cache
from typing import Final, NamedTuple

from server.i18n import catalogue_language, in_any_catalogue, marked
from server.i18n.catalogues import catalogue


class PushPhrases(NamedTuple):
    mentioned_you: str
    mentioned_group: str
    mentioned_everyone: str
    new_message: str
    """Replaces message content that may not be shown."""
    test_title: str
    test_body: str
    unknown_user: str
    reactions: str


ENGLISH: Final = PushPhrases(
    marked("{name} mentioned you:"),
    marked("{name} mentioned @{group}:"),
    marked("{name} mentioned everyone:"),
    marked("New message"),
    marked("Test notification"),
    marked("This is a test notification from {realm} ({url})."),
    marked("Unknown user"),
    marked("Reactions to your message"),
)


@cache
def phrases_in(code: str) -> PushPhrases:
    """Return the texts in a display language, in its main form (`pt-br`: `pt`), or in English."""
    translations = catalogue(catalogue_language(code, in_any_catalogue()))
    return PushPhrases(*map(translations.gettext, ENGLISH))

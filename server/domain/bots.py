"""Kinds of bots, and the rules of who may create and manage one."""

import re
from typing import Final

from server.domain.access import OWNER, GroupGraph, Person
from server.domain.errors import BadRequestError
from server.domain.realm_settings import RealmSettings
from server.i18n import _
from storage.users import UserRow

GENERIC: Final = 1
INCOMING_WEBHOOK: Final = 2
OUTGOING_WEBHOOK: Final = 3
EMBEDDED: Final = 4
BOT_TYPES: Final = (GENERIC, INCOMING_WEBHOOK, OUTGOING_WEBHOOK, EMBEDDED)

MAX_SHORT_NAME_LENGTH: Final = 60
_SHORT_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*")


def email_of_bot(short_name: str, domain: str) -> str:
    """Return the address of a bot with this name; raise BadRequestError."""
    name = short_name.strip()
    if len(name) > MAX_SHORT_NAME_LENGTH or _SHORT_NAME.fullmatch(name) is None:
        raise BadRequestError(
            _("Bad name or username: use letters, digits, dots, dashes, underscores and plus.")
        )
    return f"{name.lower()}-bot@{domain}"


def check_may_have_bots(person: Person) -> None:
    """Raise BadRequestError for bots and guests."""
    if person.is_bot or person.is_guest:
        raise BadRequestError(_("Insufficient permission"))


def check_may_create(
    bot_type: int, person: Person, graph: GroupGraph, settings: RealmSettings
) -> None:
    """Raise BadRequestError unless the person may create a bot of this kind."""
    if bot_type not in BOT_TYPES:
        raise BadRequestError(_("Invalid bot type"))
    check_may_have_bots(person)
    # Not can_create_write_only_bots_group: there are no write-only bots.
    if not graph.contains(settings.permission("can_create_bots_group", graph), person):
        raise BadRequestError(_("Insufficient permission"))
    if bot_type == EMBEDDED:
        raise BadRequestError(_("Embedded bots are not enabled."))


def check_role_of_bot(role: int, owner: UserRow | None) -> None:
    """Raise BadRequestError unless a bot of this owner may have the role.

    Administrators can read the keys of all bots: an owner's role would make owners of them.
    """
    if role == OWNER:
        raise BadRequestError(_("Bots cannot be organization owners."))
    if owner is not None and role < owner.role:
        raise BadRequestError(_("A bot cannot have a higher role than its owner."))


def looks_after(person: Person, bot: UserRow) -> bool:
    """Return whether the person may change the bot, and read its key."""
    if person.is_bot or person.is_guest:
        return False
    return person.is_administrator or bot.bot_owner_id == person.user_id

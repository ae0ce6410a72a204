"""Notify the owners of what officers do, by messages of the notification bot."""

from typing import Final

import msgspec

from server.actions.messages.notices import Notice, deliver, drafts
from server.actions.stepped_work import Step, SteppedWorkKind, put_off
from server.domain.access import OWNER
from server.domain.user_settings import UserSettings
from server.i18n import Text, catalogue_language, translated
from server.transactions import Tx
from storage import users


class OwnerNotices(msgspec.Struct, frozen=True, kw_only=True):
    """Messages to owners, each in the reader's language."""

    notices: list[Notice]


async def notify_owners(tx: Tx, text: Text) -> str | None:
    """Put off a message to each owner; return the work's id, to be finished after the commit."""
    connection = await tx.connection()
    roles = await users.ids_by_role(connection, tx.realm_id, without_bots=True)
    rows = await users.by_ids(connection, tx.realm_id, list(roles.get(OWNER, ())))
    notices = [
        Notice(
            to=[row.user_id],
            content=translated(
                text, catalogue_language(UserSettings.of(row.settings).default_language)
            ),
        )
        for row in rows
    ]
    return await put_off(tx, OWNER_NOTICES, OwnerNotices(notices=notices), done=None)


async def _no_steps(tx: Tx, plan: OwnerNotices, step: Step) -> int | None:
    del tx, plan, step
    return None


OWNER_NOTICES: Final = SteppedWorkKind(
    "compliance_notices", OwnerNotices, 1, _no_steps, drafts, deliver
)

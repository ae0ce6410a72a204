"""Use a message's widget: vote, add tasks."""

from datetime import datetime

from server.actions.messages.audience import of_message
from server.actions.messages.subject import lock_place
from server.actions.user_topics import participate
from server.domain.actor import Actor
from server.domain.errors import BadRequestError
from server.domain.widgets import MSG_TYPE, check_submessage
from server.events.submessages import SubmessageAdded
from server.i18n import _
from server.transactions import Tx
from storage import submessages
from storage.ids import MessageId


async def add_submessage(
    tx: Tx, actor: Actor, message_id: MessageId, msg_type: str, content: str, *, now: datetime
) -> None:
    """Attach a submessage to a widget that the actor can see; publish it to its readers.

    It counts as participation in the topic, which may give them a policy for it.
    """
    if msg_type != MSG_TYPE:
        raise BadRequestError(_("Invalid msg_type: {msg_type!r}", msg_type=msg_type))
    place = await lock_place(tx, actor, message_id)
    first = await submessages.first_of(await tx.connection(), tx.realm_id, place.id)
    check_submessage(
        None if first is None else first.content,
        content,
        is_author=place.sender_id == actor.user_id,
    )
    event = SubmessageAdded(
        message_id=place.id, sender_id=actor.user_id, msg_type=msg_type, content=content
    )
    entry = tx.append(event, await of_message(tx, place, actor.user_id))
    tx.at_position(
        entry, submessages.insert(tx.realm_id, place.id, actor.user_id, msg_type, content)
    )
    await participate(tx, actor, entry, place, now=now)

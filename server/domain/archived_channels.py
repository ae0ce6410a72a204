"""What archived channels refuse.

They stay readable. No message is sent, edited, moved, deleted, reacted to or reported there, nor is
typing published, and topics get no new policy (server/actions/user_topics.py). They take no
subscribers from default channels or invitations, and serve the organization's settings and bots as
nothing; link previews are not added.
"""

from typing import Final

from server.domain.errors import BadRequestError
from server.i18n import _
from storage.channels import ChannelRow

CANNOT_BE_CHANGED: Final = _("Messages of an archived channel cannot be changed")


def check_accepts_messages(channel: ChannelRow) -> None:
    """Raise BadRequestError for a channel to which nothing is sent any more."""
    if channel.is_archived:
        raise BadRequestError(_("Not authorized to send to channel '{name}'", name=channel.name))


def check_messages_may_change(*, is_archived: bool) -> None:
    """Raise BadRequestError where messages stay as they are: text, topic, reactions, existence."""
    if is_archived:
        raise BadRequestError(CANNOT_BE_CHANGED)

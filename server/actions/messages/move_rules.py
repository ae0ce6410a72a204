"""Rules of moves: which place messages may get, and how old they may be."""

from datetime import timedelta
from typing import Final

from server.actions.messages.decide import check_topic_policy
from server.actions.messages.subject import Placement, is_subscribed
from server.domain.access import MODERATOR
from server.domain.channels import Standing
from server.domain.errors import BadRequestError
from server.domain.resolved_topics import changes_only_marks
from server.i18n import _
from server.transactions import Tx
from storage.channels import ChannelRow

NOT_PERMITTED: Final = _("You don't have permission to move this message")
NO_TOPICS: Final = _("Direct messages cannot have topics.")
NOT_TO_CHANNELS: Final = _("Direct messages cannot be moved to channels.")


async def target_channel(tx: Tx, placement: Placement) -> ChannelRow:
    """Return the target channel, if the actor may send there. Raises BadRequestError."""
    channel, old = placement.new_channel, placement.channel
    if channel is not None and old is not None and channel.channel_id == old.channel_id:
        return channel
    if channel is not None:
        is_in = await is_subscribed(tx, placement.actor, channel.channel_id)
        if placement.standing.posts(channel, subscribed=is_in):
            return channel
        if placement.standing.sees(channel, subscribed=is_in):
            raise BadRequestError(
                _("Not authorized to send to channel '{name}'", name=channel.name)
            )
    raise BadRequestError(_("Invalid channel ID"))


def check_move(placement: Placement) -> timedelta | None:
    """Return the maximum age of messages that the actor may move so; None: no limit.

    Raises BadRequestError if the actor may not move any. Whether the topic may be new is not
    checked.
    """
    assert placement.topic is not None
    assert placement.new_channel is not None
    crosses, renames = crosses_channels(placement), placement.new_topic_name != placement.topic.name
    _check_permitted(placement, crosses=crosses, renames=renames)
    if crosses or renames:
        settings = placement.context.settings
        check_topic_policy(placement.new_channel, placement.new_topic_name, settings)
    if resolves(placement):
        return None
    return _age_limit(placement, crosses=crosses, renames=renames)


def crosses_channels(placement: Placement) -> bool:
    """Return whether the requested place is in another channel."""
    old, new = placement.channel, placement.new_channel
    return old is not None and new is not None and old.channel_id != new.channel_id


def resolves(placement: Placement) -> bool:
    """Return whether the topic is only resolved or unresolved."""
    assert placement.topic is not None
    is_marked = changes_only_marks(placement.topic.name, placement.new_topic_name)
    return is_marked and not crosses_channels(placement)


def _check_permitted(placement: Placement, *, crosses: bool, renames: bool) -> None:
    if crosses and not _permits(
        placement,
        "can_move_messages_between_channels_group",
        "can_move_messages_out_of_channel_group",
    ):
        raise BadRequestError(NOT_PERMITTED)
    if not renames:
        return
    if resolves(placement):
        if not _permits(placement, "can_resolve_topics_group", "can_resolve_topics_group"):
            raise BadRequestError(_("You don't have permission to resolve topics."))
        return
    assert placement.channel is not None
    if not may_rename_topics(placement.standing, placement.channel):
        raise BadRequestError(_("You don't have permission to edit this message"))


def may_rename_topics(standing: Standing, channel: ChannelRow) -> bool:
    """Return whether the organization or the channel lets them move messages between topics."""
    return standing.realm_permits("can_move_messages_between_topics_group") or (
        standing.channel_permits(channel, "can_move_messages_within_channel_group")
    )


def _permits(placement: Placement, of_realm: str, of_channel: str) -> bool:
    return placement.standing.realm_permits(of_realm) or placement.channel_permits(of_channel)


def _age_limit(placement: Placement, *, crosses: bool, renames: bool) -> timedelta | None:
    if placement.actor.row.role <= MODERATOR:
        return None
    settings = placement.context.settings
    limits = [
        settings.move_messages_between_streams_limit_seconds if crosses else None,
        settings.move_messages_within_stream_limit_seconds if renames else None,
    ]
    given = [limit for limit in limits if limit is not None]
    return timedelta(seconds=min(given)) if given else None

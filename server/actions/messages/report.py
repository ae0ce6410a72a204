"""Report a message to the realm's moderators."""

from typing import Final

from server.actions.messages import notices
from server.actions.messages.decide import OutgoingMessage
from server.actions.realm_services import RealmServices
from server.domain.actor import Actor
from server.domain.errors import BadRequestError, DomainError
from server.domain.markdown.writing import mention, quoted, topic_link
from server.domain.realm_settings import NO_CHANNEL, RealmSettings
from server.domain.reports import ReportType
from server.i18n import _, marked, translated
from server.realm_cache import RealmCache
from storage import conversations, message_edits
from storage.database import Connection
from storage.ids import ChannelId, MessageId, TopicId
from storage.message_edits import ChangingRow

MAX_DESCRIPTION_LENGTH: Final = 1_000
MAX_QUOTED_LENGTH: Final = 5_000
"""Maximum quoted length of the message; the rest is behind the link."""
TOPIC: Final = "reported messages"
_SUMMARIES: Final[dict[ReportType, str]] = {
    "spam": marked("{person} reported {message} of {sender} for spam."),
    "harassment": marked("{person} reported {message} of {sender} for harassment."),
    "inappropriate": marked("{person} reported {message} of {sender} for inappropriate content."),
    "norms": marked("{person} reported {message} of {sender} for a violation of community norms."),
    "other": marked("{person} reported {message} of {sender} for another reason."),
}


async def report(
    realm_cache: RealmCache,
    connection: Connection,
    actor: Actor,
    message_id: MessageId,
    report_type: ReportType,
    description: str,
) -> OutgoingMessage:
    """Return the report to moderators of a message that the actor may read.

    Raises BadRequestError.
    """
    settings = await realm_cache.settings()
    channel = None
    if settings.moderation_request_channel_id != NO_CHANNEL:
        channel = await realm_cache.channel(ChannelId(settings.moderation_request_channel_id))
    if channel is None or channel.is_archived:
        raise BadRequestError(_("This organization has no channel for reports."))
    if len(description) > MAX_DESCRIPTION_LENGTH:
        raise BadRequestError(
            _("description is too long (limit: {limit} characters)", limit=MAX_DESCRIPTION_LENGTH)
        )
    if report_type == "other" and not description.strip():
        raise BadRequestError(_("Say in the description what is wrong with the message."))
    row = await message_edits.visible(connection, actor.realm_id, actor.user_id, message_id)
    if row is None:
        raise BadRequestError(_("Invalid message(s)"))
    where = await _where(realm_cache, connection, row, settings)
    sender = await realm_cache.user(row.sender_id)
    assert sender is not None, "senders are never removed"
    summary = _(
        _SUMMARIES[report_type],
        person=mention(actor.row),
        message=where,
        sender=mention(sender),
    )
    parts = [
        translated(summary, settings.language),
        *([quoted(description)] if description.strip() else []),
        translated(_("The message:"), settings.language),
    ]
    return OutgoingMessage(
        type="channel",
        to=channel.channel_id,
        topic=TOPIC,
        content="\n\n".join([*parts, quoted(row.content, limit=MAX_QUOTED_LENGTH)]),
    )


async def deliver(services: RealmServices, draft: OutgoingMessage) -> None:
    """Send what `report` returned. Raises BadRequestError: then no message was sent.

    The reporter did not cause the error, so it is none of the codes that clients act upon.
    """
    try:
        await notices.post(services, draft)
    except DomainError as refusal:
        raise BadRequestError(
            _("The report was not delivered: {message}", message=refusal.message)
        ) from refusal


async def _where(
    realm_cache: RealmCache, connection: Connection, row: ChangingRow, settings: RealmSettings
) -> str:
    if row.channel_id is None:
        return _("a direct message")
    channel = await realm_cache.channel(row.channel_id)
    assert channel is not None, "a message is in a channel that exists"
    [topic] = await conversations.topics_by_ids(
        connection, realm_cache.realm_id, [TopicId(row.conversation_id)]
    )
    link = topic_link(
        channel.channel_id,
        channel.name,
        topic.name,
        empty_topic_name=settings.empty_topic_display_name,
        message_id=row.id,
    )
    return _("a message ({link})", link=link)

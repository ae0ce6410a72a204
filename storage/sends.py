"""The hot path: one statement verifies the decision of a send, and writes it all."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, LiteralString

import msgspec

from storage.database import Connection, Statement
from storage.ids import (
    AttachmentId,
    ChannelId,
    DmGroupId,
    MessageId,
    Position,
    RealmId,
    TopicId,
    UserId,
)
from storage.message_bits import TELLS_OF_RESOLVING
from storage.name_folding import fold_name


class Send(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A decided send. A version is the `changed_at` of a row that the decision rests on."""

    realm_id: RealmId
    sender_id: UserId
    sender_version: Position
    realm_version: Position
    groups_version: Position
    channel_id: ChannelId | None
    channel_version: Position | None
    subscription_version: Position | None
    topic_id: TopicId | None
    """None in a channel message: the topic is new."""
    topic_name: str | None
    dm_group_id: DmGroupId | None
    dm_user_ids: list[UserId]
    dm_versions: list[Position]
    sent_at: datetime
    traits: int
    client: str
    content: str
    rendered: str
    flagged_user_ids: list[UserId]
    flags: list[int]
    audience: msgspec.Raw
    body: msgspec.Raw
    write_id: str
    idempotency_key: str | None
    idempotency_digest: bytes | None
    policy_started: int | None
    """Visibility policy that the sender's settings give to topics they start; 2 or 3."""
    policy_sent: int | None
    policy_mentioned: list[UserId]
    """Users who may follow the topic because the message mentions them."""
    follows_by_default: bool
    """Whether they do if they have no setting of their own."""
    empty_topic_name: str
    """The empty topic's name for clients that do not know it."""
    widget: str | None = None
    """JSON of the widget that the message becomes."""
    attachment_ids: list[AttachmentId] = []
    """Files that the message refers to."""
    valid_below: Position | None = None
    """Fencing token: from this position on, `together` finds the send stale. None: always valid."""

    @property
    def is_plain(self) -> bool:
        """Whether `together` can send it: it does nothing besides entering a conversation."""
        return not (
            (self.channel_id is not None and self.topic_id is None)
            or self.flagged_user_ids
            or self.policy_mentioned
            or self.attachment_ids
            or self.widget is not None
            or self.tells_of_resolving
        )

    @property
    def tells_of_resolving(self) -> bool:
        return bool(self.traits & TELLS_OF_RESOLVING)

    def statement(self, then: Statement | None = None) -> Statement:
        """Returns (outcome, message_id, conversation_id, new_policy, known_digest, followed).

        `then` selects one value: it runs right after this has sent the message, and only then.
        Parameters of the same name are the same.
        """
        params = {name: getattr(self, name) for name in self.__struct_fields__}
        params |= {"audience": bytes(self.audience), "body": bytes(self.body)}
        params["folded_topic"] = None if self.topic_name is None else fold_name(self.topic_name)
        params["tells_of_resolving"] = self.tells_of_resolving
        followed: LiteralString = "NULL"
        if then is not None:
            followed = "CASE WHEN outcome = 'sent' THEN (" + then.sql + ") END"
            params = {**then.params, **params}
        return Statement(_SELECT + followed + _FROM, params)


def together(realm_id: RealmId, sends: Sequence[Send]) -> Statement:
    """Build one statement for plain sends of a realm; it returns for each what `statement` does.

    A send to a missing conversation is stale: `statement` creates it.
    """
    return Statement(
        "SELECT outcome, message_id, conversation_id, new_policy, known_digest"
        " FROM send_messages(%(realm_id)s, %(sends)s::json)",
        _plain(realm_id, sends),
    )


def in_turn(realm_id: RealmId, sends: Sequence[Send]) -> Statement:
    """Build the same statement with the clock's lock around it: a whole transaction.

    Returns (epoch, outcome, message_id, new_policy, known_digest) of each send; and then, after
    five empty columns, (position, kind, audience, body, write_id) of each entry but the messages.
    """
    return Statement(
        "SELECT r_epoch, r_outcome, r_message_id, r_policy, r_digest,"
        " r_position, r_kind, r_audience, r_body, r_write_id"
        " FROM send_messages_in_turn(%(realm_id)s, %(sends)s::json)",
        _plain(realm_id, sends),
    )


def _plain(realm_id: RealmId, sends: Sequence[Send]) -> dict[str, object]:
    return {"realm_id": realm_id, "sends": msgspec.json.encode(sends).decode()}


_SELECT: Final[LiteralString] = """
    SELECT outcome, message_id, conversation_id, new_policy, known_digest, """
_FROM: Final[LiteralString] = """ AS followed
      FROM send_one(
        %(realm_id)s, %(sender_id)s, %(sender_version)s, %(realm_version)s,
        %(groups_version)s, %(channel_id)s, %(channel_version)s,
        %(subscription_version)s, %(topic_id)s, %(topic_name)s, %(dm_group_id)s,
        %(dm_user_ids)s::bigint[], %(dm_versions)s::bigint[], %(sent_at)s,
        %(traits)s::integer, %(client)s, %(content)s, %(rendered)s,
        %(flagged_user_ids)s::bigint[], %(flags)s::integer[], %(audience)b, %(body)b,
        %(write_id)s::uuid, %(idempotency_key)s, %(idempotency_digest)b,
        %(policy_started)s::smallint, %(policy_sent)s::smallint,
        %(policy_mentioned)s::bigint[], %(follows_by_default)s, %(empty_topic_name)s,
        %(folded_topic)s, %(widget)s, %(attachment_ids)s::bigint[], %(tells_of_resolving)s)
"""


@dataclass(frozen=True, slots=True)
class KnownRow:
    """A send that took place under an idempotency key."""

    digest: bytes
    message_id: MessageId
    visibility_policy: int | None


async def known(
    connection: Connection, realm_id: RealmId, user_id: UserId, key: str
) -> KnownRow | None:
    """Return the user's send under this key, if any."""
    return await connection.one(
        KnownRow,
        """
        SELECT digest, message_id, visibility_policy FROM idempotency_keys
         WHERE realm_id = %(realm_id)s AND user_id = %(user_id)s AND key = %(key)s
        """,
        realm_id=realm_id,
        user_id=user_id,
        key=key,
    )


async def subscriber_count(
    connection: Connection, realm_id: RealmId, channel_id: ChannelId, *, limit: int
) -> int:
    """Return the number of subscribers; counts no further than `limit`."""
    count: int = await connection.value(
        """
        SELECT count(*) FROM (
            SELECT FROM subscriptions
             WHERE realm_id = %(realm_id)s AND channel_id = %(channel_id)s AND active
             LIMIT %(limit)s) AS counted
        """,
        realm_id=realm_id,
        channel_id=channel_id,
        limit=limit,
    )
    return count


async def topic_participants(
    connection: Connection, realm_id: RealmId, topic_id: TopicId
) -> list[UserId]:
    """Return subscribers who have sent to the topic or reacted there."""
    return await connection.values(
        """
        SELECT s.user_id FROM subscriptions s
          JOIN topics t ON t.realm_id = s.realm_id AND t.channel_id = s.channel_id
         WHERE t.realm_id = %(realm_id)s AND t.topic_id = %(topic_id)s AND s.active
           AND s.user_id IN (
               SELECT m.sender_id FROM messages m
                WHERE m.realm_id = %(realm_id)s AND m.conversation_id = %(topic_id)s
               UNION
               SELECT r.user_id FROM reactions r
                 JOIN messages m ON m.realm_id = r.realm_id AND m.id = r.message_id
                WHERE m.realm_id = %(realm_id)s AND m.conversation_id = %(topic_id)s)
         ORDER BY s.user_id
        """,
        realm_id=realm_id,
        topic_id=topic_id,
    )


async def forget_idempotency_keys(connection: Connection, *, older_than: timedelta) -> int:
    """Delete idempotency keys that are no longer retried; return how many."""
    return await connection.execute(
        "DELETE FROM idempotency_keys WHERE created_at < now() - %(age)s", age=older_than
    )

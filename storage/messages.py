"""Messages as one reader sees them; what holds for every reader is a bit set, `traits`."""

from collections.abc import Iterable
from typing import Any, Final, LiteralString

import msgspec

from storage import message_flags
from storage.database import Connection
from storage.ids import ChannelId, MessageId, RealmId, UserId

READ_BY_SENDER: Final = 1
CHANNEL_WILDCARD: Final = 2
TOPIC_WILDCARD: Final = 4
IS_ME_MESSAGE: Final = 8
HAS_LINK: Final = 16
HAS_IMAGE: Final = 32
HAS_ATTACHMENT: Final = 64
TELLS_OF_RESOLVING: Final = 128
"""Read at once by all but those who want such notices unread (storage/unread_notices.py)."""
CONTENT_TRAITS: Final = (
    CHANNEL_WILDCARD | TOPIC_WILDCARD | IS_ME_MESSAGE | HAS_LINK | HAS_IMAGE | HAS_ATTACHMENT
)
"""Those that follow from the text: an edit sets them anew."""


class MessageRow(msgspec.Struct, frozen=True):
    """A message that the reader may read, where it is now.

    Not a dataclass: a page has a hundred of these, and this saves it 0.4 of 2.2 milliseconds.
    """

    id: MessageId
    sender_id: UserId
    channel_id: ChannelId | None
    conversation_id: int
    topic: str | None
    """None for a direct message."""
    user_ids: list[UserId] | None
    """The people of a direct message, sorted; None in a channel."""
    sent_at: int
    """In seconds since 1970, as on the wire."""
    edited_at: int | None
    traits: int
    client: str
    content: str
    """As Markdown or rendered, whichever was asked for."""
    edit_history: list[dict[str, Any]] | None
    """Newest first, renames of its topic among them."""
    reactions: str | None
    """In the order in which they came, as JSON with the names that the API uses; None: no such."""
    submessages: str | None
    """The same."""
    flag_bits: int
    received: bool
    unread: bool

    @property
    def flags(self) -> tuple[str, ...]:
        """The reader's flags, by their names on the wire."""
        return message_flags.of_reader(
            self.flag_bits,
            unread=self.unread,
            received=self.received,
            has_wildcard=bool(self.traits & CHANNEL_WILDCARD),
        )


_ROWS: Final[LiteralString] = """
    SELECT * FROM message_rows(%(realm_id)s, %(reader_id)s, @ids, %(rendered)s)
"""


def rows_of(ids: LiteralString) -> LiteralString:
    """Return a query that gives MessageRow, by id: of the ids, those that the reader may read.

    Its parameters are `realm_id`, `reader_id` and `rendered`, and what the expression has.
    """
    # One look, and one plan: the database's function reads what is said where it judges.
    return _ROWS.replace("@ids", ids)


async def for_reader(
    connection: Connection,
    realm_id: RealmId,
    reader_id: UserId,
    ids: Iterable[MessageId],
    *,
    rendered: bool,
) -> list[MessageRow]:
    """Return those of the messages that the reader may read, by id."""
    return await connection.many(
        MessageRow,
        rows_of("%(ids)s::bigint[]"),
        realm_id=realm_id,
        reader_id=reader_id,
        ids=list(ids),
        rendered=rendered,
    )


async def rendered(
    connection: Connection, realm_id: RealmId, ids: Iterable[MessageId]
) -> dict[MessageId, str]:
    """Return the HTML of messages of which it is known that the reader may read them."""
    return dict(
        await connection.tuples(
            """
            SELECT id, rendered_content FROM messages
             WHERE realm_id = %(realm_id)s AND id = ANY (%(ids)s)
            """,
            realm_id=realm_id,
            ids=list(ids),
        )
    )


async def count_by(connection: Connection, realm_id: RealmId, senders: Iterable[UserId]) -> int:
    """Return how many messages these people have sent."""
    count: int = await connection.value(
        """
        SELECT count(*) FROM messages
         WHERE realm_id = %(realm_id)s AND sender_id = ANY (%(senders)s::bigint[])
        """,
        realm_id=realm_id,
        senders=list(senders),
    )
    return count

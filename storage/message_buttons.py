"""Buttons of bots' messages, and clicks on them.

Buttons are a submessage of the type `buttons`, so they move, are exported and are deleted with
their message. They are JSON, with the values that only the bot's service gets.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, LiteralString

from storage.database import Connection, Statement
from storage.ids import ButtonClickId, MessageId, RealmId, UserId

BUTTONS: Final = "buttons"
"""Their type of submessage."""
_PUT: Final[LiteralString] = "SELECT put_message_buttons(%(realm_id)s, "
_PUT_REST: Final[LiteralString] = ", %(sender_id)s, %(buttons)s)"


def with_send(realm_id: RealmId, sender_id: UserId, buttons: str) -> Statement:
    """With the send of a message: set its buttons. For Send.statement."""
    return Statement(
        f"{_PUT}message_id, message_id{_PUT_REST}::text",
        {"realm_id": realm_id, "sender_id": sender_id, "buttons": buttons},
    )


def put(realm_id: RealmId, message_id: MessageId, sender_id: UserId, buttons: str) -> Statement:
    """At a log entry: set the buttons of a locked message."""
    return Statement(
        f"{_PUT}%(message_id)s, current_position(){_PUT_REST}",
        {
            "realm_id": realm_id,
            "message_id": message_id,
            "sender_id": sender_id,
            "buttons": buttons,
        },
    )


async def of_message(
    connection: Connection, realm_id: RealmId, message_id: MessageId
) -> str | None:
    """Return the buttons of the message, as JSON; None if it never had any."""
    found: str | None = await connection.value(
        """
        SELECT content FROM submessages
         WHERE realm_id = %(realm_id)s AND message_id = %(message_id)s AND msg_type = 'buttons'
        """,
        realm_id=realm_id,
        message_id=message_id,
    )
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class ClickRow:
    click_id: ButtonClickId
    message_id: MessageId
    bot_id: UserId
    user_id: UserId
    button: str
    """The button as it was then, as JSON."""
    clicked_at: datetime
    is_open: bool
    """Whether the service has yet to answer."""
    failures: int
    """Failed attempts so far."""
    not_before: datetime | None
    """When it may be delivered: another attempt is under way, or failed shortly before."""
    answer_token: str
    answers_left: int
    """How many more answers the service may send to the click's own address."""


async def known_click(
    connection: Connection,
    realm_id: RealmId,
    message_id: MessageId,
    user_id: UserId,
    *,
    local_id: str | None,
    button_id: str,
) -> ButtonClickId | None:
    """Return the click that a request repeats.

    That is the one with the client's id, or one on the same button that is not answered yet.
    """
    found: ButtonClickId | None = await connection.value(
        """
        SELECT click_id FROM button_clicks
         WHERE realm_id = %(realm_id)s AND message_id = %(message_id)s AND user_id = %(user_id)s
           AND (local_id = %(local_id)s OR (is_open AND button_id = %(button_id)s))
         ORDER BY local_id = %(local_id)s DESC NULLS LAST, click_id LIMIT 1
        """,
        realm_id=realm_id,
        message_id=message_id,
        user_id=user_id,
        local_id=local_id,
        button_id=button_id,
    )
    return found


async def count_open(connection: Connection, realm_id: RealmId, message_id: MessageId) -> int:
    count: int = await connection.value(
        """
        SELECT count(*) FROM button_clicks
         WHERE realm_id = %(realm_id)s AND message_id = %(message_id)s AND is_open
        """,
        realm_id=realm_id,
        message_id=message_id,
    )
    return count


async def insert_click(
    connection: Connection,
    realm_id: RealmId,
    message_id: MessageId,
    *,
    bot_id: UserId,
    user_id: UserId,
    local_id: str,
    button: str,
    button_id: str,
    clicked_at: datetime,
    answer_token: str,
    answers_left: int,
) -> ButtonClickId:
    """Insert a click. The caller has locked the message, so ids are in the order of commits."""
    click_id: ButtonClickId = await connection.value(
        """
        INSERT INTO button_clicks
               (realm_id, message_id, bot_id, user_id, local_id, button, button_id, clicked_at,
                answer_token, answers_left)
        VALUES (%(realm_id)s, %(message_id)s, %(bot_id)s, %(user_id)s, %(local_id)s, %(button)s,
                %(button_id)s, %(clicked_at)s, %(answer_token)s, %(answers_left)s)
        RETURNING click_id
        """,
        realm_id=realm_id,
        message_id=message_id,
        bot_id=bot_id,
        user_id=user_id,
        local_id=local_id,
        button=button,
        button_id=button_id,
        clicked_at=clicked_at,
        answer_token=answer_token,
        answers_left=answers_left,
    )
    return click_id


async def first_open(
    connection: Connection, realm_id: RealmId, message_id: MessageId
) -> ClickRow | None:
    """Return the message's oldest click that is not answered yet."""
    return await connection.one(
        ClickRow,
        """
        SELECT click_id, message_id, bot_id, user_id, button, clicked_at, is_open, failures,
               not_before, answer_token, answers_left
          FROM button_clicks
         WHERE realm_id = %(realm_id)s AND message_id = %(message_id)s AND is_open
         ORDER BY click_id LIMIT 1
        """,
        realm_id=realm_id,
        message_id=message_id,
    )


async def claim(
    connection: Connection,
    realm_id: RealmId,
    click_id: ButtonClickId,
    *,
    now: datetime,
    until: datetime,
) -> bool:
    """Claim an open click for an attempt; return whether no other attempt had claimed it."""
    claimed: int | None = await connection.value(
        """
        UPDATE button_clicks SET not_before = %(until)s
         WHERE realm_id = %(realm_id)s AND click_id = %(click_id)s AND is_open
           AND (not_before IS NULL OR not_before <= %(now)s)
        RETURNING click_id
        """,
        realm_id=realm_id,
        click_id=click_id,
        now=now,
        until=until,
    )
    return claimed is not None


async def failed(
    connection: Connection, realm_id: RealmId, click_id: ButtonClickId, *, not_before: datetime
) -> None:
    """Record a failed attempt, and when the next one may begin."""
    await connection.execute(
        """
        UPDATE button_clicks SET failures = failures + 1, not_before = %(not_before)s
         WHERE realm_id = %(realm_id)s AND click_id = %(click_id)s
        """,
        realm_id=realm_id,
        click_id=click_id,
        not_before=not_before,
    )


async def end(connection: Connection, realm_id: RealmId, click_id: ButtonClickId) -> None:
    """Record that a click was answered, or will not be."""
    await connection.execute(
        """
        UPDATE button_clicks SET is_open = false
         WHERE realm_id = %(realm_id)s AND click_id = %(click_id)s
        """,
        realm_id=realm_id,
        click_id=click_id,
    )


async def use_answer(
    connection: Connection, realm_id: RealmId, token: str, *, clicked_after: datetime
) -> ClickRow | None:
    """Count an answer to the click with this token; None if it takes no more."""
    return await connection.one(
        ClickRow,
        """
        UPDATE button_clicks SET answers_left = answers_left - 1
         WHERE realm_id = %(realm_id)s AND answer_token = %(token)s AND answers_left > 0
           AND clicked_at > %(clicked_after)s
        RETURNING click_id, message_id, bot_id, user_id, button, clicked_at, is_open, failures,
                  not_before, answer_token, answers_left
        """,
        realm_id=realm_id,
        token=token,
        clicked_after=clicked_after,
    )


async def forget(connection: Connection, *, older_than: timedelta) -> None:
    """Delete clicks that are older than this."""
    await connection.execute(
        "DELETE FROM button_clicks WHERE clicked_at < now() - %(age)s", age=older_than
    )

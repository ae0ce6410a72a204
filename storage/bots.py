"""Settings of bots: names, owners and the services that they call."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from storage.database import Connection
from storage.ids import ChannelId, RealmId, UserId
from storage.name_folding import fold_name


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceRow:
    bot_id: UserId
    interface: int
    base_url: str
    token: str
    told_at: datetime | None = None
    """When its owner was last notified that the service cannot be reached."""


async def rename(
    connection: Connection, realm_id: RealmId, bot_id: UserId, *, full_name: str
) -> None:
    """Update the bot's name. The caller has locked its row."""
    await connection.execute(
        """
        UPDATE users SET full_name = %(full_name)s, folded_name = %(folded_name)s
         WHERE realm_id = %(realm_id)s AND user_id = %(bot_id)s
        """,
        realm_id=realm_id,
        bot_id=bot_id,
        full_name=full_name,
        folded_name=fold_name(full_name),
    )


async def give(
    connection: Connection, realm_id: RealmId, bot_id: UserId, *, owner_id: UserId
) -> None:
    """Update the bot's owner. The caller has locked its row."""
    await connection.execute(
        """
        UPDATE users SET bot_owner_id = %(owner_id)s
         WHERE realm_id = %(realm_id)s AND user_id = %(bot_id)s
        """,
        realm_id=realm_id,
        bot_id=bot_id,
        owner_id=owner_id,
    )


async def set_webhook_secret(
    connection: Connection, realm_id: RealmId, bot_id: UserId, secret: str | None
) -> None:
    """Replace the secret of an incoming webhook bot. The caller has locked its row."""
    await connection.execute(
        """
        UPDATE users SET webhook_secret = %(secret)s
         WHERE realm_id = %(realm_id)s AND user_id = %(bot_id)s
        """,
        realm_id=realm_id,
        bot_id=bot_id,
        secret=secret,
    )


async def services(
    connection: Connection, realm_id: RealmId, bot_ids: Sequence[UserId]
) -> dict[UserId, ServiceRow]:
    """Return the services of those of the bots that have one."""
    rows = await connection.many(
        ServiceRow,
        """
        SELECT bot_id, interface, base_url, token, told_at FROM bot_services
         WHERE realm_id = %(realm_id)s AND bot_id = ANY (%(bot_ids)s::bigint[])
        """,
        realm_id=realm_id,
        bot_ids=list(bot_ids),
    )
    return {row.bot_id: row for row in rows}


async def insert_service(connection: Connection, realm_id: RealmId, service: ServiceRow) -> None:
    await connection.execute(
        """
        INSERT INTO bot_services (realm_id, bot_id, interface, base_url, token)
        VALUES (%(realm_id)s, %(bot_id)s, %(interface)s, %(base_url)s, %(token)s)
        """,
        realm_id=realm_id,
        bot_id=service.bot_id,
        interface=service.interface,
        base_url=service.base_url,
        token=service.token,
    )


async def update_service(connection: Connection, realm_id: RealmId, service: ServiceRow) -> None:
    """Update URL, interface or token of the bot's service. The caller has locked the bot's row."""
    await connection.execute(
        """
        UPDATE bot_services
           SET interface = %(interface)s, base_url = %(base_url)s, token = %(token)s, told_at = NULL
         WHERE realm_id = %(realm_id)s AND bot_id = %(bot_id)s
        """,
        realm_id=realm_id,
        bot_id=service.bot_id,
        interface=service.interface,
        base_url=service.base_url,
        token=service.token,
    )


async def record_owner_notified(
    connection: Connection, realm_id: RealmId, bot_id: UserId, *, at: datetime
) -> None:
    """Record that the owner has been notified that the bot's service cannot be reached."""
    await connection.execute(
        """
        UPDATE bot_services SET told_at = %(at)s
         WHERE realm_id = %(realm_id)s AND bot_id = %(bot_id)s
        """,
        realm_id=realm_id,
        bot_id=bot_id,
        at=at,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class DefaultsRow:
    """A bot's defaults for parameters that its requests omit."""

    bot_id: UserId
    sending_channel_id: ChannelId | None = None
    """The channel of messages without a recipient."""
    events_channel_id: ChannelId | None = None
    """The channel to which event queues without a narrow are narrowed."""
    all_public_channels: bool = False
    """Whether event queues receive the messages of all public channels."""


async def defaults(
    connection: Connection, realm_id: RealmId, bot_ids: Sequence[UserId]
) -> dict[UserId, DefaultsRow]:
    """Return the defaults of each of the bots."""
    rows = await connection.many(
        DefaultsRow,
        """
        SELECT bot_id, sending_channel_id, events_channel_id, all_public_channels
          FROM bot_defaults
         WHERE realm_id = %(realm_id)s AND bot_id = ANY (%(bot_ids)s::bigint[])
        """,
        realm_id=realm_id,
        bot_ids=list(bot_ids),
    )
    none = {bot_id: DefaultsRow(bot_id=bot_id) for bot_id in bot_ids}
    return none | {row.bot_id: row for row in rows}


async def with_default_channels(
    connection: Connection, realm_id: RealmId, channel_ids: Collection[ChannelId]
) -> list[DefaultsRow]:
    """Return the defaults that name one of the channels."""
    return await connection.many(
        DefaultsRow,
        """
        SELECT bot_id, sending_channel_id, events_channel_id, all_public_channels
          FROM bot_defaults
         WHERE realm_id = %(realm_id)s
           AND ARRAY[sending_channel_id, events_channel_id] && %(channel_ids)s::bigint[]
         ORDER BY bot_id
        """,
        realm_id=realm_id,
        channel_ids=sorted(channel_ids),
    )


async def set_defaults(connection: Connection, realm_id: RealmId, row: DefaultsRow) -> None:
    """Replace the defaults of a bot. The caller has locked the bot's row."""
    await connection.execute(
        """
        INSERT INTO bot_defaults (realm_id, bot_id, sending_channel_id, events_channel_id,
                                  all_public_channels)
        VALUES (%(realm_id)s, %(bot_id)s, %(sending)s, %(events)s, %(everywhere)s)
        ON CONFLICT (realm_id, bot_id) DO UPDATE
           SET sending_channel_id = excluded.sending_channel_id,
               events_channel_id = excluded.events_channel_id,
               all_public_channels = excluded.all_public_channels
        """,
        realm_id=realm_id,
        bot_id=row.bot_id,
        sending=row.sending_channel_id,
        events=row.events_channel_id,
        everywhere=row.all_public_channels,
    )

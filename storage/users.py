"""People and bots."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, LiteralString

from storage.database import Connection, Locking, Statement
from storage.ids import Position, RealmId, UserId


@dataclass(frozen=True, slots=True)
class UserRow:
    user_id: UserId
    email: str
    full_name: str
    role: int
    is_active: bool
    bot_type: int | None
    bot_owner_id: UserId | None
    is_system_bot: bool
    api_key: str
    avatar_source: str
    avatar_version: int
    timezone: str
    date_joined: datetime
    settings: dict[str, Any]
    changed_at: Position


@dataclass(frozen=True, slots=True)
class NewUserRow:
    """A user to be inserted, under an id taken from `new_ids`."""

    user_id: UserId
    email: str
    full_name: str
    role: int
    api_key: str
    date_joined: datetime
    password_hash: str | None = None
    bot_type: int | None = None
    bot_owner_id: UserId | None = None
    is_system_bot: bool = False
    timezone: str = ""
    settings: dict[str, Any] | None = None


_SELECT: LiteralString = """
    SELECT user_id, email, full_name, role, is_active, bot_type, bot_owner_id, is_system_bot,
           api_key, avatar_source, avatar_version, timezone, date_joined, settings, changed_at
      FROM users """


async def by_ids(
    connection: Connection, realm_id: RealmId, user_ids: Sequence[UserId], *, share: bool = False
) -> list[UserRow]:
    """Those who exist, active or not, by id; with `share` locked against changes."""
    sql = _SELECT + "WHERE realm_id = %(realm_id)s AND user_id = ANY(%(ids)s) ORDER BY user_id"
    if share:
        return await connection.many(
            UserRow, sql + " FOR SHARE", realm_id=realm_id, ids=list(user_ids)
        )
    return await connection.many(UserRow, sql, realm_id=realm_id, ids=list(user_ids))


async def by_emails(
    connection: Connection, realm_id: RealmId, emails: Sequence[str]
) -> list[UserRow]:
    """Those with these addresses, in any case of letters."""
    return await connection.many(
        UserRow,
        _SELECT + "WHERE realm_id = %(realm_id)s AND lower(email) = ANY(%(emails)s)",
        realm_id=realm_id,
        emails=[email.lower() for email in emails],
    )


async def named(connection: Connection, realm_id: RealmId, full_name: str) -> list[UserRow]:
    """Active users of this name, in any case of letters; several may share it."""
    return await connection.many(
        UserRow,
        _SELECT
        + "WHERE realm_id = %(realm_id)s AND lower(full_name) = lower(%(name)s) AND is_active"
        " ORDER BY user_id LIMIT 20",
        realm_id=realm_id,
        name=full_name,
    )


async def all_of_realm(connection: Connection, realm_id: RealmId) -> list[UserRow]:
    return await connection.many(
        UserRow, _SELECT + "WHERE realm_id = %(realm_id)s ORDER BY user_id", realm_id=realm_id
    )


async def last_change(connection: Connection, realm_id: RealmId) -> Position:
    """The position of the newest change to anybody."""
    position: Position | None = await connection.value(
        "SELECT max(changed_at) FROM users WHERE realm_id = %(realm_id)s", realm_id=realm_id
    )
    return position or Position(0)


async def changed_since(
    connection: Connection, realm_id: RealmId, position: Position
) -> list[UserRow]:
    """Those who have changed above this position."""
    return await connection.many(
        UserRow,
        _SELECT + "WHERE realm_id = %(realm_id)s AND changed_at > %(position)s ORDER BY user_id",
        realm_id=realm_id,
        position=position,
    )


async def ids_by_role(connection: Connection, realm_id: RealmId) -> dict[int, tuple[UserId, ...]]:
    """Active people and bots by their role; the system's bots left out."""
    rows = await connection.tuples(
        """
        SELECT role, array_agg(user_id ORDER BY user_id) FROM users
         WHERE realm_id = %(realm_id)s AND is_active AND NOT is_system_bot
         GROUP BY role ORDER BY role
        """,
        realm_id=realm_id,
    )
    return {role: tuple(user_ids) for role, user_ids in rows}


async def up_to_role(
    connection: Connection,
    realm_id: RealmId,
    *,
    least_role: int,
    or_among: Iterable[UserId],
) -> list[UserRow]:
    """Active users of this role or one above it, and those of these ids; no system's bots."""
    return await connection.many(
        UserRow,
        _SELECT
        + """
        WHERE realm_id = %(realm_id)s AND is_active AND NOT is_system_bot
          AND (role <= %(least_role)s OR user_id = ANY(%(user_ids)s))
        ORDER BY user_id""",
        realm_id=realm_id,
        least_role=least_role,
        user_ids=list(or_among),
    )


async def bots(
    connection: Connection, realm_id: RealmId, *, owner_id: UserId | None = None
) -> list[UserRow]:
    """The realm's bots, active or not, without the system's; only those of an owner if given."""
    return await connection.many(
        UserRow,
        _SELECT
        + """
        WHERE realm_id = %(realm_id)s AND bot_type IS NOT NULL AND NOT is_system_bot
          AND (%(owner_id)s::bigint IS NULL OR bot_owner_id = %(owner_id)s)
        ORDER BY user_id""",
        realm_id=realm_id,
        owner_id=owner_id,
    )


async def known_to(connection: Connection, realm_id: RealmId, user_id: UserId) -> set[UserId]:
    """Those who share a channel or a direct-message group with the user, themselves included."""
    return set((await known_to_each(connection, realm_id, [user_id]))[user_id])


async def known_to_each(
    connection: Connection,
    realm_id: RealmId,
    user_ids: Sequence[UserId],
    *,
    among: Sequence[UserId] | None = None,
) -> dict[UserId, frozenset[UserId]]:
    """For each of these users those who share a channel or a direct-message group with them.

    With `among` only those of them; each knows themselves in any case.
    """
    rows = await connection.tuples(
        """
        SELECT known.viewer_id, array_agg(known.user_id)
          FROM (SELECT mine.user_id AS viewer_id, theirs.user_id
                  FROM subscriptions mine
                  JOIN subscriptions theirs ON theirs.realm_id = mine.realm_id
                       AND theirs.channel_id = mine.channel_id AND theirs.active
                 WHERE mine.realm_id = %(realm_id)s AND mine.user_id = ANY(%(user_ids)s)
                   AND mine.active
                   AND (%(among)s::bigint[] IS NULL OR theirs.user_id = ANY(%(among)s))
                UNION
                SELECT mine.user_id, theirs.user_id
                  FROM dm_group_members mine
                  JOIN dm_groups g ON g.realm_id = mine.realm_id
                       AND g.dm_group_id = mine.dm_group_id
                 CROSS JOIN LATERAL unnest(g.user_ids) AS theirs(user_id)
                 WHERE mine.realm_id = %(realm_id)s AND mine.user_id = ANY(%(user_ids)s)
                   AND (%(among)s::bigint[] IS NULL OR theirs.user_id = ANY(%(among)s))) AS known
         GROUP BY known.viewer_id
        """,
        realm_id=realm_id,
        user_ids=list(user_ids),
        among=None if among is None else list(among),
    )
    found = {viewer_id: frozenset(known) for viewer_id, known in rows}
    return {user_id: found.get(user_id, frozenset()) | {user_id} for user_id in user_ids}


@dataclass(frozen=True, slots=True)
class CredentialsRow:
    """What is needed to let somebody in."""

    user_id: UserId
    email: str
    is_active: bool
    api_key: str
    password_hash: str | None


async def credentials(
    connection: Connection, realm_id: RealmId, email: str
) -> CredentialsRow | None:
    """Of the user with this address, in any case of letters; not of the system's bots."""
    return await connection.one(
        CredentialsRow,
        """
        SELECT user_id, email, is_active, api_key, password_hash FROM users
         WHERE realm_id = %(realm_id)s AND lower(email) = lower(%(email)s) AND NOT is_system_bot
        """,
        realm_id=realm_id,
        email=email,
    )


def locking(realm_id: RealmId, user_ids: Sequence[UserId]) -> Locking[UserRow]:
    """The rows of these users, by id."""
    ids = sorted(set(user_ids))
    return Locking(
        UserRow,
        _SELECT + "WHERE realm_id = %(realm_id)s AND user_id = ANY(%(ids)s) ORDER BY user_id",
        {"realm_id": realm_id, "ids": ids},
        expected=len(ids),
    )


async def new_ids(connection: Connection, count: int) -> list[UserId]:
    """Ids for users who are about to be inserted, rising."""
    return await connection.values(
        "SELECT nextval('user_ids') FROM generate_series(1, %(count)s)", count=count
    )


async def insert(connection: Connection, realm_id: RealmId, new: Sequence[NewUserRow]) -> None:
    """Add them all. The caller holds the realm's row and has looked for their addresses."""
    await connection.execute(
        """
        INSERT INTO users (realm_id, user_id, email, full_name, role, api_key, date_joined,
                           password_hash, bot_type, bot_owner_id, is_system_bot, timezone, settings)
        SELECT %(realm_id)s, n.*
          FROM unnest(%(user_ids)s::bigint[], %(emails)s::text[], %(full_names)s::text[],
                      %(roles)s::smallint[], %(api_keys)s::text[], %(dates)s::timestamptz[],
                      %(password_hashes)s::text[], %(bot_types)s::smallint[],
                      %(bot_owner_ids)s::bigint[], %(are_system_bots)s::boolean[],
                      %(timezones)s::text[], %(settings)s::jsonb[]) AS n
        """,
        realm_id=realm_id,
        user_ids=[n.user_id for n in new],
        emails=[n.email for n in new],
        full_names=[n.full_name for n in new],
        roles=[n.role for n in new],
        api_keys=[n.api_key for n in new],
        dates=[n.date_joined for n in new],
        password_hashes=[n.password_hash for n in new],
        bot_types=[n.bot_type for n in new],
        bot_owner_ids=[n.bot_owner_id for n in new],
        are_system_bots=[n.is_system_bot for n in new],
        timezones=[n.timezone for n in new],
        settings=[connection.json(n.settings or {}) for n in new],
    )


async def update_password_hash(
    connection: Connection, realm_id: RealmId, user_id: UserId, *, old: str, new: str
) -> bool:
    """Keep the new hash of the same password. False if the password has changed meanwhile."""
    updated = await connection.execute(
        """
        UPDATE users SET password_hash = %(new)s
         WHERE realm_id = %(realm_id)s AND user_id = %(user_id)s AND password_hash = %(old)s
        """,
        realm_id=realm_id,
        user_id=user_id,
        old=old,
        new=new,
    )
    return updated == 1


async def update_password(
    connection: Connection, realm_id: RealmId, user_id: UserId, password_hash: str
) -> None:
    """Keep the hash of another password. The caller holds the user's row."""
    await connection.execute(
        """
        UPDATE users SET password_hash = %(new)s
         WHERE realm_id = %(realm_id)s AND user_id = %(user_id)s
        """,
        realm_id=realm_id,
        user_id=user_id,
        new=password_hash,
    )


async def password_hash(connection: Connection, realm_id: RealmId, user_id: UserId) -> str | None:
    """The hash of the user's password; None without one."""
    found: str | None = await connection.value(
        """
        SELECT password_hash FROM users
         WHERE realm_id = %(realm_id)s AND user_id = %(user_id)s
        """,
        realm_id=realm_id,
        user_id=user_id,
    )
    return found


async def update_own(
    connection: Connection,
    realm_id: RealmId,
    user_id: UserId,
    *,
    full_name: str,
    timezone: str,
    settings: dict[str, Any],
) -> None:
    """What somebody chooses for themselves. The caller holds their row."""
    await connection.execute(
        """
        UPDATE users
           SET full_name = %(full_name)s, timezone = %(timezone)s, settings = %(settings)s
         WHERE realm_id = %(realm_id)s AND user_id = %(user_id)s
        """,
        realm_id=realm_id,
        user_id=user_id,
        full_name=full_name,
        timezone=timezone,
        settings=connection.json(settings),
    )


async def update_active(
    connection: Connection, realm_id: RealmId, user_ids: Sequence[UserId], *, active: bool
) -> None:
    await connection.execute(
        """
        UPDATE users SET is_active = %(active)s
         WHERE realm_id = %(realm_id)s AND user_id = ANY(%(user_ids)s)
        """,
        realm_id=realm_id,
        user_ids=list(user_ids),
        active=active,
    )


async def update_role(
    connection: Connection, realm_id: RealmId, user_id: UserId, *, role: int
) -> None:
    await connection.execute(
        """
        UPDATE users SET role = %(role)s
         WHERE realm_id = %(realm_id)s AND user_id = %(user_id)s
        """,
        realm_id=realm_id,
        user_id=user_id,
        role=role,
    )


def changed(realm_id: RealmId, user_ids: Sequence[UserId]) -> Statement:
    """These users have changed at the current position."""
    return Statement(
        """
        UPDATE users SET changed_at = current_position()
         WHERE realm_id = %(realm_id)s AND user_id = ANY(%(user_ids)s)
        """,
        {"realm_id": realm_id, "user_ids": list(user_ids)},
    )

"""Users: people and bots."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, LiteralString

from storage.address_folding import FoldedAddress, fold_address
from storage.database import Connection, Locking, Statement
from storage.ids import Position, RealmId, UserId
from storage.name_folding import fold_name

DefaultAvatar = Literal["G", "J"]
"""Gravatar, or a pattern that this server makes."""
Stub = Literal["imported", "created"]
"""Origin of an account without a sign-in yet: an import, or the API."""


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
    avatar_key: str | None
    """Key of the uploaded avatar."""
    avatar_version: int
    timezone: str
    date_joined: datetime
    settings: dict[str, Any]
    changed_at: Position
    webhook_secret: str | None = None
    """Secret with which services sign what they send to an incoming webhook bot."""
    email_confirmed: bool = True
    """Whether the address is known to be the owner's. Otherwise it was only entered: it serves to
    sign in with the password, and for nothing else."""
    avatar_source: DefaultAvatar = "G"
    """Source of the avatar of a user without an uploaded one, if the server permits it."""
    stub: Stub | None = None
    is_deleted: bool = False
    """Whether the account was erased or its profile deleted, and has not been reactivated since."""


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
    avatar_key: str | None = None
    is_active: bool = True
    email_confirmed: bool = True
    avatar_source: DefaultAvatar = "G"
    stub: Stub | None = None


_SELECT: LiteralString = """
    SELECT user_id, email, full_name, role, is_active, bot_type, bot_owner_id, is_system_bot,
           api_key, avatar_key, avatar_version, timezone, date_joined, settings, changed_at,
           webhook_secret, email_confirmed, avatar_source, stub, is_deleted
      FROM users """


async def by_ids(
    connection: Connection, realm_id: RealmId, user_ids: Sequence[UserId], *, share: bool = False
) -> list[UserRow]:
    """Return those who exist, active or not, by id; `share` takes a shared lock."""
    sql = _SELECT + "WHERE realm_id = %(realm_id)s AND user_id = ANY(%(ids)s) ORDER BY user_id"
    if share:
        return await connection.many(
            UserRow, sql + " FOR SHARE", realm_id=realm_id, ids=list(user_ids)
        )
    return await connection.many(UserRow, sql, realm_id=realm_id, ids=list(user_ids))


async def roles(
    connection: Connection, realm_id: RealmId, user_ids: Sequence[UserId]
) -> dict[UserId, int]:
    """Return the roles of those who exist, active or not."""
    rows = await connection.tuples(
        """
        SELECT user_id, role FROM users
         WHERE realm_id = %(realm_id)s AND user_id = ANY(%(user_ids)s)
        """,
        realm_id=realm_id,
        user_ids=list(user_ids),
    )
    return dict(rows)


async def bot_ids(connection: Connection, realm_id: RealmId) -> list[UserId]:
    """Return all bots, active or not, system bots included."""
    return await connection.values(
        """
        SELECT user_id FROM users WHERE realm_id = %(realm_id)s AND bot_type IS NOT NULL
        """,
        realm_id=realm_id,
    )


async def by_emails(
    connection: Connection, realm_id: RealmId, emails: Sequence[str]
) -> list[UserRow]:
    """Return users with these addresses by folding; of older accounts several may share one."""
    foldings = {fold_address(email) for email in emails}
    rows = await connection.many(
        UserRow,
        _SELECT
        + "WHERE realm_id = %(realm_id)s AND folded_email = ANY(%(foldings)s) ORDER BY user_id",
        realm_id=realm_id,
        foldings=list(foldings),
    )
    if all(map(_is_plain, foldings)):
        return rows
    unfolded = await _unfolded(connection, realm_id)
    return [*rows, *(row for row in unfolded if fold_address(row.email) in foldings)]


def _is_plain(folding: FoldedAddress) -> bool:
    """Return whether it cannot be the folding of an address with non-ASCII letters."""
    return folding.isascii() and "xn--" not in folding


async def _unfolded(connection: Connection, realm_id: RealmId) -> list[UserRow]:
    """Return users with an address that an older release wrote and SQL cannot fold."""
    return await connection.many(
        UserRow,
        _SELECT + "WHERE realm_id = %(realm_id)s AND folded_email IS NULL ORDER BY user_id",
        realm_id=realm_id,
    )


async def named(connection: Connection, realm_id: RealmId, full_name: str) -> list[UserRow]:
    """Return active users of this name; several may share it."""
    return await connection.many(
        UserRow,
        _SELECT + "WHERE realm_id = %(realm_id)s AND folded_name = %(folded_name)s AND is_active"
        " ORDER BY user_id LIMIT 20",
        realm_id=realm_id,
        folded_name=fold_name(full_name),
    )


async def all_of_realm(connection: Connection, realm_id: RealmId) -> list[UserRow]:
    return await connection.many(
        UserRow, _SELECT + "WHERE realm_id = %(realm_id)s ORDER BY user_id", realm_id=realm_id
    )


async def last_change(connection: Connection, realm_id: RealmId) -> Position:
    """Return the position of the newest change to any user."""
    position: Position | None = await connection.value(
        "SELECT max(changed_at) FROM users WHERE realm_id = %(realm_id)s", realm_id=realm_id
    )
    return position or Position(0)


async def changed_since(
    connection: Connection, realm_id: RealmId, position: Position
) -> list[UserRow]:
    """Return users who have changed above this position."""
    return await connection.many(
        UserRow,
        _SELECT + "WHERE realm_id = %(realm_id)s AND changed_at > %(position)s ORDER BY user_id",
        realm_id=realm_id,
        position=position,
    )


async def ids_by_role(
    connection: Connection, realm_id: RealmId, *, without_bots: bool = False
) -> dict[int, tuple[UserId, ...]]:
    """Return active users by role, without system bots, and optionally without bots."""
    rows = await connection.tuples(
        """
        SELECT role, array_agg(user_id ORDER BY user_id) FROM users
         WHERE realm_id = %(realm_id)s AND is_active AND NOT is_system_bot
           AND (bot_type IS NULL OR NOT %(without_bots)s)
         GROUP BY role ORDER BY role
        """,
        realm_id=realm_id,
        without_bots=without_bots,
    )
    return {role: tuple(user_ids) for role, user_ids in rows}


async def active_among(
    connection: Connection, realm_id: RealmId, user_ids: Iterable[UserId]
) -> set[UserId]:
    """Return those of these ids that belong to active users."""
    wanted = sorted(set(user_ids))
    if not wanted:
        return set()
    return set(
        await connection.values(
            """
            SELECT user_id FROM users
             WHERE realm_id = %(realm_id)s AND user_id = ANY(%(user_ids)s) AND is_active
            """,
            realm_id=realm_id,
            user_ids=wanted,
        )
    )


async def inactive_ids(connection: Connection, realm_id: RealmId) -> list[UserId]:
    """Return all deactivated users."""
    found: list[UserId] = await connection.value(
        """
        SELECT ARRAY(SELECT user_id FROM users WHERE realm_id = %(realm_id)s AND NOT is_active)
        """,
        realm_id=realm_id,
    )
    return found


async def up_to_role(
    connection: Connection,
    realm_id: RealmId,
    *,
    least_role: int,
    or_among: Iterable[UserId],
) -> list[UserRow]:
    """Return active users of this role or above, and of these ids; no system bots."""
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
    """Return the realm's bots, active or not, without system bots; of one owner if given."""
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


def locking(realm_id: RealmId, user_ids: Sequence[UserId]) -> Locking[UserRow]:
    """Return the query that locks the rows of these users, by id."""
    ids = sorted(set(user_ids))
    return Locking(
        UserRow,
        _SELECT + "WHERE realm_id = %(realm_id)s AND user_id = ANY(%(ids)s) ORDER BY user_id",
        {"realm_id": realm_id, "ids": ids},
        expected=len(ids),
    )


async def new_ids(connection: Connection, count: int) -> list[UserId]:
    """Reserve ids for users about to be inserted, ascending."""
    return await connection.values(
        "SELECT nextval('user_ids') FROM generate_series(1, %(count)s)", count=count
    )


async def insert(connection: Connection, realm_id: RealmId, new: Sequence[NewUserRow]) -> None:
    """Insert them all. The caller has locked the realm's row and has checked their addresses."""
    await connection.execute(
        """
        INSERT INTO users (realm_id, user_id, email, folded_email, full_name, folded_name,
                           role, api_key, date_joined, password_hash, bot_type,
                           bot_owner_id, is_system_bot, timezone, settings, avatar_key,
                           is_active, email_confirmed, avatar_source, stub)
        SELECT %(realm_id)s, n.*
          FROM unnest(%(user_ids)s::bigint[], %(emails)s::text[], %(folded_emails)s::text[],
                      %(full_names)s::text[],
                      %(folded_names)s::text[], %(roles)s::smallint[], %(api_keys)s::text[],
                      %(dates)s::timestamptz[], %(password_hashes)s::text[],
                      %(bot_types)s::smallint[], %(bot_owner_ids)s::bigint[],
                      %(are_system_bots)s::boolean[], %(timezones)s::text[],
                      %(settings)s::jsonb[],
                      %(avatar_keys)s::text[], %(are_active)s::boolean[],
                      %(are_confirmed)s::boolean[], %(avatar_sources)s::text[],
                      %(stubs)s::text[]) AS n
        """,
        realm_id=realm_id,
        user_ids=[n.user_id for n in new],
        emails=[n.email for n in new],
        folded_emails=[fold_address(n.email) for n in new],
        full_names=[n.full_name for n in new],
        folded_names=[fold_name(n.full_name) for n in new],
        roles=[n.role for n in new],
        api_keys=[n.api_key for n in new],
        dates=[n.date_joined for n in new],
        password_hashes=[n.password_hash for n in new],
        bot_types=[n.bot_type for n in new],
        bot_owner_ids=[n.bot_owner_id for n in new],
        are_system_bots=[n.is_system_bot for n in new],
        timezones=[n.timezone for n in new],
        settings=[connection.json(n.settings or {}) for n in new],
        avatar_keys=[n.avatar_key for n in new],
        are_active=[n.is_active for n in new],
        are_confirmed=[n.email_confirmed for n in new],
        avatar_sources=[n.avatar_source for n in new],
        stubs=[n.stub for n in new],
    )


async def update_own(
    connection: Connection,
    realm_id: RealmId,
    user_id: UserId,
    *,
    full_name: str,
    timezone: str,
    settings: dict[str, Any],
) -> None:
    """Update what users set themselves. The caller has locked the user's row."""
    await connection.execute(
        """
        UPDATE users
           SET full_name = %(full_name)s, folded_name = %(folded_name)s,
               timezone = %(timezone)s, settings = %(settings)s
         WHERE realm_id = %(realm_id)s AND user_id = %(user_id)s
        """,
        realm_id=realm_id,
        user_id=user_id,
        full_name=full_name,
        folded_name=fold_name(full_name),
        timezone=timezone,
        settings=connection.json(settings),
    )


async def update_email(
    connection: Connection, realm_id: RealmId, user_id: UserId, email: str, *, confirmed: bool
) -> None:
    """Update the address. The caller has locked the realm's row, and has checked for duplicates."""
    await connection.execute(
        """
        UPDATE users
           SET email = %(email)s, folded_email = %(folded_email)s, email_confirmed = %(confirmed)s
         WHERE realm_id = %(realm_id)s AND user_id = %(user_id)s
        """,
        realm_id=realm_id,
        user_id=user_id,
        email=email,
        folded_email=fold_address(email),
        confirmed=confirmed,
    )


async def update_active(
    connection: Connection, realm_id: RealmId, user_ids: Sequence[UserId], *, active: bool
) -> None:
    await connection.execute(
        """
        UPDATE users SET is_active = %(active)s, is_deleted = is_deleted AND NOT %(active)s
         WHERE realm_id = %(realm_id)s AND user_id = ANY(%(user_ids)s)
        """,
        realm_id=realm_id,
        user_ids=list(user_ids),
        active=active,
    )


async def update_role(
    connection: Connection, realm_id: RealmId, user_ids: Sequence[UserId], *, role: int
) -> None:
    await connection.execute(
        """
        UPDATE users SET role = %(role)s
         WHERE realm_id = %(realm_id)s AND user_id = ANY(%(user_ids)s)
        """,
        realm_id=realm_id,
        user_ids=list(user_ids),
        role=role,
    )


def changed(realm_id: RealmId, user_ids: Sequence[UserId]) -> Statement:
    """Record that these users have changed at the current position."""
    return Statement(
        """
        UPDATE users SET changed_at = current_position()
         WHERE realm_id = %(realm_id)s AND user_id = ANY(%(user_ids)s)
        """,
        {"realm_id": realm_id, "user_ids": list(user_ids)},
    )

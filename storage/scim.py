"""Tokens of directories (SCIM), and what they have said about accounts and groups."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, LiteralString

from storage.database import Connection
from storage.ids import GroupId, RealmId, ScimTokenId, UserId
from storage.name_folding import fold_name


@dataclass(frozen=True, slots=True)
class TokenRow:
    token_id: ScimTokenId
    name: str
    hint: str
    creator_id: UserId | None
    """None: the operator."""
    created_at: datetime
    last_used_at: datetime | None
    """To within five minutes."""


@dataclass(frozen=True, slots=True)
class UsedTokenRow:
    """The fields of a token that authentication needs."""

    token_id: ScimTokenId
    creator_id: UserId | None
    is_noted: bool
    """Whether its use has been recorded within the last five minutes."""


@dataclass(frozen=True, slots=True)
class ScimAccountRow:
    """What a directory has said about an account, beyond the columns of users."""

    user_id: UserId
    external_id: str | None
    user_name: str
    attributes: dict[str, Any]
    is_deleted: bool
    """Whether the directory has deleted the account."""
    closed_at: datetime | None
    """When the directory has deactivated the account; None if it has not."""
    modified_at: datetime


@dataclass(frozen=True, slots=True)
class ScimGroupRow:
    group_id: GroupId
    external_id: str | None
    modified_at: datetime


async def insert_token(
    connection: Connection,
    realm_id: RealmId,
    *,
    digest: bytes,
    hint: str,
    name: str,
    creator_id: UserId | None,
) -> ScimTokenId:
    """Insert a token; return its id."""
    token_id: ScimTokenId = await connection.value(
        """
        INSERT INTO scim_tokens (realm_id, digest, hint, name, creator_id)
        VALUES (%(realm_id)s, %(digest)s, %(hint)s, %(name)s, %(creator_id)s)
        RETURNING token_id
        """,
        realm_id=realm_id,
        digest=digest,
        hint=hint,
        name=name,
        creator_id=creator_id,
    )
    return token_id


async def tokens(connection: Connection, realm_id: RealmId) -> list[TokenRow]:
    """Return all tokens of the realm, newest first."""
    return await connection.many(
        TokenRow,
        """
        SELECT token_id, name, hint, creator_id, created_at, last_used_at FROM scim_tokens
         WHERE realm_id = %(realm_id)s ORDER BY token_id DESC
        """,
        realm_id=realm_id,
    )


async def delete_token(
    connection: Connection, realm_id: RealmId, token_id: ScimTokenId
) -> str | None:
    """Delete the token; return its name, or None if there is no such token."""
    name: str | None = await connection.value(
        """
        DELETE FROM scim_tokens WHERE realm_id = %(realm_id)s AND token_id = %(token_id)s
        RETURNING name
        """,
        realm_id=realm_id,
        token_id=token_id,
    )
    return name


async def used_token(
    connection: Connection, realm_id: RealmId, digest: bytes
) -> UsedTokenRow | None:
    """Return the token with this digest."""
    return await connection.one(
        UsedTokenRow,
        """
        SELECT token_id, creator_id,
               coalesce(last_used_at > now() - interval '5 minutes', false) AS is_noted
          FROM scim_tokens WHERE realm_id = %(realm_id)s AND digest = %(digest)s
        """,
        realm_id=realm_id,
        digest=digest,
    )


async def note_use(connection: Connection, realm_id: RealmId, token_id: ScimTokenId) -> None:
    """Record that the token is used now. Takes no lock that others wait for."""
    await connection.execute(
        """
        UPDATE scim_tokens SET last_used_at = now()
         WHERE realm_id = %(realm_id)s AND token_id = (
               SELECT token_id FROM scim_tokens
                WHERE realm_id = %(realm_id)s AND token_id = %(token_id)s
                  FOR UPDATE SKIP LOCKED)
        """,
        realm_id=realm_id,
        token_id=token_id,
    )


_ACCOUNTS: LiteralString = """
    SELECT user_id, external_id, user_name, attributes, is_deleted, closed_at, modified_at
      FROM scim_accounts WHERE realm_id = %(realm_id)s """


async def accounts(
    connection: Connection, realm_id: RealmId, user_ids: Sequence[UserId] | None = None
) -> dict[UserId, ScimAccountRow]:
    """Return what is known of these users, or of all, by user id."""
    rows = await connection.many(
        ScimAccountRow,
        _ACCOUNTS + "AND (%(user_ids)s::bigint[] IS NULL OR user_id = ANY(%(user_ids)s::bigint[]))",
        realm_id=realm_id,
        user_ids=None if user_ids is None else list(user_ids),
    )
    return {row.user_id: row for row in rows}


async def accounts_called(
    connection: Connection,
    realm_id: RealmId,
    *,
    user_name: str | None = None,
    external_id: str | None = None,
) -> list[ScimAccountRow]:
    """Return the accounts with this user name, in any case, or with this external id."""
    return await connection.many(
        ScimAccountRow,
        _ACCOUNTS
        + """AND NOT is_deleted
             AND (folded_user_name = %(user_name)s OR external_id = %(external_id)s)
           ORDER BY user_id""",
        realm_id=realm_id,
        user_name=None if user_name is None else fold_name(user_name),
        external_id=external_id,
    )


async def put_account(connection: Connection, realm_id: RealmId, row: ScimAccountRow) -> None:
    """Insert or update the row. The caller has locked the realm's row exclusively."""
    await connection.execute(
        """
        INSERT INTO scim_accounts (realm_id, user_id, external_id, user_name, folded_user_name,
                                   attributes, is_deleted, closed_at, modified_at)
        VALUES (%(realm_id)s, %(user_id)s, %(external_id)s, %(user_name)s, %(folded_user_name)s,
                %(attributes)s, %(is_deleted)s, %(closed_at)s, %(modified_at)s)
        ON CONFLICT (realm_id, user_id) DO UPDATE
           SET external_id = excluded.external_id, user_name = excluded.user_name,
               folded_user_name = excluded.folded_user_name, attributes = excluded.attributes,
               is_deleted = excluded.is_deleted, closed_at = excluded.closed_at,
               modified_at = excluded.modified_at
        """,
        realm_id=realm_id,
        user_id=row.user_id,
        external_id=row.external_id,
        user_name=row.user_name,
        folded_user_name=fold_name(row.user_name),
        attributes=connection.json(row.attributes),
        is_deleted=row.is_deleted,
        closed_at=row.closed_at,
        modified_at=row.modified_at,
    )


async def count_closed(connection: Connection, realm_id: RealmId, *, since: datetime) -> int:
    """Return how many accounts directories have deactivated since then."""
    count: int = await connection.value(
        """
        SELECT count(*) FROM scim_accounts
         WHERE realm_id = %(realm_id)s AND closed_at > %(since)s
        """,
        realm_id=realm_id,
        since=since,
    )
    return count


async def allowance(connection: Connection, realm_id: RealmId) -> datetime | None:
    """Return until when directories may deactivate any number of accounts."""
    ends_at: datetime | None = await connection.value(
        "SELECT ends_at FROM scim_allowances WHERE realm_id = %(realm_id)s", realm_id=realm_id
    )
    return ends_at


async def put_allowance(connection: Connection, realm_id: RealmId, ends_at: datetime) -> None:
    """Allow directories to deactivate any number of accounts until then."""
    await connection.execute(
        """
        INSERT INTO scim_allowances (realm_id, ends_at) VALUES (%(realm_id)s, %(ends_at)s)
        ON CONFLICT (realm_id) DO UPDATE SET ends_at = excluded.ends_at
        """,
        realm_id=realm_id,
        ends_at=ends_at,
    )


async def groups(connection: Connection, realm_id: RealmId) -> dict[GroupId, ScimGroupRow]:
    """Return what directories have said about groups, by id."""
    rows = await connection.many(
        ScimGroupRow,
        """
        SELECT group_id, external_id, modified_at FROM scim_groups WHERE realm_id = %(realm_id)s
        """,
        realm_id=realm_id,
    )
    return {row.group_id: row for row in rows}


async def put_group(connection: Connection, realm_id: RealmId, row: ScimGroupRow) -> None:
    """Insert or update the row. The caller has locked the realm's row exclusively."""
    await connection.execute(
        """
        INSERT INTO scim_groups (realm_id, group_id, external_id, modified_at)
        VALUES (%(realm_id)s, %(group_id)s, %(external_id)s, %(modified_at)s)
        ON CONFLICT (realm_id, group_id) DO UPDATE
           SET external_id = excluded.external_id, modified_at = excluded.modified_at
        """,
        realm_id=realm_id,
        group_id=row.group_id,
        external_id=row.external_id,
        modified_at=row.modified_at,
    )


async def people_ids(connection: Connection, realm_id: RealmId) -> list[UserId]:
    """Return the people that directories see, by id: not bots, nor accounts they have deleted."""
    return await connection.values(
        """
        SELECT u.user_id FROM users u
          LEFT JOIN scim_accounts s ON s.realm_id = u.realm_id AND s.user_id = u.user_id
         WHERE u.realm_id = %(realm_id)s AND u.bot_type IS NULL AND NOT u.is_system_bot
           AND NOT u.is_deleted AND (u.is_active OR NOT coalesce(s.is_deleted, false))
         ORDER BY u.user_id
        """,
        realm_id=realm_id,
    )


async def ids_with_email(connection: Connection, realm_id: RealmId, email: str) -> list[UserId]:
    """Return the accounts of which a directory has said that they have this ASCII address."""
    return await connection.values(
        """
        SELECT user_id FROM scim_accounts
         WHERE realm_id = %(realm_id)s
           AND (lower(attributes ->> 'email') = lower(%(email)s) OR EXISTS (
                SELECT FROM jsonb_array_elements(attributes -> 'emails') e
                 WHERE lower(e ->> 'value') = lower(%(email)s)))
         ORDER BY user_id
        """,
        realm_id=realm_id,
        email=email,
    )

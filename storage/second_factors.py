"""Second factors of users (authenticator apps and passkeys), and their recovery codes."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal, LiteralString

from storage.database import Connection
from storage.ids import FactorId, RealmId, UserId

Kind = Literal["totp", "passkey"]
TOTP: Final[Kind] = "totp"
PASSKEY: Final[Kind] = "passkey"


@dataclass(frozen=True, slots=True)
class FactorRow:
    factor_id: FactorId
    user_id: UserId
    kind: Kind
    name: str
    secret: bytes | None
    """The encrypted secret of an authenticator app."""
    last_step: int | None
    """The time step of the last code that was accepted from an authenticator app."""
    credential_id: bytes | None
    public_key: bytes | None
    """The public key of a passkey, as COSE."""
    sign_count: int | None
    """How many signatures a passkey reported with its last one; 0 if it does not count them."""
    created_at: datetime
    last_used_at: datetime | None


_SELECT: LiteralString = """
    SELECT factor_id, user_id, kind, name, secret, last_step, credential_id, public_key,
           sign_count, created_at, last_used_at
      FROM second_factors
     WHERE realm_id = %(realm_id)s"""


async def of_user(connection: Connection, realm_id: RealmId, user_id: UserId) -> list[FactorRow]:
    """Return the user's factors, oldest first."""
    return await connection.many(
        FactorRow,
        f"{_SELECT} AND user_id = %(user_id)s ORDER BY factor_id",
        realm_id=realm_id,
        user_id=user_id,
    )


async def has_any(connection: Connection, realm_id: RealmId, user_id: UserId) -> bool:
    """Return whether the user has a second factor."""
    return bool(
        await connection.value(
            """
            SELECT EXISTS (SELECT FROM second_factors
                            WHERE realm_id = %(realm_id)s AND user_id = %(user_id)s)
            """,
            realm_id=realm_id,
            user_id=user_id,
        )
    )


async def by_credential(
    connection: Connection, realm_id: RealmId, credential_id: bytes
) -> FactorRow | None:
    """Return the passkey with this credential id; its user may be deactivated."""
    return await connection.one(
        FactorRow,
        f"{_SELECT} AND credential_id = %(credential_id)s",
        realm_id=realm_id,
        credential_id=credential_id,
    )


async def insert_totp(
    connection: Connection,
    realm_id: RealmId,
    user_id: UserId,
    *,
    name: str,
    secret: bytes,
    step: int,
) -> FactorId:
    """Insert an authenticator app, with the time step of its accepted code; return its id.

    The caller has locked the user's row.
    """
    factor_id: FactorId = await connection.value(
        """
        INSERT INTO second_factors (realm_id, user_id, kind, name, secret, last_step)
        VALUES (%(realm_id)s, %(user_id)s, 'totp', %(name)s, %(secret)s, %(step)s)
        RETURNING factor_id
        """,
        realm_id=realm_id,
        user_id=user_id,
        name=name,
        secret=secret,
        step=step,
    )
    return factor_id


async def insert_passkey(
    connection: Connection,
    realm_id: RealmId,
    user_id: UserId,
    *,
    name: str,
    credential_id: bytes,
    public_key: bytes,
    sign_count: int,
) -> FactorId | None:
    """Insert a passkey; return its id, or None if an account has this credential already.

    The caller has locked the user's row.
    """
    factor_id: FactorId | None = await connection.value(
        """
        INSERT INTO second_factors (realm_id, user_id, kind, name, credential_id, public_key,
                                    sign_count)
        VALUES (%(realm_id)s, %(user_id)s, 'passkey', %(name)s, %(credential_id)s, %(public_key)s,
                %(sign_count)s)
            ON CONFLICT (realm_id, credential_id) DO NOTHING
        RETURNING factor_id
        """,
        realm_id=realm_id,
        user_id=user_id,
        name=name,
        credential_id=credential_id,
        public_key=public_key,
        sign_count=sign_count,
    )
    return factor_id


async def use_step(
    connection: Connection, realm_id: RealmId, factor_id: FactorId, step: int
) -> bool:
    """Record the use of a code of this time step.

    Return False if this one or a later one was used before, or if the factor has been removed.
    """
    used = await connection.execute(
        """
        UPDATE second_factors SET last_step = %(step)s, last_used_at = now()
         WHERE realm_id = %(realm_id)s AND factor_id = %(factor_id)s AND last_step < %(step)s
        """,
        realm_id=realm_id,
        factor_id=factor_id,
        step=step,
    )
    return used == 1


async def use_passkey(
    connection: Connection, realm_id: RealmId, factor_id: FactorId, sign_count: int
) -> bool:
    """Record the use of a passkey that reports this number of signatures.

    Return False if it reported as many before, so that there are two of it, or if it has been
    removed.
    """
    used = await connection.execute(
        """
        UPDATE second_factors SET sign_count = %(sign_count)s, last_used_at = now()
         WHERE realm_id = %(realm_id)s AND factor_id = %(factor_id)s
           AND (sign_count < %(sign_count)s OR sign_count = 0 AND %(sign_count)s = 0)
        """,
        realm_id=realm_id,
        factor_id=factor_id,
        sign_count=sign_count,
    )
    return used == 1


async def delete(
    connection: Connection, realm_id: RealmId, user_id: UserId, factor_id: FactorId
) -> str | None:
    """Delete the user's factor; return its name, or None if there is none."""
    name: str | None = await connection.value(
        """
        DELETE FROM second_factors
         WHERE realm_id = %(realm_id)s AND user_id = %(user_id)s AND factor_id = %(factor_id)s
        RETURNING name
        """,
        realm_id=realm_id,
        user_id=user_id,
        factor_id=factor_id,
    )
    return name


async def delete_of_user(connection: Connection, realm_id: RealmId, user_id: UserId) -> int:
    """Delete the user's factors and recovery codes; return how many factors there were."""
    deleted = await connection.execute(
        "DELETE FROM second_factors WHERE realm_id = %(realm_id)s AND user_id = %(user_id)s",
        realm_id=realm_id,
        user_id=user_id,
    )
    await replace_codes(connection, realm_id, user_id, [])
    return deleted


async def replace_codes(
    connection: Connection, realm_id: RealmId, user_id: UserId, digests: Sequence[bytes]
) -> None:
    """Replace the user's recovery codes. The caller has locked the user's row."""
    await connection.execute(
        "DELETE FROM recovery_codes WHERE realm_id = %(realm_id)s AND user_id = %(user_id)s",
        realm_id=realm_id,
        user_id=user_id,
    )
    await connection.execute(
        """
        INSERT INTO recovery_codes (realm_id, user_id, digest)
        SELECT %(realm_id)s, %(user_id)s, unnest(%(digests)s::bytea[])
        """,
        realm_id=realm_id,
        user_id=user_id,
        digests=list(digests),
    )


async def use_code(
    connection: Connection, realm_id: RealmId, user_id: UserId, digest: bytes
) -> bool:
    """Mark the recovery code as used. Return False if there is none that is unused."""
    used = await connection.execute(
        """
        UPDATE recovery_codes SET used_at = now()
         WHERE realm_id = %(realm_id)s AND user_id = %(user_id)s AND digest = %(digest)s
           AND used_at IS NULL
        """,
        realm_id=realm_id,
        user_id=user_id,
        digest=digest,
    )
    return used == 1


async def codes_left(connection: Connection, realm_id: RealmId, user_id: UserId) -> int:
    """Return how many unused recovery codes the user has."""
    left: int = await connection.value(
        """
        SELECT count(*) FROM recovery_codes
         WHERE realm_id = %(realm_id)s AND user_id = %(user_id)s AND used_at IS NULL
        """,
        realm_id=realm_id,
        user_id=user_id,
    )
    return left


async def seconds_left(
    connection: Connection, realm_id: RealmId, user_id: UserId, *, grace_days: int
) -> float:
    """Return for how long the user may be signed in without a second factor; 0: no longer.

    The time runs from the first call. A shorter grace period than then shortens it.
    """
    left: float = await connection.value(
        """
        INSERT INTO second_factor_deadlines AS d (realm_id, user_id, ends_at)
        VALUES (%(realm_id)s, %(user_id)s, now() + make_interval(days => %(grace_days)s))
            ON CONFLICT (realm_id, user_id) DO UPDATE
           SET ends_at = least(d.ends_at, excluded.ends_at)
        RETURNING greatest(extract(epoch FROM ends_at - now()), 0)::float8
        """,
        realm_id=realm_id,
        user_id=user_id,
        grace_days=grace_days,
    )
    return left


async def is_late(
    connection: Connection, realm_id: RealmId, user_id: UserId, *, grace_days: int
) -> bool:
    """Return whether the user's time without a second factor is over, without starting it."""
    return grace_days == 0 or bool(
        await connection.value(
            """
            SELECT EXISTS (SELECT FROM second_factor_deadlines
                            WHERE realm_id = %(realm_id)s AND user_id = %(user_id)s
                              AND ends_at <= now())
            """,
            realm_id=realm_id,
            user_id=user_id,
        )
    )


async def forget_deadlines(connection: Connection, realm_id: RealmId) -> None:
    """Let the time of all users of the realm run anew."""
    await connection.execute(
        "DELETE FROM second_factor_deadlines WHERE realm_id = %(realm_id)s", realm_id=realm_id
    )


async def limit_sessions(
    connection: Connection, realm_id: RealmId, *, lowest_role: int, grace_days: int
) -> None:
    """End sessions of users up to this role who have no second factor after the grace period."""
    await connection.execute(
        """
        UPDATE sessions s
           SET ends_at = least(s.ends_at, now() + make_interval(days => %(grace_days)s))
          FROM users u
         WHERE s.realm_id = %(realm_id)s AND u.realm_id = s.realm_id AND u.user_id = s.user_id
           AND u.role <= %(lowest_role)s
           AND NOT EXISTS (SELECT FROM second_factors f
                            WHERE f.realm_id = s.realm_id AND f.user_id = s.user_id)
        """,
        realm_id=realm_id,
        lowest_role=lowest_role,
        grace_days=grace_days,
    )

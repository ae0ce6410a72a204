"""Accounts with equal address foldings: reported, and never merged."""

from collections.abc import Sequence
from dataclasses import dataclass

from storage.address_folding import fold_address
from storage.ids import RealmId
from storage.migrate import Connection


@dataclass(frozen=True, slots=True)
class SharedAddress:
    """One address of several accounts, as each of them spells it; oldest account first."""

    realm_id: RealmId
    emails: Sequence[str]


def fill_foldings(connection: Connection) -> int:
    """Compute the foldings of non-ASCII addresses, which SQL cannot.

    Return how many.
    """
    rows = connection.execute(
        "SELECT realm_id, user_id, email FROM users WHERE folded_email IS NULL"
    ).fetchall()
    for realm_id, user_id, email in rows:
        connection.execute(
            "UPDATE users SET folded_email = %s"
            " WHERE realm_id = %s AND user_id = %s AND email = %s",
            [fold_address(email), realm_id, user_id, email],
        )
    return len(rows)


def shared_addresses(connection: Connection) -> list[SharedAddress]:
    """Return all shared addresses, in all realms."""
    rows = connection.execute(
        """
        SELECT realm_id, array_agg(email ORDER BY user_id) FROM users
         WHERE folded_email IS NOT NULL
         GROUP BY realm_id, folded_email HAVING count(*) > 1 ORDER BY realm_id, 2
        """
    ).fetchall()
    return [SharedAddress(realm_id, emails) for realm_id, emails in rows]

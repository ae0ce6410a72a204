"""Email domains that belong to a realm."""

from dataclasses import dataclass

from storage.database import Connection
from storage.ids import RealmId


@dataclass(frozen=True, slots=True)
class DomainRow:
    domain: str
    allow_subdomains: bool


async def of_realm(connection: Connection, realm_id: RealmId) -> list[DomainRow]:
    """Return all domains, in the order of creation."""
    return await connection.many(
        DomainRow,
        """
        SELECT domain, allow_subdomains FROM realm_domains
         WHERE realm_id = %(realm_id)s ORDER BY domain_id
        """,
        realm_id=realm_id,
    )


async def insert(connection: Connection, realm_id: RealmId, row: DomainRow) -> int:
    """Insert a domain; return its id. The caller has locked the realm's row exclusively."""
    domain_id: int = await connection.value(
        """
        INSERT INTO realm_domains (realm_id, domain, allow_subdomains)
        VALUES (%(realm_id)s, %(domain)s, %(allow_subdomains)s)
        RETURNING domain_id
        """,
        realm_id=realm_id,
        domain=row.domain,
        allow_subdomains=row.allow_subdomains,
    )
    return domain_id


async def update(connection: Connection, realm_id: RealmId, row: DomainRow) -> None:
    await connection.execute(
        """
        UPDATE realm_domains SET allow_subdomains = %(allow_subdomains)s
         WHERE realm_id = %(realm_id)s AND domain = %(domain)s
        """,
        realm_id=realm_id,
        domain=row.domain,
        allow_subdomains=row.allow_subdomains,
    )


async def delete(connection: Connection, realm_id: RealmId, domain: str) -> None:
    await connection.execute(
        "DELETE FROM realm_domains WHERE realm_id = %(realm_id)s AND domain = %(domain)s",
        realm_id=realm_id,
        domain=domain,
    )

"""Code playgrounds: sites to run code of a language."""

from dataclasses import dataclass

from storage.database import Connection
from storage.ids import PlaygroundId, RealmId


@dataclass(frozen=True, slots=True)
class PlaygroundRow:
    playground_id: PlaygroundId
    name: str
    pygments_language: str
    url_template: str


async def of_realm(connection: Connection, realm_id: RealmId) -> list[PlaygroundRow]:
    return await connection.many(
        PlaygroundRow,
        """
        SELECT playground_id, name, pygments_language, url_template FROM playgrounds
         WHERE realm_id = %(realm_id)s ORDER BY playground_id
        """,
        realm_id=realm_id,
    )


async def insert(
    connection: Connection, realm_id: RealmId, *, name: str, language: str, url_template: str
) -> PlaygroundId:
    """Insert a playground. The caller has locked the realm's row exclusively."""
    playground_id: PlaygroundId = await connection.value(
        """
        INSERT INTO playgrounds (realm_id, name, pygments_language, url_template)
        VALUES (%(realm_id)s, %(name)s, %(language)s, %(url_template)s)
        RETURNING playground_id
        """,
        realm_id=realm_id,
        name=name,
        language=language,
        url_template=url_template,
    )
    return playground_id


async def delete(connection: Connection, realm_id: RealmId, playground_id: PlaygroundId) -> None:
    await connection.execute(
        """
        DELETE FROM playgrounds
         WHERE realm_id = %(realm_id)s AND playground_id = %(playground_id)s
        """,
        realm_id=realm_id,
        playground_id=playground_id,
    )

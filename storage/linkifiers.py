"""Linkifiers: patterns of text that become links, in order of precedence."""

from collections.abc import Sequence
from dataclasses import dataclass

from storage.database import Connection
from storage.ids import LinkifierId, RealmId


@dataclass(frozen=True, slots=True)
class LinkifierRow:
    linkifier_id: LinkifierId
    pattern: str
    url_template: str
    example_input: str | None = None
    """Text that the pattern matches."""
    reverse_template: str | None = None
    """Makes the text again from the groups."""
    alternative_url_templates: tuple[str, ...] = ()
    """Other addresses of the same things, which clients recognise as well."""

    def __post_init__(self) -> None:
        # The driver gives a list.
        object.__setattr__(self, "alternative_url_templates", (*self.alternative_url_templates,))


async def of_realm(connection: Connection, realm_id: RealmId) -> list[LinkifierRow]:
    return await connection.many(
        LinkifierRow,
        """
        SELECT linkifier_id, pattern, url_template, example_input, reverse_template,
               alternative_url_templates
          FROM linkifiers
         WHERE realm_id = %(realm_id)s ORDER BY sort_order, linkifier_id
        """,
        realm_id=realm_id,
    )


async def insert(
    connection: Connection,
    realm_id: RealmId,
    *,
    pattern: str,
    url_template: str,
    example_input: str | None = None,
    reverse_template: str | None = None,
    alternative_url_templates: Sequence[str] = (),
) -> LinkifierId:
    """Insert it at the end. The caller has locked the realm's row exclusively."""
    linkifier_id: LinkifierId = await connection.value(
        """
        INSERT INTO linkifiers (realm_id, pattern, url_template, example_input,
                                reverse_template, alternative_url_templates, sort_order)
        SELECT %(realm_id)s, %(pattern)s, %(url_template)s, %(example_input)s,
               %(reverse_template)s, %(alternatives)s::text[], coalesce(max(sort_order), 0) + 1
          FROM linkifiers WHERE realm_id = %(realm_id)s
        RETURNING linkifier_id
        """,
        realm_id=realm_id,
        pattern=pattern,
        url_template=url_template,
        example_input=example_input,
        reverse_template=reverse_template,
        alternatives=list(alternative_url_templates),
    )
    return linkifier_id


async def update(connection: Connection, realm_id: RealmId, row: LinkifierRow) -> None:
    """Update all but the order of precedence.

    The caller has locked the realm's row exclusively.
    """
    await connection.execute(
        """
        UPDATE linkifiers
           SET pattern = %(pattern)s, url_template = %(url_template)s,
               example_input = %(example_input)s, reverse_template = %(reverse_template)s,
               alternative_url_templates = %(alternatives)s::text[]
         WHERE realm_id = %(realm_id)s AND linkifier_id = %(linkifier_id)s
        """,
        realm_id=realm_id,
        linkifier_id=row.linkifier_id,
        pattern=row.pattern,
        url_template=row.url_template,
        example_input=row.example_input,
        reverse_template=row.reverse_template,
        alternatives=list(row.alternative_url_templates),
    )


async def update_order(
    connection: Connection, realm_id: RealmId, ids: Sequence[LinkifierId]
) -> None:
    """Update the order of precedence. The caller has locked the realm's row exclusively."""
    await connection.execute(
        """
        UPDATE linkifiers l SET sort_order = n.place
          FROM unnest(%(ids)s::bigint[]) WITH ORDINALITY AS n(linkifier_id, place)
         WHERE l.realm_id = %(realm_id)s AND l.linkifier_id = n.linkifier_id
        """,
        realm_id=realm_id,
        ids=list(ids),
    )


async def delete(connection: Connection, realm_id: RealmId, linkifier_id: LinkifierId) -> None:
    await connection.execute(
        """
        DELETE FROM linkifiers
         WHERE realm_id = %(realm_id)s AND linkifier_id = %(linkifier_id)s
        """,
        realm_id=realm_id,
        linkifier_id=linkifier_id,
    )

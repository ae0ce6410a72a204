"""Shared contacts: users who share a channel or a direct-message group."""

from collections.abc import Sequence

from storage.database import Connection
from storage.ids import RealmId, UserId


async def known_to(connection: Connection, realm_id: RealmId, user_id: UserId) -> set[UserId]:
    """Return the users who share a channel or direct-message group with the user, and the user."""
    return set((await known_to_each(connection, realm_id, [user_id]))[user_id])


async def known_to_each(
    connection: Connection,
    realm_id: RealmId,
    user_ids: Sequence[UserId],
    *,
    among: Sequence[UserId] | None = None,
) -> dict[UserId, frozenset[UserId]]:
    """Return, for each user, those who share a channel or a direct-message group with them.

    With `among` only those of them; each user is always included in their own set.
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


async def partners_of_each(
    connection: Connection, realm_id: RealmId, user_ids: Sequence[UserId]
) -> dict[UserId, list[UserId]]:
    """Return, for each user, those who share a direct-message group with them."""
    rows = await connection.tuples(
        """
        SELECT mine.user_id, array_agg(DISTINCT theirs.user_id)
          FROM dm_group_members mine
          JOIN dm_groups g ON g.realm_id = mine.realm_id AND g.dm_group_id = mine.dm_group_id
         CROSS JOIN LATERAL unnest(g.user_ids) AS theirs(user_id)
         WHERE mine.realm_id = %(realm_id)s AND mine.user_id = ANY(%(user_ids)s)
         GROUP BY mine.user_id
        """,
        realm_id=realm_id,
        user_ids=list(user_ids),
    )
    return dict(rows)

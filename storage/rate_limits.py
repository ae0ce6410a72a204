"""Request budgets by key and window, leased by the serving processes."""

from dataclasses import dataclass
from typing import Final

from storage.database import Connection


@dataclass(frozen=True, slots=True)
class LeaseRow:
    """A lease, and the state of the key in the present window."""

    granted: int
    """0 if the budget is used up, or was leased by others concurrently (`free` > 0)."""
    free: int
    """The budget that was left before."""
    window: int
    """Number of the window, by the database's clock."""
    elapsed: float
    """Seconds since it began."""
    used: int
    """Usage in this window, this lease included."""
    used_before: int
    """Usage in the previous window, which counts by the share that the last `seconds` cover."""


_LEASE: Final = """
    WITH moment AS (
        SELECT floor(extract(epoch FROM now()) / %(seconds)s)::bigint AS number,
               (extract(epoch FROM now()) %% %(seconds)s)::float8 AS elapsed
    ), given_back AS (
        UPDATE rate_limits SET used = used - %(unused)s
         WHERE key = %(key)s AND %(unused)s > 0
           AND window_start = to_timestamp(%(unused_window)s::bigint * %(seconds)s)
           AND %(unused_window)s < (SELECT number FROM moment)
    ), before AS (
        SELECT coalesce(sum(r.used - CASE WHEN %(unused_window)s = number - 1
                                          THEN %(unused)s ELSE 0 END), 0)::int AS used
          FROM moment JOIN rate_limits r
            ON r.key = %(key)s AND r.window_start = to_timestamp((number - 1) * %(seconds)s)
    ), present AS (
        SELECT r.used FROM rate_limits r
         WHERE r.key = %(key)s
           AND r.window_start = to_timestamp((SELECT number FROM moment) * %(seconds)s)
           FOR UPDATE
    ), budget AS (
        SELECT floor(%(limit)s - before.used * (1 - elapsed / %(seconds)s))::int AS in_window,
               coalesce((SELECT used FROM present), 0) AS used
          FROM moment, before
    ), leased AS (
        INSERT INTO rate_limits AS r (key, window_start, used)
        SELECT %(key)s, to_timestamp(number * %(seconds)s),
               greatest(1, (in_window - used) / 4)
          FROM moment, budget WHERE in_window > used
        ON CONFLICT (key, window_start) DO UPDATE SET used = r.used + excluded.used
         WHERE r.used + excluded.used <= (SELECT in_window FROM budget)
        RETURNING r.used
    )
    SELECT coalesce((SELECT greatest(1, (in_window - budget.used) / 4) FROM leased), 0)
               AS granted,
           greatest(0, in_window - budget.used) AS free,
           number AS window,
           elapsed,
           coalesce((SELECT used FROM leased), budget.used) AS used,
           before.used AS used_before
      FROM moment, budget, before
"""


async def lease(
    connection: Connection,
    key: str,
    *,
    limit: int,
    seconds: int,
    unused: int = 0,
    unused_window: int = 0,
) -> LeaseRow:
    """Lease a quarter of what is left of the key's budget: `limit` uses in any `seconds`.

    `unused` of an earlier lease, in the window `unused_window`, are returned.
    """
    row = await connection.one(
        LeaseRow,
        _LEASE,
        key=key,
        limit=limit,
        seconds=seconds,
        unused=unused,
        unused_window=unused_window,
    )
    assert row is not None, "the query always gives a row"
    return row


async def forget(connection: Connection, key: str) -> None:
    """Reset the key's budget."""
    await connection.execute("DELETE FROM rate_limits WHERE key = %(key)s", key=key)


async def delete_old(connection: Connection, prefix: str, *, seconds: int) -> None:
    """Delete windows of `seconds` that no longer count, for all keys with this prefix."""
    await connection.execute(
        """
        DELETE FROM rate_limits
         WHERE starts_with(key, %(prefix)s)
           AND (window_start < now() - make_interval(secs => 2 * %(seconds)s)
                OR window_start > now() + make_interval(secs => 2 * %(seconds)s))
        """,
        prefix=prefix,
        seconds=seconds,
    )

"""Reasons for refusing a database that responds: each is one sentence."""

import psycopg

from storage.lineage import NEVER_SERVED, Lineage


class RefusedError(psycopg.OperationalError):
    """The database responds, and must not be used as it is; the message is one sentence."""

    def __init__(self, sentence: str, *, brief: str) -> None:
        super().__init__(sentence)
        self.brief = brief
        """A few words that are safe to show."""


def older_database(name: str, found: Lineage, seen: Lineage) -> RefusedError:
    """Return the error for an old primary that is back, or a standby promoted too late."""
    own = f"generation {found.generation}, timeline {found.timeline}"
    if found.generation == NEVER_SERVED:
        own = "no server has ever used it"
    leads = f"generation {seen.generation}, timeline {seen.timeline}"
    return RefusedError(
        f"The database at {name} is older than the one that leads ({own}, where {leads} leads), and"
        " what is written there would be lost: stop it, or make it a standby of the one that"
        " leads.",
        brief="older than the one that leads",
    )


def standby_database(name: str) -> RefusedError:
    return RefusedError(
        f"The database at {name} is a standby, which takes no writes: name the one that it"
        " follows.",
        brief="a standby, which takes no writes",
    )


def unconfirmed_writes(reason: str) -> RefusedError:
    """Return the error for a primary without the standby that the operator requires."""
    return RefusedError(
        f"The database cannot have writes confirmed by a standby ({reason}), and"
        " PARLEY_DATABASE_STRICT_REPLICATION asks for that: let a standby follow it that"
        " synchronous_standby_names names, or turn the setting off.",
        brief="no standby confirms writes",
    )


def shared_sessions() -> RefusedError:
    """Return the error for a pooler that shares sessions between clients."""
    return RefusedError(
        "A pooler between Parley and its database shares connections between transactions, which"
        " mixes up what is prepared, locked and listened to: let it pool sessions"
        " (pool_mode = session), or name Postgres itself in DATABASE_URL.",
        brief="a pooler shares its connections between transactions",
    )

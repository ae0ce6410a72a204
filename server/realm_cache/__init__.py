"""Cache of a realm's rows, by key, on which decisions are based.

A row has the position of its last change (`changed_at`), and a decision based on a cached row is
verified against it when it is written: a stale row costs a retry, never a wrong write. Log entries
name the rows that they change, which are then invalidated here.
"""

from server.realm_cache.cache import DEFAULT_ADDRESSES, RealmCache, RealmCaches, Rendering
from server.realm_cache.keys import (
    ALERT_WORDS,
    EMOJI,
    GROUPS,
    LINKIFIERS,
    REALM,
    ROLL,
    Touch,
    channel_key,
    subscription_key,
    topic_key,
    user_key,
)
from server.realm_cache.rows import CAPACITY

__all__ = (
    "ALERT_WORDS",
    "CAPACITY",
    "DEFAULT_ADDRESSES",
    "EMOJI",
    "GROUPS",
    "LINKIFIERS",
    "REALM",
    "ROLL",
    "RealmCache",
    "RealmCaches",
    "Rendering",
    "Touch",
    "channel_key",
    "subscription_key",
    "topic_key",
    "user_key",
)

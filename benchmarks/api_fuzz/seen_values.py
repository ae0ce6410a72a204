"""Ids and names seen in responses, by parameter name, for use in later requests."""

from collections import deque
from collections.abc import Iterator
from random import Random
from typing import Any

Scalar = int | str

KEPT = 60
"""Recent values kept of each name: older ones may be gone."""
LONGEST = 300
PLURALS = {
    "channel_folders": "channel_folder_id",
    "custom_profile_fields": "field_id",
    "drafts": "draft_id",
    "exports": "export_id",
    "invites": "invite_id",
    "messages": "message_id",
    "navigation_views": "fragment",
    "realm_linkifiers": "filter_id",
    "realm_playgrounds": "playground_id",
    "reminders": "reminder_id",
    "saved_snippets": "saved_snippet_id",
    "scheduled_messages": "scheduled_message_id",
    "streams": "stream_id",
    "subscriptions": "stream_id",
    "user_groups": "user_group_id",
    "attachments": "attachment_id",
}
"""The parameter that takes the `id` of items in such a list."""
SAME = {
    "sender_id": "user_id",
    "bot_id": "user_id",
    "bot_owner_id": "user_id",
    "actor_id": "user_id",
    "muted_user_id": "user_id",
    "user_id_or_email": "user_id",
    "principals": "user_id",
    "user_ids": "user_id",
    "members": "user_id",
    "new_owner": "user_id",
    "msg_ids": "message_id",
    "message_ids": "message_id",
    "anchor": "message_id",
    "folder_id": "channel_folder_id",
    "stream": "name",
    "display_recipient": "name",
    "subject": "topic",
    "topic_name": "topic",
    "group_id": "user_group_id",
    "new_stream_announcements_stream_id": "stream_id",
    "ordered_linkifier_ids": "filter_id",
    "stream_ids": "stream_id",
    "username": "email",
    "short_name": "email",
    "upload": "tus",
}
"""Names under which the same things go."""
BY_PATH = {
    "/messages": "message_id",
    "/bots": "user_id",
    "/users": "user_id",
    "/user_groups/create": "user_group_id",
    "/channel_folders/create": "channel_folder_id",
    "/channels/create": "stream_id",
    "/realm/filters": "filter_id",
    "/realm/playgrounds": "playground_id",
    "/realm/profile_fields": "field_id",
    "/realm/domains": "domain",
    "/export/realm": "export_id",
    "/drafts": "draft_id",
    "/users/me/api_keys": "key_id",
    "/invites/multiuse": "invite_id",
}
"""The parameter that takes a bare `id`, or `ids`, of a response, by the path requested."""


OWN = frozenset(
    {
        *("draft_id", "reminder_id", "scheduled_message_id", "saved_snippet_id", "key_id", "tus"),
        *("fragment", "attachment_id", "queue_id", "last_event_id", "url"),
    }
)
"""Values of use only to the users who received them."""
NEWEST = 4
"""Half the time one of so few is taken: what is new is there still."""


class SeenValues:
    """Pools of values by name."""

    def __init__(self) -> None:
        self._pools: dict[str, deque[Scalar]] = {}
        self.account_kind = ""
        """The kind of account that makes the current request."""

    def learn(self, path: str, body: Any) -> None:
        """Keep what the answer of this path tells."""
        for name, value in _scalars(body, BY_PATH.get(path, "id")):
            self.keep(name, value)

    def keep(self, name: str, value: Scalar) -> None:
        pool = self._pools.setdefault(self._place(name), deque(maxlen=KEPT))
        if value not in pool:
            pool.append(value)

    def any_of(self, random: Random, name: str) -> Scalar | None:
        """Something that goes by this name; None if nothing does."""
        pool = list(self._pools.get(self._place(name), ()))
        if random.random() < 0.5:
            pool = pool[-NEWEST:]
        return random.choice(pool) if pool else None

    def _place(self, name: str) -> str:
        name = SAME.get(name, name)
        return f"{self.account_kind} {name}" if name in OWN else name

    def any_id(self, random: Random) -> Scalar:
        """An id of something else."""
        pools = [pool for name, pool in sorted(self._pools.items()) if name.endswith("_id")]
        return random.choice(random.choice(pools)) if pools else 1


def _scalars(value: Any, id_is: str, name: str = "") -> Iterator[tuple[str, Scalar]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _scalars(inner, id_is, id_is if key in {"id", "ids"} else str(key))
    elif isinstance(value, list):
        inner_id = PLURALS.get(name, "id" if name == "" else id_is)
        for inner in value[:KEPT]:
            yield from _scalars(inner, inner_id, name)
    elif isinstance(value, bool) or not isinstance(value, int | str):
        return
    elif isinstance(value, int) or 0 < len(value) <= LONGEST:
        yield name, value

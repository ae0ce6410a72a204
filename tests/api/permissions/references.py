"""Parameters that name something by its id, or by a name: with values from another realm."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from server.domain.permission_settings import (
    CHANNEL_PERMISSIONS,
    GROUP_PERMISSIONS,
    REALM_PERMISSIONS,
)
from server.domain.realm_changes import CHANNEL_SETTINGS
from tests.api.permissions import world
from tests.api.permissions.expectations import Objects
from tests.api.permissions.world import OTHER, World

Given = Callable[[World], Awaitable[Any]]

TEXTS: Final = frozenset(
    {
        "domain",
        "email",
        "fragment",
        "queue_id",
        "stream",
        "stream_names",
        "subscriptions",
        "username",
    }
)
"""Parameters that name something by a text."""
NUMBERS: Final = frozenset(
    {
        "add",
        "add_subgroups",
        "data",
        "delete",
        "delete_subgroups",
        "messages",
        "order",
        "principals",
        "profile_data",
        "subscription_data",
        "to",
    }
)
"""Parameters that name something by numbers, beside those that are called `_id` or `_ids`."""
REFERENCES: Final = TEXTS | NUMBERS
"""Those that the table of permissions gives values for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Swap:
    """One parameter of a request that is sound otherwise, and its value in the other realm."""

    endpoint: str
    parameter: str
    value: Given
    base: Objects = world.nothing
    fields: Mapping[str, Any] = field(default_factory=dict)


SWAPS: list[Swap] = []


def swap(
    endpoint: str,
    parameter: str,
    *values: Given,
    base: Objects = world.nothing,
    fields: Mapping[str, Any] | None = None,
) -> None:
    """A request of the table with another parameter, once for each way to name something."""
    SWAPS.extend(
        Swap(endpoint=endpoint, parameter=parameter, value=value, base=base, fields=fields or {})
        for value in values
    )


async def user_ids(there: World) -> list[int]:
    return [there.people[OTHER].user_id]


async def user_id(there: World) -> int:
    return there.people[OTHER].user_id


async def email(there: World) -> str:
    return there.people[OTHER].email


async def emails(there: World) -> list[str]:
    return [there.people[OTHER].email]


async def group_id(there: World) -> int:
    return await there.make.group(there.text())


async def group_ids(there: World) -> list[int]:
    return [await group_id(there)]


async def channel_id(there: World) -> int:
    return there.channels["public"].channel_id


async def private_channel_id(there: World) -> int:
    return there.channels["secret"].channel_id


async def open_channel_id(there: World) -> int:
    return there.channels["web"].channel_id


async def owner_id(there: World) -> int:
    return there.people["O"].user_id


async def folder_id(there: World) -> int:
    return int((await world.folder(there, "O", "own"))["channel_folder_id"])


async def device_id(there: World) -> int:
    return int((await world.client_device(there, "O", "own"))["device_id"])


async def channel_name(there: World) -> str:
    return there.channels["public"].name


async def message_id(there: World) -> int:
    return int((await world.message(there, "m", "own"))["message_id"])


async def message_ids(there: World) -> list[int]:
    return [await message_id(there)]


async def queue_id(there: World) -> str:
    return str((await world.queue(there, "m", "own"))["queue_id"])


async def export_id(there: World) -> int:
    return int((await world.export(there, "O", "none"))["export_id"])


async def audit_id(there: World) -> int:
    found = (await there.clients["O"].get("/realm/audit_log"))["entries"]
    return int(found[0]["id"])


async def answers(there: World) -> list[Any]:
    return list((await world.answer(there, "O", "own"))["data"])


def draft_to(*, direct: bool) -> Given:
    async def draft(there: World) -> dict[str, Any]:
        to = [await (user_id if direct else channel_id)(there)]
        kind = "private" if direct else "stream"
        return {"type": kind, "to": to, "topic": "t", "content": "hello"}

    return draft


def listed(given: Given) -> Given:
    async def value(there: World) -> list[Any]:
        return [await given(there)]

    return value


def direct(given: Given, *, members: bool) -> Given:
    """A permission that names this directly."""

    async def value(there: World) -> dict[str, Any]:
        named, empty = [await given(there)], list[int]()
        return {
            "direct_members": named if members else empty,
            "direct_subgroups": empty if members else named,
        }

    return value


def new(given: Given) -> Given:
    async def value(there: World) -> dict[str, Any]:
        return {"new": await given(there)}

    return value


def narrow(operator: str, given: Given) -> Given:
    async def value(there: World) -> list[Any]:
        return [[operator, await given(there)]]

    return value


def targets(name: str, given: Given) -> Given:
    """Users to change settings of, named like this."""

    async def value(there: World) -> dict[str, Any]:
        return {name: await given(there), "skip_if_already_edited": False}

    return value


PERMISSION: Final = (group_id, direct(user_id, members=True), direct(group_id, members=False))
NEW_PERMISSION: Final = tuple(new(each) for each in PERMISSION)
NARROWS: Final = (
    narrow("channel", channel_id),
    narrow("channel", channel_name),
    narrow("sender", user_id),
    narrow("dm", user_ids),
    narrow("dm-including", user_ids),
    narrow("mentions", user_id),
    narrow("id", message_id),
    narrow("near", message_id),
    narrow("with", message_id),
)
PAGE: Final = {"anchor": "newest", "num_before": 1, "num_after": 0}
CHANNEL: Final = {"type": "channel", "topic": "t", "content": "hello"}

for name in CHANNEL_PERMISSIONS:
    swap("POST /channels/create", name, *PERMISSION, base=world.new_channel)
    swap("POST /users/me/subscriptions", name, *PERMISSION, base=world.new_subscription)
    swap("PATCH /streams/{stream_id}", name, *NEW_PERMISSION, base=world.one_channel)
for name in GROUP_PERMISSIONS:
    swap("POST /user_groups/create", name, *PERMISSION, base=world.new_group)
    swap("PATCH /user_groups/{user_group_id}", name, *NEW_PERMISSION, base=world.group)
for path in ("/settings", "/settings/display", "/settings/notifications"):
    named = (targets("user_ids", user_ids), targets("group_ids", group_ids))
    swap(f"PATCH {path}", "target_users", *named, fields={"starred_message_counts": False})
path = "GET /streams/{stream_id}/email_address"
swap(path, "sender_id", owner_id, base=world.one_channel)
swap("POST /channels/create", "folder_id", folder_id, base=world.new_channel)
swap("POST /users/me/subscriptions", "folder_id", folder_id, base=world.new_subscription)
swap("PATCH /streams/{stream_id}", "folder_id", folder_id, base=world.one_channel)
swap("POST /channels/create", "subscribers", user_ids, base=world.new_channel)
swap("POST /users/me/subscriptions", "principals", user_ids, emails, base=world.subscription)
swap("DELETE /users/me/subscriptions", "principals", emails, base=world.own_subscription)
swap("POST /user_groups/create", "members", user_ids, base=world.new_group)
swap("POST /user_groups/create", "subgroups", group_ids, base=world.new_group)
for name in ("add", "delete"):
    path = "POST /user_groups/{user_group_id}/members"
    swap(path, f"{name}_subgroups", group_ids, base=world.group)
    swap("POST /user_groups/{user_group_id}/subgroups", name, group_ids, base=world.group)
path = "POST /user_groups/{user_group_id}/members"
swap(path, "add", user_ids, base=world.group)
swap(path, "delete", user_ids, base=world.group_of_other)
for term in NARROWS[:-2]:
    path = "POST /compliance/cases/{case_id}/search"
    swap(path, "narrow", term, base=world.compliance_case)
swap(
    "POST /compliance/officers",
    "user_id",
    user_id,
    base=world.future_officer,
    fields={"old_password": world.PASSWORD},
)
swap("POST /compliance/legal_holds", "user_ids", user_ids, base=world.new_hold)
swap("POST /compliance/legal_holds", "channel_ids", listed(channel_id), base=world.new_hold)
swap("GET /realm/retention_preview", "stream_id", channel_id, fields={"days": 30})
swap("POST /invites", "stream_ids", listed(channel_id), base=world.new_invitation)
nowhere: Mapping[str, Any] = {"stream_ids": []}
swap("POST /invites", "group_ids", group_ids, base=world.new_invitation, fields=nowhere)
swap("POST /invites/multiuse", "stream_ids", listed(channel_id))
swap("POST /invites/multiuse", "group_ids", group_ids)
swap("POST /messages", "to", channel_name, channel_id, listed(channel_id), fields=CHANNEL)
swap("POST /messages", "to", user_ids, emails, fields={"type": "direct", "content": "hello"})
swap("POST /messages", "queue_id", queue_id, base=world.place, fields=CHANNEL | {"local_id": "7"})
path = "PATCH /scheduled_messages/{scheduled_message_id}"
swap(path, "to", channel_id, base=world.scheduled_message, fields={"type": "channel", "topic": "t"})
swap(path, "to", user_ids, base=world.scheduled_message, fields={"type": "direct"})
swap("POST /typing", "to", user_ids, fields={"op": "start", "type": "direct"})
swap("PATCH /messages/{message_id}", "stream_id", open_channel_id, base=world.message)
swap("PATCH /messages", "stream_id", open_channel_id, base=world.message_in_bulk)
swap("GET /messages", "narrow", *NARROWS, fields=PAGE)
swap("GET /messages", "message_ids", message_ids)
swap("GET /messages", "anchor", message_id, fields={"num_before": 1, "num_after": 0})
swap(
    "POST /messages/flags/narrow",
    "narrow",
    *NARROWS,
    fields=PAGE | {"op": "add", "flag": "read"},
)
swap(
    "POST /messages/flags/narrow",
    "anchor",
    message_id,
    fields={"num_before": 1, "num_after": 0, "narrow": [], "op": "add", "flag": "read"},
)
swap("GET /messages/matches_narrow", "msg_ids", message_ids, fields={"narrow": []})
swap("GET /messages/matches_narrow", "narrow", *NARROWS, fields={"msg_ids": []})
swap("GET /users", "user_ids", user_ids)
swap("POST /remove_client_device", "device_id", device_id)
swap("POST /mobile_push/register", "device_id", device_id)
swap("PATCH /users/{email}", "profile_data", answers, base=world.email)
swap("GET /realm/audit_log", "actor_id", user_id)
swap("GET /realm/audit_log", "before", audit_id)
swap("DELETE /export/realm/{export_id}", "export_id", export_id)
swap("POST /drafts", "drafts", *(listed(draft_to(direct=each)) for each in (True, False)))
for each in (True, False):
    swap("PATCH /drafts/{draft_id}", "draft", draft_to(direct=each), base=world.draft)
swap(
    "PATCH /users/me/subscriptions/muted_topics",
    "stream",
    channel_name,
    fields={"op": "add", "topic": "t"},
)
swap("PATCH /bots/{bot_id}", "bot_owner_id", user_id, base=world.bot)
swap("POST /register", "narrow", narrow("channel", channel_name), narrow("sender", email))

# Last, for afterwards others govern.
for name in REALM_PERMISSIONS:
    swap("PATCH /realm", name, *NEW_PERMISSION)
for name in CHANNEL_SETTINGS:
    is_private = name == "moderation_request_channel_id"
    swap("PATCH /realm", name, private_channel_id if is_private else channel_id)

LENIENT: Final = {
    "POST /external/{integration} stream": "a channel is looked for if there is a message to post",
    "GET /external/{integration} stream": "the answer is the challenge: nothing is posted",
    "GET /messages anchor": "any number is a place in a history",
    "GET /messages message_ids": "those of them that there are",
    "GET /messages narrow": "some operators only choose: an unknown id matches nothing",
    "GET /messages/matches_narrow msg_ids": "those of them that there are",
    "GET /messages/matches_narrow narrow": "some operators only choose",
    "GET /realm/audit_log actor_id": "chooses among entries",
    "GET /realm/audit_log before": "any number is a place in the log",
    "GET /users user_ids": "those of them that there are",
    "POST /drafts drafts": "a draft is text: where it leads is looked at when it is sent",
    "PATCH /drafts/{draft_id} draft": "a draft is text",
    "POST /messages queue_id": "a queue that is not one's own hears no local_id",
    "POST /messages/delete message_ids": "what one may not read is gone already",
    "POST /messages/flags messages": "spec 12: the answer lists those that have changed",
    "POST /messages/flags/narrow anchor": "any number is a place in a history",
    "POST /messages/flags/narrow narrow": "some operators only choose",
    "POST /register narrow": "chooses among events",
}
"""Requests accepted with an unknown id: the response is the same for any such id."""

NAMES_NOTHING: Final = {
    "POST /mobile_push/register push_key_id": "the client's own number for a key",
    "POST /mobile_push/register token_id": "the hash of a token",
    "POST /mobile_push/e2ee/test_notification device_id": "a choice among one's own devices",
    "POST /mobile_push/register push_account_id": "the client's own name for the account",
    "POST /mobile_push/e2ee/test_notification push_account_id": "the same, among one's own",
    "POST /web_push/test_notification subscription_id": "a choice among one's own browsers",
    "GET /events last_event_id": "a place in one's own queue",
    "PATCH /realm string_id": "a new address",
    "POST /messages/{message_id}/buttons/click button_id": "a name within the message",
    "POST /messages/{message_id}/buttons/click local_id": "the client's own name for the click",
    **{
        f"{endpoint} {name}": "no bot has any"
        for endpoint in ("POST /bots", "PATCH /bots/{bot_id}")
        for name in ("config_data", "default_events_register_stream", "default_sending_stream")
    },
    "PATCH /realm/profile_fields/{field_id} field_data": "choices, or an address",
    "PATCH /users/{email} new_email": "a new address",
    "POST /users email": "a new address",
    "PATCH /users/{user_id} new_email": "a new address",
    "POST /realm/profile_fields field_data": "choices, or an address",
    "POST /realm/domains domain": "a new one",
    "POST /messages local_id": "any text",
    "POST /navigation_views fragment": "a new view",
    "POST /users/me/presence last_update_id": "a place in what one has been told",
    "PATCH /users/me/subscriptions add": "names are the realm's own: a new channel",
    "POST /users/me/subscriptions subscriptions": "names are the realm's own: a new channel",
    **{
        f"PATCH {path} {name}": "one's own, or a word for a choice"
        for path in ("/settings", "/settings/display", "/settings/notifications")
        for name in ("email", "demote_inactive_streams")
    },
    "PATCH /realm/user_settings_defaults demote_inactive_streams": "a word for a choice",
    "POST /register include_subscribers": "a word for a choice",
    "GET /users/me/subscriptions include_subscribers": "a word for a choice",
}
"""Parameters that are called like ids and names, and name nothing that is there."""

NOT_EVEN_ONES_OWN: Final = {
    "POST /user_groups/{user_group_id}/members delete_subgroups": "nothing is nested yet",
    "POST /user_groups/{user_group_id}/subgroups delete": "nothing is nested yet",
    "PATCH /realm can_access_all_users_group": "takes role groups only",
    "PATCH /realm can_create_web_public_channel_group": "takes role groups only",
    "POST /mobile_push/register device_id": "nothing reaches phones here",
}
"""What is refused with any id."""

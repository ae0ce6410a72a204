"""A realm with a user of each kind, and the objects that requests are about."""

import base64
import itertools
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final

from server.domain.access import ADMINISTRATOR, GUEST, MEMBER, MODERATOR, OWNER
from server.domain.clock import SystemClock
from server.domain.message_buttons import Button, encode_buttons
from server.domain.passwords import Passwords
from server.domain.realm_settings import NO_CHANNEL
from server.domain.system_bots import WELCOME_BOT
from server.domain.thumbnails import STILL, key_of
from server.domain.unsubscribing import PURPOSE, Subscriber, token_for
from server.imports.report import ImportReport
from server.previews.pictures import LinkedPicture
from storage import (
    account_exports,
    bots,
    command_calls,
    compliance,
    credentials,
    default_channel_groups,
    import_requests,
    imports,
    invitations,
    legal_holds,
    realm_emoji,
    realm_exports,
    scim,
    second_factors,
    server_keys,
    user_grants,
    users,
)
from storage.blobs import new_key
from storage.bots import ServiceRow, insert_service
from storage.channels import ChannelRow
from storage.command_calls import CommandCallRow
from storage.compliance import CaseRow
from storage.conversations import TopicRow
from storage.ids import ComplianceCaseId, GroupId, LegalHoldId, Position, UserId
from storage.imports import ImportRow
from storage.invitations import InvitationTerms
from storage.legal_holds import LegalHoldRow
from storage.realms import by_id
from storage.users import UserRow
from testkit.clients.api import Client
from testkit.clients.server import Server
from testkit.factories import Make
from testkit.images import picture
from testkit.services.browser_push import Browser

ROLES: Final = {"O": OWNER, "A": ADMINISTRATOR, "M": MODERATOR, "m": MEMBER, "g": GUEST}
"""People by a letter. `b` is a bot of the member."""
OTHER: Final = "other"
"""Another member, who owns what is not one's own."""
PASSWORD: Final = "correct horse battery staple"

CHANNEL_OF: Final = {
    "own": "public",
    "others": "public",
    "private": "secret",
    "archived": "closed",
    "web": "web",
    "strange": "strange",
}
"""Where a message of each kind is: all are subscribed to `public` and `closed`, only the other
member to the rest."""

Values = dict[str, Any]
"""Parameters by name, those of the path among them."""
IN_TIME = {"scheduled_delivery_timestamp": 4_000_000_000}
"""For what is put off: it never comes due."""

_numbers = itertools.count(1)


@dataclass(frozen=True)
class World:
    """A realm on a server. Each object in it belongs to a user; `mark` is in all its texts."""

    server: Server
    make: Make
    people: Mapping[str, UserRow]
    clients: Mapping[str, Client]
    channels: Mapping[str, ChannelRow]
    topics: Mapping[str, TopicRow]
    gone: UserRow
    """Deactivated."""
    mark: str

    @classmethod
    async def of(
        cls, server: Server, make: Make, connect: Callable[..., Awaitable[Client]], mark: str
    ) -> "World":
        """With settings under which everything works that the operator has not switched off."""
        await make.notification_bot()
        await make.system_bot(WELCOME_BOT)
        people = {
            letter: await make.user(f"{mark} {letter}", role=role) for letter, role in ROLES.items()
        }
        people["b"] = await make.user(f"{mark} bot", bot_type=1, bot_owner=people["m"])
        people[OTHER] = await make.user(f"{mark} other")
        everyone = list(people.values())
        other = [people[OTHER]]
        channels = {
            "public": await make.channel(f"{mark} public", subscribers=everyone, creator=other[0]),
            "secret": await make.channel(f"{mark} secret", subscribers=other, invite_only=True),
            "closed": await make.channel(f"{mark} closed", subscribers=everyone, is_archived=True),
            "web": await make.channel(f"{mark} web", subscribers=other, is_web_public=True),
            "strange": await make.channel(f"{mark} strange", subscribers=other),
        }
        await make.change_settings(
            enable_read_receipts=True,
            enable_spectator_access=True,
            moderation_request_channel_id=channels["secret"].channel_id,
            new_stream_announcements_stream_id=NO_CHANNEL,
        )
        with Passwords(1) as passwords:
            hashed = await passwords.hash(PASSWORD)
        for row in people.values():
            if row.bot_type is None:
                await credentials.update_password(
                    make.connection, make.realm_id, row.user_id, hashed
                )
        return cls(
            server,
            make,
            people,
            {letter: await connect(server, make.realm_id, row) for letter, row in people.items()},
            channels,
            {name: await make.topic(row, f"{mark} topic") for name, row in channels.items()},
            await make.user(f"{mark} gone", is_active=False),
            mark,
        )

    def owner_of(self, who: str, kind: str) -> str:
        """The owner of an object of this kind, in a request by `who`."""
        return who if kind in {"own", "archived"} else OTHER

    def text(self) -> str:
        """A text that no other object has."""
        return f"{self.mark} {next(_numbers)}"

    async def subdomain(self) -> str:
        row = await by_id(self.make.connection, self.make.realm_id)
        assert row is not None
        return row.subdomain


# -- objects of a kind, for who asks: values of the parameters that name them


async def nothing(world: World, who: str, kind: str) -> Values:
    del world, who, kind
    return {}


async def open_realm(world: World, who: str, kind: str) -> Values:
    """The realm is open again: one after another may close it."""
    del who, kind
    await world.make.connection.execute(
        "UPDATE realms SET deactivated = false WHERE realm_id = %(realm_id)s",
        realm_id=world.make.realm_id,
    )
    world.server.forget(world.make.realm_id)
    return {}


async def no_exports(world: World, who: str, kind: str) -> Values:
    """Delete all exports, so that no other one is in progress."""
    del who, kind
    await world.make.connection.execute(
        "DELETE FROM realm_exports WHERE realm_id = %(realm_id)s", realm_id=world.make.realm_id
    )
    return {}


async def export(world: World, who: str, kind: str) -> Values:
    """One that is there, with its content."""
    del who, kind
    key = await _stored(world, "exports")
    connection, realm_id = world.make.connection, world.make.realm_id
    export_id = await realm_exports.insert(
        connection,
        realm_id,
        export_type=1,
        acting_user_id=world.people["O"].user_id,
        requested_at=world.server.app.clock.now(),
    )
    row = await realm_exports.by_id(connection, realm_id, export_id)
    assert row is not None
    await realm_exports.update(
        connection, realm_id, replace(row, blob_key=key, size=7, digest=b"7")
    )
    return {"export_id": export_id}


async def _stored(world: World, kind: str) -> str:
    """Store some content under a new key of this kind, and return the key."""
    key = new_key(kind, world.make.realm_id)
    incoming = await world.server.app.blobs.receive()
    await incoming.write(b"content")
    await incoming.keep(key)
    return key


async def import_request(world: World, who: str, kind: str) -> Values:
    """One whose file has been read."""
    del who, kind
    connection, realm_id = world.make.connection, world.make.realm_id
    request_id = await import_requests.insert(
        connection,
        realm_id,
        acting_user_id=world.people["O"].user_id,
        file_name="export.zip",
        size=7,
        blob_key=new_key("imports", realm_id),
        requested_at=world.server.app.clock.now(),
    )
    row = await import_requests.by_id(connection, realm_id, request_id)
    assert row is not None
    await import_requests.update(connection, realm_id, replace(row, state="ready", source="Slack"))
    return {"request_id": request_id}


async def unfinished_import(world: World, who: str, kind: str) -> Values:
    """One that was begun and has not ended."""
    del who, kind
    connection, realm_id = world.make.connection, world.make.realm_id
    row = ImportRow(
        import_id=0,
        source="Slack",
        options={},
        phase="people",
        done=0,
        total=7,
        first_position=Position(0),
        report=ImportReport().as_json(),
        ended_at=None,
    )
    now = world.server.app.clock.now()
    import_id = await imports.insert(connection, realm_id, row, fingerprint=b"slack", now=now)
    return {"import_id": import_id}


async def export_file(world: World, who: str, kind: str) -> Values:
    made = await export(world, who, kind)
    row = await realm_exports.by_id(world.make.connection, world.make.realm_id, made["export_id"])
    assert row is not None
    assert row.blob_key is not None
    *_, folder, secret = row.blob_key.split("/")
    secret = secret if kind == "true" else secret[::-1]
    return {"folder": folder, "secret": secret, "filename": "organization.zip"}


async def message(world: World, who: str, kind: str) -> Values:
    sender = world.people[world.owner_of(who, kind)]
    topic = world.topics[CHANNEL_OF[kind]]
    now = world.server.app.clock.now()
    message_id = await world.make.message(sender, topic, content=world.text(), sent_at=now)
    return {"message_id": message_id}


async def message_with_buttons(world: World, who: str, kind: str) -> Values:
    """A message of an outgoing webhook bot of the user, or of another user."""
    owner = world.people[world.owner_of(who, kind)]
    bot = await world.make.user(world.text(), bot_type=3, bot_owner=owner)
    topic, now = world.topics[CHANNEL_OF[kind]], world.server.app.clock.now()
    message_id = await world.make.message(bot, topic, content=world.text(), sent_at=now)
    await world.make.connection.execute(
        "SELECT put_message_buttons(%(r)s, %(m)s, %(m)s, %(b)s, %(buttons)s)",
        r=world.make.realm_id,
        m=message_id,
        b=bot.user_id,
        buttons=encode_buttons([Button(id="yes", label="Yes")]),
    )
    return {"message_id": message_id}


async def answer_token(world: World, who: str, kind: str) -> Values:
    """From the address for answers to a click of the other user."""
    message_id = (await message_with_buttons(world, who, "others"))["message_id"]
    path = f"/messages/{message_id}/buttons/click"
    await world.clients[OTHER].post(path, button_id="yes")
    connection, realm_id = world.make.connection, world.make.realm_id
    token, bot_id = (
        await connection.tuples(
            """
            SELECT answer_token, bot_id FROM button_clicks
             WHERE realm_id = %(r)s AND message_id = %(m)s
            """,
            r=realm_id,
            m=message_id,
        )
    )[0]
    url = "https://bots.example.com/"
    service = ServiceRow(bot_id=bot_id, interface=1, base_url=url, token="t")
    await insert_service(connection, realm_id, service)
    return {"answer_token": token if kind == "true" else f"{token}x"}


async def direct_message(world: World, who: str, kind: str) -> Values:
    """Own: between the one who asks and the other one; private: among others."""
    letter = who if kind == "own" else "O" if who != "O" else "A"
    fields = {"type": "direct", "to": [world.people[letter].user_id], "content": world.text()}
    return {"message_id": (await world.clients[OTHER].post("/messages", **fields))["id"]}


async def message_in_bulk(world: World, who: str, kind: str) -> Values:
    return {"message_ids": [(await message(world, who, kind))["message_id"]]}


async def message_in_list(world: World, who: str, kind: str) -> Values:
    return {"messages": [(await message(world, who, kind))["message_id"]]}


async def poll(world: World, who: str, kind: str) -> Values:
    client = world.clients[world.owner_of(who, kind)]
    fields = {
        "type": "channel",
        "to": world.channels[CHANNEL_OF[kind]].channel_id,
        "topic": world.text()[:60],
        "content": f"/poll {world.text()}\nyes",
    }
    return {"message_id": (await client.post("/messages", **fields))["id"]}


async def reaction(world: World, who: str, kind: str) -> Values:
    found = await message(world, who, "private" if kind == "private" else "others")
    client = world.clients[world.owner_of(who, kind)]
    await client.post(f"/messages/{found['message_id']}/reactions", emoji_name="octopus")
    return found


async def channel(world: World, who: str, kind: str) -> Values:
    """Own: one that the asking person has made, and is in."""
    if kind != "own":
        return {"stream_id": world.channels[CHANNEL_OF[kind]].channel_id}
    row = world.people[who]
    made = await world.make.channel(
        world.text(), creator=row, subscribers=[row, world.people[OTHER]]
    )
    await world.make.message(row, await world.make.topic(made, "t"), content=world.text())
    return {"stream_id": made.channel_id}


async def channel_name(world: World, who: str, kind: str) -> Values:
    found = (await channel(world, who, kind))["stream_id"]
    for row in world.channels.values():
        if row.channel_id == found:
            return {"stream": row.name}
    name = await world.make.connection.value(
        "SELECT name FROM channels WHERE channel_id = %(id)s", id=found
    )
    return {"stream": name}


async def place(world: World, who: str, kind: str) -> Values:
    """Where a message is to be sent."""
    return {"to": (await channel(world, who, kind))["stream_id"]}


async def fresh_channel(world: World, who: str, kind: str) -> str:
    """The name of a channel of this kind that no other request changes."""
    other, row = world.people[OTHER], world.people[who]
    subscribers = {"own": [row, other], "others": list(world.people.values())}
    made = await world.make.channel(
        world.text(),
        creator=row if kind == "own" else other,
        subscribers=subscribers.get(kind, [other]),
        invite_only=kind == "private",
        is_web_public=kind == "web",
    )
    return made.name


async def joined_channel(world: World, who: str, kind: str) -> Values:
    del kind
    return {"delete": [await fresh_channel(world, who, "own")]}


async def one_channel(world: World, who: str, kind: str) -> Values:
    name = await fresh_channel(world, who, kind)
    found = await world.make.connection.value(
        "SELECT channel_id FROM channels WHERE realm_id = %(realm_id)s AND name = %(name)s",
        realm_id=world.make.realm_id,
        name=name,
    )
    return {"stream_id": found}


async def channel_and_readers(world: World, who: str, kind: str) -> Values:
    """A channel, and people who are to read it without being in it."""
    readers = {"direct_members": [world.people[OTHER].user_id], "direct_subgroups": []}
    return {**await one_channel(world, who, kind), "can_subscribe_group": {"new": readers}}


async def channel_and_user(world: World, who: str, kind: str) -> Values:
    return {**await channel(world, who, kind), "user_id": world.people[OTHER].user_id}


async def subscription_data(world: World, who: str, kind: str) -> Values:
    found = (await channel(world, who, kind))["stream_id"]
    data = {"stream_id": found, "property": "is_muted", "value": True}
    return {"subscription_data": [data]}


async def subscription(world: World, who: str, kind: str) -> Values:
    return {"subscriptions": [{"name": await fresh_channel(world, who, kind)}]}


async def new_subscription(world: World, who: str, kind: str) -> Values:
    del who, kind
    return {"subscriptions": [{"name": world.text()}]}


async def subscription_of_other(world: World, who: str, kind: str) -> Values:
    other = world.people[OTHER].user_id
    return {"subscriptions": [await fresh_channel(world, who, kind)], "principals": [other]}


async def subscription_of_newcomer(world: World, who: str, kind: str) -> Values:
    newcomer = await world.make.user(world.text())
    return {**await subscription(world, who, kind), "principals": [newcomer.user_id]}


async def own_subscription(world: World, who: str, kind: str) -> Values:
    return {"subscriptions": [await fresh_channel(world, who, kind)]}


async def user(world: World, who: str, kind: str) -> Values:
    if kind == "archived":
        return {"user_id": world.gone.user_id}
    return {"user_id": world.people[world.owner_of(who, kind)].user_id}


async def settings_of_other(world: World, who: str, kind: str) -> Values:
    ids = [(await user(world, who, kind))["user_id"]]
    return {"target_users": {"user_ids": ids, "skip_if_already_edited": False}}


async def person(world: World, who: str, kind: str) -> Values:
    """A user of no other request."""
    del who
    role = OWNER if kind == "owner" else MEMBER
    return {"user_id": (await world.make.user(world.text(), role=role)).user_id}


async def person_of_address(world: World, who: str, kind: str) -> Values:
    """A user whose address is not confirmed."""
    found = await person(world, who, kind)
    await world.make.connection.execute(
        "UPDATE users SET email_confirmed = false WHERE user_id = %(user_id)s", **found
    )
    return found


async def person_with_factor(world: World, who: str, kind: str) -> Values:
    """A user with a second factor."""
    found = await person(world, who, kind)
    await second_factors.insert_totp(
        world.make.connection,
        world.make.realm_id,
        found["user_id"],
        name="Phone",
        secret=b"sealed",
        step=0,
    )
    return found


async def person_gone(world: World, who: str, kind: str) -> Values:
    found = await person(world, who, kind)
    ids, make = [found["user_id"]], world.make
    await users.update_active(make.connection, make.realm_id, ids, active=False)
    return found


async def new_person(world: World, who: str, kind: str) -> Values:
    """Let the user make accounts, as far as the operator is concerned."""
    del kind
    await user_grants.grant(
        world.make.connection, world.make.realm_id, world.people[who].user_id, create_users=True
    )
    address = f"{world.text().replace(' ', '.')}@example.com"
    return {"email": address, "full_name": world.text(), "password": PASSWORD}


async def no_own_exports(world: World, who: str, kind: str) -> Values:
    """There is no export of the user's own data yet."""
    await world.make.connection.execute(
        "DELETE FROM account_exports WHERE realm_id = %(r)s", r=world.make.realm_id
    )
    return {}


async def own_export(world: World, who: str, kind: str) -> Values:
    """An export of their own data that is ready."""
    make = world.make
    key = await _stored(world, "exports")
    owner = world.people[world.owner_of(who, kind)]
    export_id = await account_exports.insert(
        make.connection, make.realm_id, owner.user_id, SystemClock().now()
    )
    row = await account_exports.by_id(make.connection, make.realm_id, export_id)
    assert row is not None
    ready = replace(row, blob_key=key, size=7, digest=b"7")
    await account_exports.update(make.connection, make.realm_id, ready)
    return {"export_id": export_id}


async def no_officers(world: World, who: str, kind: str) -> Values:
    """There are no compliance officers."""
    await world.make.connection.execute(
        "DELETE FROM compliance_officers WHERE realm_id = %(r)s", r=world.make.realm_id
    )
    return {}


async def future_officer(world: World, who: str, kind: str) -> Values:
    """A member, who can be appointed."""
    return {"user_id": (await world.make.user(world.text())).user_id}


async def officer(world: World, who: str, kind: str) -> Values:
    values = await future_officer(world, who, kind)
    await _appoint(world, UserId(values["user_id"]))
    return values


async def _appoint(world: World, user_id: UserId) -> None:
    make, now = world.make, SystemClock().now()
    creator = world.people["O"].user_id
    await compliance.appoint(make.connection, make.realm_id, user_id, creator_id=creator, now=now)


async def compliance_case(world: World, who: str, kind: str) -> Values:
    """An open case of the user, who is an officer, or of another one."""
    creator = await _officers(world, who, is_own=kind == "own")
    return await _case(world, creator, SystemClock().now() + timedelta(hours=1))


async def waiting_case(world: World, who: str, kind: str) -> Values:
    """A case of another officer than the user, which waits for an approval."""
    return await _case(world, await _officers(world, who, is_own=False), None)


async def _officers(world: World, who: str, *, is_own: bool) -> UserId:
    """Make the user an officer, if there is one, and another one; return one of them."""
    other = UserId((await officer(world, who, ""))["user_id"])
    row = world.people.get(who)
    if row is None:
        return other
    await _appoint(world, row.user_id)
    return row.user_id if is_own else other


async def _case(world: World, creator_id: UserId, ends_at: datetime | None) -> Values:
    row = CaseRow(
        case_id=ComplianceCaseId(0),
        creator_id=creator_id,
        reason="Case 7",
        hours=1,
        needs_approval=ends_at is None,
        opened_at=SystemClock().now(),
        approver_id=None,
        ends_at=ends_at,
        closed_at=None,
        searches=0,
    )
    make = world.make
    return {"case_id": await compliance.insert_case(make.connection, make.realm_id, row)}


async def new_hold(world: World, who: str, kind: str) -> Values:
    await no_officers(world, who, kind)
    return {"name": "Case 7", "reason": "Asked for", "user_ids": [world.gone.user_id]}


async def legal_hold(world: World, who: str, kind: str) -> Values:
    """An active legal hold."""
    await no_officers(world, who, kind)
    make = world.make
    row = LegalHoldRow(
        hold_id=LegalHoldId(0),
        name="Case 7",
        reason="Asked for",
        is_realm_wide=False,
        user_ids=[world.gone.user_id],
        channel_ids=[],
        sent_from=None,
        sent_until=None,
        creator_id=world.people["O"].user_id,
        created_at=SystemClock().now(),
    )
    hold_id = await legal_holds.insert(make.connection, make.realm_id, row)
    return {"hold_id": hold_id, "reason": "It is over"}


async def scim_token(world: World, who: str, kind: str) -> Values:
    """A token of a directory."""
    make = world.make
    token_id = await scim.insert_token(
        make.connection,
        make.realm_id,
        digest=world.text().encode(),
        hint="plyscim_",
        name="Okta",
        creator_id=None,
    )
    return {"token_id": token_id}


async def api_key(world: World, who: str, kind: str) -> Values:
    client = world.clients[world.owner_of(who, kind)]
    fields = {"name": world.text(), "scopes": ["read"], "old_password": PASSWORD}
    return {"key_id": (await client.post("/users/me/api_keys", **fields))["key_id"]}


async def webhook(world: World, who: str, kind: str) -> Values:
    del kind
    return {"api_key": world.people[who].api_key, "stream": f"{world.mark} public"}


async def key_again(world: World, who: str, kind: str) -> Values:
    """Give the user their first API key again, whatever has happened to it."""
    del kind
    row, make = world.people[who], world.make
    await credentials.update_api_keys(make.connection, make.realm_id, {row.user_id: row.api_key})
    world.server.forget(make.realm_id)
    return {}


async def muted_user(world: World, who: str, kind: str) -> Values:
    if kind == "own":
        return {"muted_user_id": world.people[who].user_id}
    return {"muted_user_id": (await world.make.user(world.text())).user_id}


async def muted_already(world: World, who: str, kind: str) -> Values:
    """Own: muted by who asks; others: by the other one."""
    found = await muted_user(world, who, "others")
    client = world.clients[world.owner_of(who, kind)]
    await client.post(f"/users/me/muted_users/{found['muted_user_id']}")
    return found


async def email(world: World, who: str, kind: str) -> Values:
    row = world.gone if kind == "archived" else world.people[world.owner_of(who, kind)]
    return {"email": row.email}


async def seen(world: World, who: str, kind: str) -> Values:
    await world.clients[OTHER].post("/users/me/presence", status="active", ping_only=True)
    return await user(world, who, kind)


async def seen_by_email(world: World, who: str, kind: str) -> Values:
    await seen(world, who, kind)
    return await email(world, who, kind)


async def sign_in(world: World, who: str, kind: str) -> Values:
    del who, kind
    return {"username": world.people[OTHER].email, "password": PASSWORD}


async def recipient(world: World, who: str, kind: str) -> Values:
    return {"to": [(await user(world, who, kind))["user_id"]]}


async def group(world: World, who: str, kind: str) -> Values:
    """Own, or archived: made by who asks."""
    if kind == "system":
        return {"user_group_id": (await world.make.role_groups())["role:members"]}
    found: GroupId = await world.make.group(
        world.text(),
        creator=world.people[world.owner_of(who, kind)],
        deactivated=kind == "archived",
    )
    world.server.forget(world.make.realm_id)
    return {"user_group_id": found}


async def group_of_other(world: World, who: str, kind: str) -> Values:
    """A group in which the other member is."""
    del kind
    found = await world.make.group(
        world.text(), creator=world.people[who], members=[world.people[OTHER]]
    )
    return {"user_group_id": found}


async def group_and_user(world: World, who: str, kind: str) -> Values:
    other = world.people[OTHER].user_id
    return {**await group(world, who, kind), "user_id": other}


async def group_and_newcomer(world: World, who: str, kind: str) -> Values:
    other = world.people[OTHER].user_id
    return {**await group(world, who, kind), "add": [other]}


async def group_and_oneself(world: World, who: str, kind: str) -> Values:
    return {**await group(world, who, kind), "add": [world.people[who].user_id]}


async def group_and_subgroup(world: World, who: str, kind: str) -> Values:
    return {**await group(world, who, kind), "add": [await world.make.group(world.text())]}


async def new_group(world: World, who: str, kind: str) -> Values:
    del who, kind
    return {"name": world.text(), "description": world.text(), "members": []}


async def new_channel(world: World, who: str, kind: str) -> Values:
    del who, kind
    return {"name": world.text(), "subscribers": []}


async def draft(world: World, who: str, kind: str) -> Values:
    client = world.clients[world.owner_of(who, kind)]
    made = await client.post("/drafts", drafts=[draft_of(world)])
    return {"draft_id": made["ids"][0], "draft": draft_of(world)}


async def new_draft(world: World, who: str, kind: str) -> Values:
    del who, kind
    return {"drafts": [draft_of(world)]}


def draft_of(world: World) -> dict[str, Any]:
    return {"type": "", "to": [], "topic": "", "content": world.text()}


async def snippet(world: World, who: str, kind: str) -> Values:
    client = world.clients[world.owner_of(who, kind)]
    made = await client.post("/saved_snippets", title=world.text(), content=world.text())
    return {"saved_snippet_id": made["saved_snippet_id"]}


async def scheduled_message(world: World, who: str, kind: str) -> Values:
    letter = world.owner_of(who, kind)
    fields = {"type": "direct", "to": [world.people[letter].user_id], "content": world.text()}
    made = await world.clients[letter].post("/scheduled_messages", **fields, **IN_TIME)
    return {"scheduled_message_id": made["scheduled_message_id"]}


async def push_token(world: World, who: str, kind: str) -> Values:
    """A token that is good for both kinds of phones."""
    letter = world.owner_of(who, kind)
    token = f"{next(_numbers):064x}"
    if letter in world.clients:
        path = "/users/me/apns_device_token"
        await world.clients[letter].call("POST", path, token=token, appid="com.example.app")
        await world.clients[letter].call("POST", "/users/me/android_gcm_reg_id", token=token)
    return {"token": token}


async def sealed_device(world: World, who: str, kind: str) -> Values:
    del world, who, kind
    return {
        "token_kind": "fcm",
        "push_account_id": next(_numbers),
        "push_public_key": base64.b64encode(bytes(range(32))).decode(),
        "bouncer_public_key": "key",
        "encrypted_push_registration": "registration",
    }


async def client_device(world: World, who: str, kind: str) -> Values:
    client = world.clients[world.owner_of(who, kind)]
    if client.user is None or client.user.bot_type is not None:
        return {"device_id": next(_numbers)}
    return {"device_id": (await client.post("/register_client_device"))["device_id"]}


async def new_browser(world: World, who: str, kind: str) -> Values:
    del world, who, kind
    browser = Browser(f"https://push.example.com/{next(_numbers)}")
    return dict(browser.subscription)


async def browser(world: World, who: str, kind: str) -> Values:
    client = world.clients[world.owner_of(who, kind)]
    if client.user is None or client.user.bot_type is not None:
        return {"subscription_id": next(_numbers)}
    given = await new_browser(world, who, kind)
    made = await client.post("/web_push/subscriptions", **given)
    return {"subscription_id": made["subscription_id"]}


async def reminder(world: World, who: str, kind: str) -> Values:
    client = world.clients[world.owner_of(who, kind)]
    made = await client.post("/reminders", note=world.text(), **IN_TIME)
    return {"reminder_id": made["reminder_id"]}


async def view(world: World, who: str, kind: str) -> Values:
    fragment = f"narrow-{next(_numbers)}"
    client = world.clients[world.owner_of(who, kind)]
    await client.post("/navigation_views", fragment=fragment, is_pinned=True, name=world.text())
    return {"fragment": fragment}


async def new_view(world: World, who: str, kind: str) -> Values:
    del world, who, kind
    return {"fragment": f"narrow-{next(_numbers)}", "is_pinned": True, "name": "A view"}


async def queue(world: World, who: str, kind: str) -> Values:
    client = world.clients[world.owner_of(who, kind)]
    registered = await client.post("/register", event_types=["message"], fetch_event_types=[])
    return {"queue_id": registered["queue_id"], "last_event_id": registered["last_event_id"]}


async def default_channel(world: World, who: str, kind: str) -> Values:
    del kind
    found = await one_channel(world, who, "others")
    await world.clients["O"].post("/default_streams", **found)
    return found


async def unsubscribe_link(world: World, who: str, kind: str) -> Values:
    del who
    key = await server_keys.key_for(world.make.connection, PURPOSE)
    token = token_for(key, Subscriber(world.make.realm_id, world.people[OTHER].user_id))
    return {"token": token if kind == "true" else f"{token}x"}


async def new_channel_group(world: World, who: str, kind: str) -> Values:
    del who, kind
    name = world.text()
    await world.clients["O"].post("/channels/create", name=name, subscribers=[])
    return {"group_name": world.text(), "description": "", "stream_names": [name]}


async def channel_group(world: World, who: str, kind: str) -> Values:
    fields = await new_channel_group(world, who, kind)
    await world.clients["O"].post("/default_stream_groups/create", **fields)
    rows = await default_channel_groups.of_realm(world.make.connection, world.make.realm_id)
    return {"group_id": next(row.group_id for row in rows if row.name == fields["group_name"])}


async def channel_for_a_group(world: World, who: str, kind: str) -> Values:
    group = await channel_group(world, who, kind)
    names = (await new_channel_group(world, who, kind))["stream_names"]
    return {**group, "op": "add", "stream_names": names}


async def new_folder(world: World, who: str, kind: str) -> Values:
    del who, kind
    return {"name": world.text()}


async def folder(world: World, who: str, kind: str) -> Values:
    fields = await new_folder(world, who, kind)
    made = await world.clients["O"].post("/channel_folders/create", **fields)
    return {"channel_folder_id": made["channel_folder_id"]}


async def order_of_folders(world: World, who: str, kind: str) -> Values:
    await folder(world, who, kind)
    owner = world.clients["O"]
    there = (await owner.get("/channel_folders", include_archived=True))["channel_folders"]
    return {"order": [each["id"] for each in reversed(there)]}


async def linkifier(world: World, who: str, kind: str) -> Values:
    del who, kind
    fields = new_pattern()
    return {"filter_id": (await world.clients["O"].post("/realm/filters", **fields))["id"]}


async def order_of_linkifiers(world: World, who: str, kind: str) -> Values:
    del who, kind
    there = (await world.clients["O"].get("/realm/linkifiers"))["linkifiers"]
    return {"ordered_linkifier_ids": [each["id"] for each in reversed(there)]}


async def pattern(world: World, who: str, kind: str) -> Values:
    del world, who, kind
    return new_pattern()


async def linkifier_and_pattern(world: World, who: str, kind: str) -> Values:
    return {**await linkifier(world, who, kind), **new_pattern()}


def new_pattern() -> dict[str, str]:
    return {
        "pattern": f"x{next(_numbers)}-(?P<id>[0-9]+)",
        "url_template": "https://issues.example.com/{id}",
    }


async def new_invitation(world: World, who: str, kind: str) -> Values:
    del who, kind
    address = world.text().replace(" ", ".").lower()
    return {"invitee_emails": f"{address}@example.com"}


async def invitation(world: World, who: str, kind: str) -> Values:
    """An invitation that was mailed, by the user or by another member."""
    fields = await new_invitation(world, who, kind)
    return await _invitation(world, who, kind, fields["invitee_emails"])


async def invitation_link(world: World, who: str, kind: str) -> Values:
    return await _invitation(world, who, kind, None)


async def _invitation(world: World, who: str, kind: str, email: str | None) -> Values:
    terms = InvitationTerms(
        inviter_id=world.people[world.owner_of(who, kind)].user_id,
        role=MEMBER,
        channel_ids=[],
        group_ids=[],
        includes_defaults=True,
        welcome_text=None,
        tells_inviter=False,
        ends_at=None,
    )
    now = world.server.app.clock.now()
    [made] = await invitations.insert(
        world.make.connection, world.make.realm_id, terms, [email], now=now
    )
    return {"invite_id": made}


async def new_domain(world: World, who: str, kind: str) -> Values:
    del who, kind
    name = world.text().replace(" ", "-").lower()
    return {"domain": f"{name}.example.com", "allow_subdomains": False}


async def domain(world: World, who: str, kind: str) -> Values:
    fields = await new_domain(world, who, kind)
    made = await world.clients["O"].post("/realm/domains", **fields)
    return {"domain": made["new_domain"][1]}


async def new_profile_field(world: World, who: str, kind: str) -> Values:
    del who, kind
    return {"name": world.text(), "field_type": 1}


async def profile_field(world: World, who: str, kind: str) -> Values:
    fields = await new_profile_field(world, who, kind)
    return {"field_id": (await world.clients["O"].post("/realm/profile_fields", **fields))["id"]}


async def order_of_profile_fields(world: World, who: str, kind: str) -> Values:
    await profile_field(world, who, kind)
    there = (await world.clients["O"].get("/realm/profile_fields"))["custom_fields"]
    return {"order": [each["id"] for each in reversed(there)]}


async def answer(world: World, who: str, kind: str) -> Values:
    made = await profile_field(world, who, kind)
    return {"data": [{"id": made["field_id"], "value": "an answer"}]}


async def closed_answer(world: World, who: str, kind: str) -> Values:
    made = await profile_field(world, who, kind)
    path = f"/realm/profile_fields/{made['field_id']}"
    await world.clients["O"].patch(path, editable_by_user=False)
    return {"data": [{"id": made["field_id"], "value": "an answer"}]}


async def answered(world: World, who: str, kind: str) -> Values:
    given = await answer(world, who, kind)
    if who != "b":
        await world.clients[who].patch("/users/me/profile_data", **given)
    return {"data": [each["id"] for each in given["data"]]}


async def user_and_answer(world: World, who: str, kind: str) -> Values:
    given = await answer(world, who, kind)
    return {**await user(world, who, kind), "profile_data": given["data"]}


async def playground(world: World, who: str, kind: str) -> Values:
    fields = await new_playground(world, who, kind)
    return {"playground_id": (await world.clients["O"].post("/realm/playgrounds", **fields))["id"]}


async def new_playground(world: World, who: str, kind: str) -> Values:
    del who, kind
    return {
        "name": world.text(),
        "pygments_language": "Python",
        "url_template": "https://try.example.com/?code={code}",
    }


async def new_bot(world: World, who: str, kind: str) -> Values:
    del who, kind
    return {"full_name": world.text(), "short_name": f"b{next(_numbers)}"}


async def bot(world: World, who: str, kind: str) -> Values:
    """A bot of the user, or of another user."""
    owner = world.people[world.owner_of(who, kind)]
    return {"bot_id": (await world.make.user(world.text(), bot_type=1, bot_owner=owner)).user_id}


async def incoming_bot(world: World, who: str, kind: str) -> Values:
    """An incoming webhook bot of the user, or of another user."""
    owner = world.people[world.owner_of(who, kind)]
    return {"bot_id": (await world.make.user(world.text(), bot_type=2, bot_owner=owner)).user_id}


async def secret_of_bot(world: World, who: str, kind: str) -> Values:
    return {**await incoming_bot(world, who, kind), "secret": "long enough"}


async def bot_with_secret(world: World, who: str, kind: str) -> Values:
    values = await incoming_bot(world, who, kind)
    await bots.set_webhook_secret(
        world.make.connection, world.make.realm_id, values["bot_id"], "long enough"
    )
    return values


async def new_command(world: World, who: str, kind: str) -> Values:
    """A command for an outgoing webhook bot of the user, or of another user."""
    owner = world.people[world.owner_of(who, kind)]
    bot = await world.make.user(world.text(), bot_type=3, bot_owner=owner)
    return {"bot_id": bot.user_id, "name": f"c{next(_numbers)}"}


async def command(world: World, who: str, kind: str) -> Values:
    values = await new_command(world, who, kind)
    made = await world.clients["O"].post("/realm/slash_commands", **values)
    return {"command_id": made["id"]}


async def command_and_hint(world: World, who: str, kind: str) -> Values:
    return {**await command(world, who, kind), "parameter_hint": world.text()}


async def call_of_command(world: World, who: str, kind: str) -> Values:
    """A call in direct messages with oneself."""
    values = await new_command(world, who, kind)
    await world.clients["O"].post("/realm/slash_commands", **values)
    to = [world.people[who].user_id]
    return {"command": f"/{values['name']}", "type": "direct", "to": to}


async def command_answer_token(world: World, who: str, kind: str) -> Values:
    """From the address for answers to a call of a command."""
    owner = world.people[world.owner_of(who, kind)]
    bot = await world.make.user(world.text(), bot_type=3, bot_owner=owner)
    connection, realm_id = world.make.connection, world.make.realm_id
    service = ServiceRow(
        bot_id=bot.user_id, interface=1, base_url="https://bots.example.com/", token="t"
    )
    await insert_service(connection, realm_id, service)
    call = CommandCallRow(
        call_id=world.text(),
        bot_id=bot.user_id,
        caller_id=world.people[OTHER].user_id,
        command="deploy",
        channel_id=None,
        topic="",
        user_ids=(world.people[OTHER].user_id,),
        answers_left=5,
    )
    now, token = SystemClock().now(), f"token of {call.call_id}"
    await command_calls.open_address(connection, realm_id, call, token=token, now=now)
    return {"answer_token": token if kind == "true" else f"{token}x"}


async def bot_and_name(world: World, who: str, kind: str) -> Values:
    return {**await bot(world, who, kind), "full_name": world.text()}


# -- files


async def uploaded(world: World, who: str) -> str:
    """The address of a new file of theirs."""
    answer = await world.clients[who].upload("/user_uploads", file=("file.txt", b"content"))
    return str(answer.succeeded()["url"])


async def file(world: World, who: str, kind: str) -> Values:
    """Own: not shared; otherwise of the other member, in a channel of the kind."""
    url = await uploaded(world, who if kind == "own" else OTHER)
    if kind not in {"own", "unshared"}:
        channel = world.channels[CHANNEL_OF[kind]].channel_id
        fields = {"type": "channel", "to": channel, "topic": "files"}
        await world.clients[OTHER].post("/messages", **fields, content=f"[a file]({url})")
    _, _, realm_id, filename = url.split("/", 3)
    return {"realm_id": int(realm_id), "filename": filename}


async def file_by_text(world: World, who: str, kind: str) -> Values:
    found = await file(world, who, kind)
    return {"realm_id_str": str(found["realm_id"]), "filename": found["filename"]}


async def thumbnail(world: World, who: str, kind: str) -> Values:
    """A small picture of such a file: it is kept for the test as if it had been made."""
    found = await file(world, who, kind)
    await world.make.connection.execute("UPDATE attachments SET width = 1, height = 1")
    path = f"{found['realm_id']}/{found['filename']}"
    key = key_of(f"uploads/{path.rpartition('/')[0]}", STILL)
    incoming = await world.server.app.blobs.receive()
    await incoming.keep(key)
    return {**found, "format": STILL.name}


async def tus(world: World, who: str, kind: str) -> Values:
    """An upload of which nothing has come yet."""
    headers = {"Tus-Resumable": "1.0.0", "Upload-Length": "5"}
    client = world.clients[world.owner_of(who, kind)]
    begun = await client.send("POST", "/tus", headers=headers)
    return {"upload": begun.headers["Location"].rpartition("/")[2]}


async def file_link(world: World, who: str, kind: str) -> Values:
    del who
    url = (await world.clients[OTHER].get(await uploaded(world, OTHER)))["url"]
    _, _, _, token, filename = url.split("/")
    return {"token": token if kind == "true" else f"{token}x", "filename": filename}


async def linked_picture(world: World, who: str, kind: str) -> Values:
    """A picture of another site, as if it had been fetched before."""
    del who
    url, app = "https://x.example/a.png", world.server.app
    shown = LinkedPicture(b"picture", "image/png")
    app.linked_pictures.memory.remember(url, shown, seconds=60)
    assert app.realm_caches.rendering.proxy is not None
    link = app.realm_caches.rendering.proxy.to(url)
    assert link is not None
    _, _, digest, encoded = link.split("/")
    return {"digest": digest if kind == "true" else f"{digest}x", "url": encoded}


async def attachment(world: World, who: str, kind: str) -> Values:
    client = world.clients[world.owner_of(who, kind)]
    await client.upload("/user_uploads", file=("file.txt", b"content"))
    return {"attachment_id": (await client.get("/attachments"))["attachments"][0]["id"]}


async def new_emoji(world: World, who: str, kind: str) -> Values:
    del who, kind
    return {"emoji_name": re.sub("[^a-z0-9]", "", world.text().lower())}


async def emoji(world: World, who: str, kind: str) -> Values:
    """A guest, who may add none, has added it when they were a member."""
    values = await new_emoji(world, who, kind)
    maker = world.people[who if kind == "own" else OTHER]
    key = new_key("emoji", world.make.realm_id) + ".image.png"
    async with world.server.app.database.connection() as connection:
        await realm_emoji.insert(
            connection,
            world.make.realm_id,
            name=values["emoji_name"],
            author_id=maker.user_id,
            blob_key=key,
            still_key=None,
        )
    return values


async def identicon(world: World, who: str, kind: str) -> Values:
    del world, who
    return {"filename": "7.png" if kind == "true" else "7.svg"}


async def emoji_picture(world: World, who: str, kind: str) -> Values:
    values = await new_emoji(world, who, kind)
    name = values["emoji_name"]
    await world.clients["O"].upload(f"/realm/emoji/{name}", file=("e.png", picture()))
    found = (await world.clients["O"].get("/realm/emoji"))["emoji"].values()
    url = next(each["source_url"] for each in found if each["name"] == name)
    _, _, realm_id, filename = url.split("/", 3)
    return {"realm_id": int(realm_id), "filename": filename if kind == "true" else f"{filename}x"}

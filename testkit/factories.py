"""Realms, people, channels and what they need, by the storage functions that the server uses.

`make.user(role=GUEST)`: a test says only the facts that matter to it.
"""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from server.domain.access import MEMBER, SYSTEM_GROUP_NESTING, SYSTEM_GROUPS, GroupSetting
from server.domain.actor import Actor
from server.domain.api_keys import new_api_key
from server.domain.channel_creation import default_permissions
from server.domain.channels import COLORS
from server.domain.profile_fields import FieldType
from server.domain.system_bots import NOTIFICATION_BOT, SystemBot
from server.events.log import Tick
from storage import (
    channels,
    clock,
    conversations,
    groups,
    profile_fields,
    realms,
    subscription_spans,
    subscriptions,
    users,
)
from storage.channels import ChannelRow, NewChannel
from storage.conversations import TopicRow
from storage.database import Connection, Statement
from storage.ids import GroupId, MessageId, Position, ProfileFieldId, RealmId, UserId
from storage.profile_fields import FieldRow
from storage.subscriptions import Membership
from storage.users import NewUserRow, Stub, UserRow

JOINED = datetime(2026, 1, 1, tzinfo=UTC)

_numbers = itertools.count(1)


async def new_realm(connection: Connection, **settings: Any) -> "Make":
    """A realm with its clock and role groups, and a factory for what is in it."""
    realm_id = await realms.insert(
        connection, subdomain=f"realm{next(_numbers)}", name="A realm", settings=settings
    )
    assert realm_id is not None
    await clock.create(connection, realm_id)
    await groups.insert_system_groups(
        connection, realm_id, dict.fromkeys(SYSTEM_GROUPS, ""), SYSTEM_GROUP_NESTING
    )
    return Make(connection, realm_id)


class Make:
    """Makes what a test needs in one realm. Everything has a name of its own unless told."""

    def __init__(self, connection: Connection, realm_id: RealmId) -> None:
        self.connection = connection
        self.realm_id = realm_id

    async def user(
        self,
        full_name: str | None = None,
        *,
        role: int = MEMBER,
        email: str | None = None,
        bot_type: int | None = None,
        bot_owner: UserRow | None = None,
        is_active: bool = True,
        settings: Mapping[str, Any] | None = None,
        date_joined: datetime = JOINED,
        stub: Stub | None = None,
    ) -> UserRow:
        [user_id] = await users.new_ids(self.connection, 1)
        full_name = full_name or f"Person {user_id}"
        new = NewUserRow(
            user_id=user_id,
            email=email or f"user{user_id}@example.com",
            full_name=full_name,
            role=role,
            api_key=new_api_key(),
            date_joined=date_joined,
            bot_type=bot_type,
            bot_owner_id=None if bot_owner is None else bot_owner.user_id,
            settings=dict(settings or {}),
            stub=stub,
        )
        await users.insert(self.connection, self.realm_id, [new])
        if not is_active:
            await users.update_active(self.connection, self.realm_id, [user_id], active=False)
        [row] = await users.by_ids(self.connection, self.realm_id, [user_id])
        return row

    async def users(self, count: int, *, role: int = MEMBER) -> list[UserRow]:
        """Many at once."""
        ids = await users.new_ids(self.connection, count)
        news = [
            NewUserRow(
                user_id=user_id,
                email=f"user{user_id}@example.com",
                full_name=f"Person {user_id}",
                role=role,
                api_key=new_api_key(),
                date_joined=JOINED,
            )
            for user_id in ids
        ]
        await users.insert(self.connection, self.realm_id, news)
        return await users.by_ids(self.connection, self.realm_id, ids)

    async def notification_bot(self) -> UserRow:
        """The bot that writes to people on the server's behalf."""
        return await self.system_bot(NOTIFICATION_BOT)

    async def system_bot(self, facts: SystemBot) -> UserRow:
        [user_id] = await users.new_ids(self.connection, 1)
        bot = NewUserRow(
            user_id=user_id,
            email=facts.email,
            full_name=facts.full_name,
            role=MEMBER,
            api_key=new_api_key(),
            date_joined=JOINED,
            bot_type=1,
            is_system_bot=True,
        )
        await users.insert(self.connection, self.realm_id, [bot])
        [row] = await users.by_ids(self.connection, self.realm_id, [user_id])
        return row

    async def actor(self, row: UserRow | None = None, **facts: Any) -> Actor:
        """The user who makes requests: this one, or a new one with these attributes."""
        return Actor(self.realm_id, row or await self.user(**facts), "website")

    async def profile_field(
        self, name: str, field_type: int = FieldType.SHORT_TEXT, field_data: str = ""
    ) -> ProfileFieldId:
        """A profile field that only administrators may change."""
        row = FieldRow(
            field_id=await profile_fields.new_id(self.connection),
            field_type=field_type,
            name=name,
            hint="",
            field_data=field_data,
            required=False,
            editable_by_user=False,
            display_in_profile_summary=False,
        )
        await profile_fields.insert(self.connection, self.realm_id, row)
        return row.field_id

    async def group(
        self,
        name: str | None = None,
        *,
        members: Sequence[UserRow] = (),
        subgroups: Sequence[GroupId] = (),
        creator: UserRow | None = None,
        deactivated: bool = False,
    ) -> GroupId:
        group_id: GroupId = await self.connection.value(
            """
            INSERT INTO user_groups (realm_id, name, creator_id, deactivated)
            VALUES (%(realm_id)s, %(name)s, %(creator_id)s, %(deactivated)s) RETURNING group_id
            """,
            realm_id=self.realm_id,
            name=name or f"group {next(_numbers)}",
            creator_id=None if creator is None else creator.user_id,
            deactivated=deactivated,
        )
        await self.connection.execute(
            """
            INSERT INTO group_members (realm_id, group_id, user_id)
            SELECT %(realm_id)s, %(group_id)s, unnest(%(ids)s::bigint[])
            """,
            realm_id=self.realm_id,
            group_id=group_id,
            ids=[member.user_id for member in members],
        )
        await self.connection.execute(
            """
            INSERT INTO group_subgroups (realm_id, group_id, subgroup_id)
            SELECT %(realm_id)s, %(group_id)s, unnest(%(ids)s::bigint[])
            """,
            realm_id=self.realm_id,
            group_id=group_id,
            ids=list(subgroups),
        )
        return group_id

    async def change_settings(self, **settings: Any) -> None:
        """Give these settings of the realm other values."""
        await self.connection.execute(
            "UPDATE realms SET settings = settings || %(new)s WHERE realm_id = %(realm_id)s",
            new=self.connection.json(settings),
            realm_id=self.realm_id,
        )

    async def role_groups(self) -> dict[str, GroupId]:
        """The ids of the role groups, like `role:members`."""
        return await groups.system_ids(self.connection, self.realm_id)

    async def channel(
        self,
        name: str | None = None,
        *,
        subscribers: Iterable[UserRow] = (),
        creator: UserRow | None = None,
        invite_only: bool = False,
        is_web_public: bool = False,
        shares_history: bool | None = None,
        is_default: bool = False,
        is_archived: bool = False,
        topics_policy: str = "inherit",
        description: str = "",
        created_at: datetime = JOINED,
        **permissions: GroupSetting | GroupId | Sequence[UserRow],
    ) -> ChannelRow:
        """A channel. A permission is a group, or a list of users."""
        creator_id = None if creator is None else creator.user_id
        settings = default_permissions(await self.role_groups(), creator_id)
        settings.update({name: _setting(value) for name, value in permissions.items()})
        new = NewChannel(
            name=name or f"channel {next(_numbers)}",
            description=description,
            rendered_description=f"<p>{description}</p>" if description else "",
            creator_id=creator_id,
            created_at=created_at,
            invite_only=invite_only,
            is_web_public=is_web_public,
            history_public_to_subscribers=(
                not invite_only if shares_history is None else shares_history
            ),
            is_default=is_default,
            topics_policy=topics_policy,
            permissions={name: setting.as_json() for name, setting in settings.items()},
        )
        row = await channels.insert(self.connection, self.realm_id, new)
        if is_archived:
            await self.archive(row)
        await self.subscribe(row, subscribers)
        return await self.again(row)

    async def archive(self, channel: ChannelRow) -> None:
        closed = replace(channel, is_archived=True, is_default=False)
        await channels.update(self.connection, self.realm_id, closed)

    async def again(self, channel: ChannelRow) -> ChannelRow:
        """The channel as it is now."""
        [row] = await channels.by_ids(self.connection, self.realm_id, [channel.channel_id])
        return row

    async def subscribe(self, channel: ChannelRow, people: Iterable[UserRow]) -> Position:
        """Let them be subscribed from the next position on, which is given."""
        joining = self._memberships(channel, people)
        if not joining:
            return await self.position()
        async with self.connection.raw.transaction():
            await subscriptions.activate(self.connection, self.realm_id, joining)
            await channels.change_subscriber_counts(
                self.connection, self.realm_id, {channel.channel_id: len(joining)}
            )
            user_ids = [each.user_id for each in joining]
            begun = subscription_spans.set_receiving(
                self.realm_id, user_ids, [channel.channel_id], receives=True
            )
            return await self.at_position(begun)

    async def unsubscribe(self, channel: ChannelRow, people: Iterable[UserRow]) -> Position:
        """End their subscription at the next position, which is given."""
        leaving = self._memberships(channel, people)
        async with self.connection.raw.transaction():
            await subscriptions.deactivate(self.connection, self.realm_id, leaving)
            await channels.change_subscriber_counts(
                self.connection, self.realm_id, {channel.channel_id: -len(leaving)}
            )
            user_ids = [each.user_id for each in leaving]
            ended = subscription_spans.set_receiving(
                self.realm_id, user_ids, [channel.channel_id], receives=False
            )
            return await self.at_position(ended)

    async def topic(self, channel: ChannelRow, name: str) -> TopicRow:
        await self.connection.execute(
            """
            INSERT INTO topics (realm_id, channel_id, name)
            VALUES (%(realm_id)s, %(channel_id)s, %(name)s)
            """,
            realm_id=self.realm_id,
            channel_id=channel.channel_id,
            name=name,
        )
        row = await conversations.topic_named(
            self.connection, self.realm_id, channel.channel_id, name
        )
        assert row is not None
        return row

    async def message(
        self,
        sender: UserRow,
        topic: TopicRow,
        *,
        origin: TopicRow | None = None,
        content: str = "hello",
        sent_at: datetime = JOINED,
    ) -> MessageId:
        """A message in this topic; with `origin` it was sent there and has been moved."""
        origin = origin or topic
        insert = Statement(
            """
            INSERT INTO messages (realm_id, id, sender_id, channel_id, conversation_id,
                                  origin_channel_id, origin_conversation_id, sent_at, client,
                                  content, rendered_content)
            VALUES (%(realm_id)s, current_position(), %(sender_id)s, %(channel_id)s, %(topic_id)s,
                    %(origin_channel_id)s, %(origin_topic_id)s, %(sent_at)s, 'website',
                    %(content)s, %(content)s)
            """,
            {
                "realm_id": self.realm_id,
                "sender_id": sender.user_id,
                "channel_id": topic.channel_id,
                "topic_id": topic.topic_id,
                "origin_channel_id": origin.channel_id,
                "origin_topic_id": origin.topic_id,
                "sent_at": sent_at,
                "content": content,
            },
        )
        return MessageId(await self.at_position(insert))

    async def position(self) -> Position:
        """The current position of the realm's clock."""
        row = await clock.read(self.connection, self.realm_id)
        assert row is not None
        return row.position

    async def at_position(self, *statements: Statement) -> Position:
        """Append an entry that says nothing, and run the statements at its position."""
        async with self.connection.raw.transaction():
            await self.connection.run(clock.lock(self.realm_id))
            append = clock.append(
                self.realm_id,
                kind=Tick.kind,
                audience=b"",
                body=b"{}",
                write_id="00000000-0000-0000-0000-000000000000",
            )
            [(position,)] = await self.connection.run(append)
            for statement in statements:
                await self.connection.run(statement)
            await self.connection.run(clock.advance(self.realm_id))
        return Position(position)

    def _memberships(self, channel: ChannelRow, people: Iterable[UserRow]) -> list[Membership]:
        return [Membership(p.user_id, channel.channel_id, COLORS[0]) for p in people]


def _setting(value: GroupSetting | GroupId | Sequence[UserRow]) -> GroupSetting:
    if isinstance(value, GroupSetting):
        return value
    if isinstance(value, int):
        return GroupSetting(group_id=GroupId(value))
    return GroupSetting(direct_members=tuple(sorted(UserId(row.user_id) for row in value)))


def user_ids(people: Iterable[UserRow]) -> list[UserId]:
    """Their ids, in order."""
    return [row.user_id for row in people]

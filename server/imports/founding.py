"""Create the realm of an import: its accounts, channels, conversations and memberships."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from itertools import zip_longest
from typing import Any, Final

from server.actions.realms import create_realm
from server.actions.users import insert_users
from server.domain.channel_creation import default_permissions
from server.domain.channels import (
    COLORS,
    MAX_NAME_LENGTH,
)
from server.domain.markdown import render_description
from server.domain.names import composed, fold_name, unprintable_at
from server.domain.realm_settings import NEW_REALM
from server.i18n import marked
from server.imports.accounts import PlannedAccount, people_of
from server.imports.descriptions import imported_description
from server.imports.groups import GroupWriter
from server.imports.preferences import PreferenceWriter
from server.imports.profiles import ProfileWriter
from server.imports.records import Channel, DirectConversation, GroupRecord, SubscriptionChoices
from server.imports.report import ImportReport
from server.imports.survey import Survey
from storage import (
    channels,
    groups,
    import_keys,
    imported_messages,
    imported_people,
    imports,
    upload_space,
    users,
)
from storage.address_folding import fold_address
from storage.channels import NewChannel
from storage.database import Connection
from storage.ids import ChannelId, GroupId, Position, RealmId, UserId
from storage.imported_people import ImportedSubscription
from storage.imports import ImportRow

PICTURES: Final = "pictures"
"""The phase after the realm is there."""
FIRST: Final = Position(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRealm:
    """The realm to be created."""

    name: str
    subdomain: str
    source: str
    fingerprint: bytes
    options: Mapping[str, Any]


async def found_realm(
    connection: Connection,
    wanted: NewRealm,
    survey: Survey,
    accounts: Sequence[PlannedAccount],
    report: ImportReport,
    now: datetime,
) -> RealmId:
    """Create the realm with everything but messages, and the import's row; in a transaction.

    The positions up to the number of messages are reserved for them: what is sent from now on comes
    after. Raises BadRequestError for an invalid or taken subdomain.
    """
    created = await create_realm(
        connection,
        name=wanted.name,
        owner=accounts[0].new,
        now=now,
        subdomain=wanted.subdomain,
    )
    realm_id = created.realm_id
    last = Position(survey.messages)
    await imported_messages.reserve_positions(connection, realm_id, last)
    await upload_space.begin(connection, realm_id)
    import_id = await imports.insert(
        connection,
        realm_id,
        ImportRow(
            import_id=0,
            source=wanted.source,
            options=dict(wanted.options),
            phase=PICTURES,
            done=0,
            total=survey.messages,
            first_position=Position(0),
            report={},
            ended_at=None,
        ),
        fingerprint=wanted.fingerprint,
        now=now,
    )
    owner_id = created.owner.user_id
    founding = _Founding(connection, realm_id, import_id, owner_id, last, report, now)
    await founding.add_people(accounts)
    await founding.add_profiles(survey)
    await founding.add_preferences(survey)
    await founding.add_groups(survey.groups)
    await founding.add_channels(survey.channels, survey.firsts)
    await founding.add_conversations(survey.conversations)
    await imports.set_report(connection, realm_id, import_id, report.as_json())
    return realm_id


def valid_channel_name(channel: Channel) -> str:
    """Return the channel's name as a valid one."""
    clean = composed("".join(each for each in channel.name if not unprintable_at(each)))
    return clean[:MAX_NAME_LENGTH].strip() or channel.key[:MAX_NAME_LENGTH]


class _Founding:
    """The rows of a new realm, and the keys of their records."""

    def __init__(
        self,
        connection: Connection,
        realm_id: RealmId,
        import_id: int,
        owner_id: UserId,
        last: Position,
        report: ImportReport,
        now: datetime,
    ) -> None:
        self._connection = connection
        self._realm_id = realm_id
        self._import_id = import_id
        self._last = last
        self._report = report
        self._now = now
        self._people: dict[str, UserId] = {}
        self._active: set[UserId] = set()
        self._owner_id = owner_id
        self._groups: GroupWriter

    async def add_people(self, accounts: Sequence[PlannedAccount]) -> None:
        new = [account for account in accounts[1:] if not account.is_system_bot]
        rows = await insert_users(
            self._connection,
            self._realm_id,
            [
                replace(
                    account.new,
                    is_active=account.is_active,
                    joined_at=min(account.new.joined_at or self._now, self._now),
                    bot_owner_id=self._owner_id if account.new.bot_type else None,
                )
                for account in new
            ],
            now=self._now,
            settings=NEW_REALM,
        )
        ids = [self._owner_id, *(row.user_id for row in rows)]
        planned = list(zip(ids, [accounts[0], *new], strict=True))
        planned += await self._system_bots(accounts)
        self._people = {key: user_id for user_id, account in planned for key in account.keys}
        self._active = {user_id for user_id, account in planned if account.is_active}
        owners = {
            user_id: self._people[account.owner]
            for user_id, account in planned
            if account.new.bot_type and account.owner in self._people
        }
        await imported_people.set_bot_owners(self._connection, self._realm_id, owners)
        await self._keep("person", self._people)
        for what, count in people_of(accounts).items():
            self._report.count(what, count)

    async def add_profiles(self, survey: Survey) -> None:
        writer = ProfileWriter(self._connection, self._realm_id, self._people, self._report)
        await writer.write(survey)

    async def _system_bots(
        self, accounts: Sequence[PlannedAccount]
    ) -> list[tuple[UserId, PlannedAccount]]:
        """Return the bots that the realm has from its creation, as what the file has of them."""
        by_address = {
            fold_address(account.new.email): account
            for account in accounts
            if account.is_system_bot
        }
        rows = await users.by_emails(self._connection, self._realm_id, list(by_address))
        return [(row.user_id, by_address[fold_address(row.email)]) for row in rows]

    async def add_preferences(self, survey: Survey) -> None:
        writer = PreferenceWriter(
            self._connection, self._realm_id, self._people, self._report, self._now
        )
        await writer.write(survey)

    async def add_groups(self, records: Sequence[GroupRecord]) -> None:
        self._groups = GroupWriter(
            self._connection, self._realm_id, self._people, self._report, self._now
        )
        await self._groups.write(records)

    async def add_channels(self, wanted: Sequence[Channel], firsts: Mapping[datetime, int]) -> None:
        """Add channels; `firsts`: as in Survey."""
        role_groups = await groups.system_ids(self._connection, self._realm_id)
        names: set[str] = set()
        ids: dict[str, ChannelId] = {}
        archived: list[ChannelId] = []
        for channel in wanted:
            if channel.key in ids:
                self._report.remark(marked("channels are in the export twice"), channel.name)
                continue
            name = self._channel_name(channel, names)
            ids[channel.key] = await self._add_channel(channel, name, role_groups, firsts)
            if channel.is_archived:
                archived.append(ids[channel.key])
        await imported_people.archive_channels(self._connection, self._realm_id, archived)
        await self._keep("channel", ids)
        self._report.count(marked("channels"), len(ids))

    def _channel_name(self, channel: Channel, taken: set[str]) -> str:
        """Return a valid name that no other channel has."""
        base = valid_channel_name(channel)
        name, number = base, 1
        while fold_name(name) in taken:
            number += 1
            end = f" ({number})"
            name = base[: MAX_NAME_LENGTH - len(end)].rstrip() + end
        taken.add(fold_name(name))
        if name != channel.name:
            self._report.remark(marked("names of channels were changed to valid ones"), name)
        return name

    async def _add_channel(
        self,
        channel: Channel,
        name: str,
        role_groups: Mapping[str, GroupId],
        firsts: Mapping[datetime, int],
    ) -> ChannelId:
        creator_id = self._people.get(channel.creator or "")
        description = imported_description(channel, self._report)
        permissions = {
            key: value.as_json()
            for key, value in default_permissions(role_groups, creator_id).items()
        }
        row = await channels.insert(
            self._connection,
            self._realm_id,
            NewChannel(
                name=name,
                description=description,
                rendered_description=render_description(description),
                creator_id=creator_id,
                created_at=min(channel.created_at or self._now, self._now),
                invite_only=channel.is_private,
                is_web_public=channel.is_web_public and not channel.is_private,
                history_public_to_subscribers=not channel.is_private or channel.since is None,
                is_default=channel.is_default,
                topics_policy=channel.topics_policy,
                message_retention_days=channel.retention_days,
                permissions=permissions | self._groups.channel_settings(channel.permissions),
            ),
        )
        members = self._ids_of(channel.members)
        if channel.is_default and self._owner_id not in members:
            members.append(self._owner_id)
        await imported_people.subscribe(
            self._connection,
            self._realm_id,
            row.channel_id,
            self._subscriptions(channel, row.channel_id, members, firsts),
            last=self._last,
        )
        count = len(self._active.intersection(members))
        counts = {row.channel_id: count}
        await channels.change_subscriber_counts(self._connection, self._realm_id, counts)
        self._report.count(marked("subscriptions"), len(members))
        return row.channel_id

    def _subscriptions(
        self,
        channel: Channel,
        channel_id: ChannelId,
        members: Sequence[UserId],
        firsts: Mapping[datetime, int],
    ) -> list[ImportedSubscription]:
        color = COLORS[channel_id % len(COLORS)]
        received = self._first_received(channel, firsts)
        colors: dict[UserId, str] = {}
        choices: dict[UserId, SubscriptionChoices] = {}
        for key, chosen in zip_longest(channel.members, channel.colors):
            # Of people who share an account, the first one's choices are kept.
            colors.setdefault(self._people[key], chosen or color)
            if key in channel.choices:
                choices.setdefault(self._people[key], channel.choices[key])
        return [
            ImportedSubscription(
                user_id=user_id,
                color=colors.get(user_id, color),
                first=received.get(user_id, FIRST),
                **asdict(choices.get(user_id, SubscriptionChoices())),
            )
            for user_id in members
        ]

    def _first_received(
        self, channel: Channel, firsts: Mapping[datetime, int]
    ) -> dict[UserId, Position]:
        """Return the first message that subscribers received; without an entry: all."""
        if channel.since is None or not channel.is_private:
            return {}
        after = self._last + 1
        numbers: dict[UserId, Position] = {}
        for key in channel.members:
            moment = channel.since.get(key)
            number = after if moment is None else firsts.get(moment, after)
            user_id = self._people[key]
            numbers[user_id] = Position(min(number, numbers.get(user_id, number)))
        return numbers

    async def add_conversations(self, wanted: Sequence[DirectConversation]) -> None:
        """Add direct conversations; several between the same people become one."""
        ids: dict[str, int] = {}
        by_members: dict[tuple[UserId, ...], int] = {}
        for each in wanted:
            members = tuple(self._ids_of(each.members))
            if not members:
                self._report.remark(
                    marked("direct conversations of unknown people were left out"), each.key
                )
                continue
            if members not in by_members:
                by_members[members] = await imported_people.open_dm_group(
                    self._connection, self._realm_id, members, first=FIRST, last=self._last
                )
            ids[each.key] = by_members[members]
        await self._keep("conversation", ids)
        self._report.count(marked("direct conversations"), len(by_members))

    def _ids_of(self, keys: Iterable[str]) -> list[UserId]:
        return sorted({self._people[key] for key in keys})

    async def _keep(self, kind: import_keys.Kind, ids: Mapping[str, int]) -> None:
        await self._connection.run(import_keys.keep(self._realm_id, self._import_id, kind, ids))

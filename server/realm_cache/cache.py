"""The cached rows of a realm, and look-ups in them."""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from server.domain.access import EVERYONE_GROUP, GUEST, GroupGraph, Person
from server.domain.actor import SPECTATOR_ID
from server.domain.addresses import Addresses, RealmAddress
from server.domain.alert_words import AlertWords
from server.domain.clock import Clock
from server.domain.emoji import RealmEmoji, picture_url
from server.domain.external_content import ProxyLinks
from server.domain.markdown import Linkifier, Linkifiers, PlainTypesetter, Typesetter
from server.domain.names import fold_name
from server.domain.profiles import user_id_of_hidden_email
from server.domain.realm_settings import RealmSettings
from server.domain.shown_people import EVERYTHING, FROM_THE_WEB, PeopleVisibility
from server.domain.user_settings import UserSettings
from server.i18n import catalogue_language
from server.realm_cache.keys import (
    ALERT_WORDS,
    EMOJI,
    GRAPH,
    LINKIFIERS,
    NAMES,
    REALM,
    channel_key,
    subscription_key,
    topic_key,
    user_key,
)
from server.realm_cache.rows import CachedRows
from server.runtime.batch_loader import BatchLoader
from storage import (
    alert_words,
    channels,
    conversations,
    groups,
    linkifiers,
    realm_emoji,
    realms,
    shared_contacts,
    subscriptions,
    users,
)
from storage.address_folding import FoldedAddress, fold_address
from storage.channels import ChannelRow
from storage.conversations import TopicRow
from storage.database import Connection, Database
from storage.ids import ChannelId, DmGroupId, Position, RealmId, UserId
from storage.realms import RealmRow
from storage.subscriptions import SubscriptionRow
from storage.users import UserRow

DEFAULT_ADDRESSES: Final = Addresses()


@dataclass(frozen=True, slots=True)
class Rendering:
    """Server-wide configuration of rendering."""

    typesetter: Typesetter
    media_hosts: frozenset[str] = frozenset()
    """Hosts whose images and videos messages embed, beside uploads."""
    proxy: ProxyLinks | None = None
    """Proxy for images of all other hosts."""


PLAIN_RENDERING: Final = Rendering(PlainTypesetter())


class RealmCache(CachedRows):
    """Rows of one realm, from the cache or from the database.

    With `exact` (inside a write that decides again) nothing comes from a cache, and rows that are
    read are locked until the commit.
    """

    def __init__(
        self,
        realm_id: RealmId,
        database: Database,
        clock: Clock,
        addresses: Addresses,
        rendering: Rendering = PLAIN_RENDERING,
        *,
        exact: Connection | None = None,
    ) -> None:
        self.realm_id = realm_id
        self.rendering = rendering
        super().__init__(database, exact=exact)
        self._clock = clock
        self._addresses = addresses
        self._callers = BatchLoader(self._by_emails)

    def locking(self, connection: Connection) -> "RealmCache":
        """The same cache, read and locked on this connection."""
        return RealmCache(
            self.realm_id,
            self._database,
            self._clock,
            self._addresses,
            self.rendering,
            exact=connection,
        )

    async def realm(self) -> RealmRow:
        row = self.recall(REALM) or await self._get(
            REALM, lambda c: realms.by_id(c, self.realm_id, share=self._exact is not None)
        )
        assert isinstance(row, RealmRow), "a realm is never removed"
        return row

    async def settings(self) -> RealmSettings:
        return RealmSettings.of((await self.realm()).settings)

    async def address(self) -> RealmAddress:
        """The realm's address."""
        return self.address_of(await self.realm())

    def address_of(self, realm: RealmRow) -> RealmAddress:
        return self._addresses.of_realm(realm.subdomain)

    async def groups(self) -> GroupGraph:
        """The groups, at the realm's groups_changed_at or later."""
        # Read first: a caller that holds a connection must not wait for another one.
        realm = await self.realm()
        version = (realm.groups_changed_at, realm.changed_at)

        async def load(connection: Connection) -> tuple[tuple[Position, Position], GroupGraph]:
            return version, await self.read_groups(connection, realm)

        # The realm's row may be younger than what is applied here, and so than these groups: what
        # is decided on them would be verified against a version that they do not have.
        known = self.recall(GRAPH)
        if known is not None and known[0] != version:
            del self._rows[GRAPH]
        _, graph = await self._get(GRAPH, load)
        assert isinstance(graph, GroupGraph)
        return graph

    async def alert_words(self) -> AlertWords:
        """All alert words; may lack a change that is not applied here yet."""
        found = await self._get(ALERT_WORDS, self._load_alert_words)
        assert isinstance(found, AlertWords)
        return found

    async def linkifiers(self) -> Linkifiers:
        """The organization's linkifiers; may lack a change that is not applied here yet."""
        found = await self._get(LINKIFIERS, self._load_linkifiers)
        assert isinstance(found, Linkifiers)
        return found

    async def emoji(self) -> RealmEmoji:
        """The organization's emoji; may lack a change that is not applied here yet."""
        found = await self._get(EMOJI, self._load_emoji)
        assert isinstance(found, RealmEmoji)
        return found

    async def user(self, user_id: UserId) -> UserRow | None:
        return (await self.users([user_id])).get(user_id)

    async def language_of(self, user_id: UserId) -> str:
        """The language of automatic messages to the user, who is one of this realm."""
        row = await self.user(user_id)
        assert row is not None, "users are never removed"
        return catalogue_language(UserSettings.of(row.settings).default_language)

    async def users(self, user_ids: Sequence[UserId]) -> dict[UserId, UserRow]:
        """The users with these ids, active or not."""
        found: dict[UserId, UserRow] = {}
        missing = []
        for user_id in user_ids:
            row = self._rows.get(user_key(user_id))
            if row is None:
                missing.append(user_id)
            else:
                found[user_id] = row
        if missing:
            forgotten = self._forgotten
            for row in await self._read(
                lambda c: users.by_ids(c, self.realm_id, missing, share=self._exact is not None)
            ):
                if forgotten == self._forgotten:
                    self._keep(user_key(row.user_id), row)
                found[row.user_id] = row
        return found

    def holds(self, row: UserRow) -> bool:
        """Return whether the user's row, and one of the active organization, are still cached."""
        realm: RealmRow | None = self._rows.get(REALM)
        is_active = realm is not None and not realm.deactivated
        return is_active and self._rows.get(user_key(row.user_id)) is row

    async def user_by_email(self, email: str) -> UserRow | None:
        """The user with this address. Concurrent look-ups share a query."""
        key = ("email", fold_address(email))
        user_id = self._by_name.get(NAMES["user"], {}).get(key)
        known: UserRow | None = None if user_id is None else self._rows.get(user_key(user_id))
        if known is not None:
            return known
        if self._exact is not None or self._database.is_held:
            return (await self._by_emails([email])).get(email)
        return await self._callers.find(email)

    async def users_by_email(self, emails: Sequence[str]) -> list[UserRow]:
        """The users with these addresses, real or generated, in no order."""
        found = await self._by_emails(emails)
        return list({row.user_id: row for row in found.values()}.values())

    async def _by_emails(self, emails: Sequence[str]) -> dict[str, UserRow]:
        ids = self._by_name.setdefault(NAMES["user"], {})
        foldings = {email: fold_address(email) for email in emails}
        missing = [e for e, folding in foldings.items() if ("email", folding) not in ids]
        shared: dict[FoldedAddress, list[UserRow]] = {}
        if missing:
            shared = await self._read_emails(missing, ids)
            hidden = [f for e in missing if (f := foldings[e]) not in shared]
            await self._resolve_hidden([f for f in hidden if ("email", f) not in ids], ids)
        known = {e: ids[("email", f)] for e, f in foldings.items() if ("email", f) in ids}
        for email in missing:
            if several := shared.get(foldings[email]):
                as_written = [row for row in several if row.email == email]
                known[email] = (as_written or several)[0].user_id
        rows = await self.users(list(known.values()))
        return {e: rows[user_id] for e, user_id in known.items() if user_id in rows}

    async def _read_emails(
        self, emails: Sequence[str], ids: dict[Any, Any]
    ) -> dict[FoldedAddress, list[UserRow]]:
        """Cache the owners of these addresses; return those that several old accounts share."""
        forgotten = self._forgotten
        found: dict[FoldedAddress, list[UserRow]] = {}
        for row in await self._read(lambda c: users.by_emails(c, self.realm_id, emails)):
            found.setdefault(fold_address(row.email), []).append(row)
            if self._exact is None and forgotten == self._forgotten:
                self._keep(user_key(row.user_id), row)
        for folding, rows in found.items():
            if len(rows) == 1:
                email = rows[0].email
                # Mostly an existing string: it is shared by all readers.
                ids[("email", email if folding == email else folding)] = rows[0].user_id
        return {folding: rows for folding, rows in found.items() if len(rows) > 1}

    async def users_known_by(self, viewer: UserRow, emails: Sequence[str]) -> list[UserRow]:
        """The same, if this viewer may know the address (server/domain/shown_people.py)."""
        rows = await self.users_by_email(emails)
        sight = await self.sight(viewer, [row.user_id for row in rows])
        domain = (await self.address()).domain
        return [
            row for row in rows if any(sight.is_found_by(viewer, row, e, domain) for e in emails)
        ]

    async def sight(self, viewer: Person | UserRow, user_ids: Iterable[UserId]) -> PeopleVisibility:
        """The users among these that the viewer may see: all, or a guest's contacts and bots.

        Queries the database only for restricted guests. Contacts may change while it is read.
        """
        if viewer.user_id == SPECTATOR_ID:
            return FROM_THE_WEB
        if viewer.role != GUEST or await self.guests_know_all_users():
            return EVERYTHING
        wanted = sorted(set(user_ids))
        known = await self._read(
            lambda c: shared_contacts.known_to_each(
                c, self.realm_id, [viewer.user_id], among=wanted
            )
        )
        others = await self.users([u for u in wanted if u not in known[viewer.user_id]])
        return PeopleVisibility(
            strangers=frozenset(u for u, row in others.items() if row.bot_type is None)
        )

    async def strangers(self, viewer: Person | UserRow, rows: Iterable[UserRow]) -> list[UserRow]:
        """The users among these that the viewer may not see."""
        rows = list(rows)
        sight = await self.sight(viewer, [row.user_id for row in rows])
        return [row for row in rows if row.user_id in sight.strangers]

    async def guests_know_all_users(self) -> bool:
        """Whether guests may see users that are not their contacts."""
        settings = await self.settings()
        # The default, which is evaluated without the groups.
        is_default = settings.can_access_all_users_group == EVERYONE_GROUP
        return is_default or settings.guests_know_all_users(await self.groups())

    async def _resolve_hidden(self, emails: Sequence[str], ids: dict[Any, Any]) -> None:
        """Cache the owners of generated addresses among these."""
        domain = (await self.address()).domain
        hidden = {
            UserId(user_id): email
            for email in emails
            if (user_id := user_id_of_hidden_email(email, domain)) is not None
        }
        for user_id in await self.users(list(hidden)) if hidden else ():
            ids[("email", hidden[user_id])] = user_id

    async def users_named(self, full_name: str) -> list[UserRow]:
        """Active users with this name."""
        names = self._by_name.setdefault(NAMES["user"], {})
        key = ("name", fold_name(full_name))
        if key not in names:
            rows = await self._read(lambda c: users.named(c, self.realm_id, full_name))
            names[key] = [row.user_id for row in rows]
        return list((await self.users(names[key])).values())

    async def channel(self, channel_id: ChannelId) -> ChannelRow | None:
        row: ChannelRow | None = await self._get(
            channel_key(channel_id), lambda c: self._load_channel(c, channel_id)
        )
        return row

    async def channel_by_name(self, name: str) -> ChannelRow | None:
        names = self._by_name.setdefault(NAMES["channel"], {})
        key = fold_name(name)
        if key not in names:
            rows = await self._read(lambda c: channels.sharing_name(c, self.realm_id, name))
            if not rows:
                return None
            names[key] = {row.name: row.channel_id for row in rows}
        as_written: dict[str, ChannelId] = names[key]
        return await self.channel(as_written.get(name) or next(iter(as_written.values())))

    async def existing_channels(self, names: Sequence[str]) -> list[str]:
        """The channels with these names, by one look-up."""
        known = self._by_name.setdefault(NAMES["channel"], {})
        unknown = [name for name in names if fold_name(name) not in known]
        if not unknown:
            return list(names)
        found = await self._read(lambda c: channels.named(c, self.realm_id, unknown))
        missing = {
            name for name, each in zip(unknown, found, strict=True) if each.channel_id is None
        }
        return [name for name in names if name not in missing]

    async def subscription(self, user_id: UserId, channel_id: ChannelId) -> SubscriptionRow | None:
        row: SubscriptionRow | None = await self._get(
            subscription_key(user_id, channel_id),
            lambda c: subscriptions.of_user_in(
                c, self.realm_id, user_id, channel_id, share=self._exact is not None
            ),
        )
        return row

    async def topic(self, channel_id: ChannelId, name: str) -> TopicRow | None:
        row: TopicRow | None = await self._get(
            topic_key(channel_id, name),
            lambda c: conversations.topic_named(c, self.realm_id, channel_id, name),
        )
        return row

    async def dm_group(self, user_ids: tuple[UserId, ...]) -> DmGroupId:
        """The direct-message group of these users, sorted; a new id if they have none yet."""
        found = await self._get(
            ("dm_group", user_ids),
            lambda c: conversations.dm_group_of(c, self.realm_id, user_ids),
        )
        if found is None:
            found = await self._read(conversations.new_dm_group_id)
        return DmGroupId(found)

    def person(self, row: UserRow) -> Person:
        return Person(row.user_id, row.role, row.date_joined, is_bot=row.bot_type is not None)

    async def _load_channel(
        self, connection: Connection, channel_id: ChannelId
    ) -> ChannelRow | None:
        rows = await channels.by_ids(
            connection, self.realm_id, [channel_id], share=self._exact is not None
        )
        return rows[0] if rows else None

    async def _load_alert_words(self, connection: Connection) -> AlertWords:
        rows = await alert_words.of_realm(connection, self.realm_id)
        # Many of them would block the event loop for too long.
        return await asyncio.to_thread(AlertWords, [(row.word, row.user_ids) for row in rows])

    async def _load_linkifiers(self, connection: Connection) -> Linkifiers:
        rows = await linkifiers.of_realm(connection, self.realm_id)
        return Linkifiers(Linkifier(row.pattern, row.url_template) for row in rows)

    async def _load_emoji(self, connection: Connection) -> RealmEmoji:
        rows = await realm_emoji.of_realm(connection, self.realm_id)
        return RealmEmoji(
            {row.name: str(row.emoji_id) for row in rows if not row.deactivated},
            {row.name: picture_url(row.blob_key) for row in rows if not row.deactivated},
        )

    async def groups_of(self, connection: Connection, realm: RealmRow) -> GroupGraph:
        """The groups as this connection sees them, together with the realm's row."""
        key = ("graph at", realm.groups_changed_at, realm.changed_at)
        graph = self._rows.get(key)
        if graph is None:
            graph = await self.read_groups(connection, realm)
            self._keep(key, graph)
        assert isinstance(graph, GroupGraph)
        return graph

    async def read_groups(self, connection: Connection, realm: RealmRow) -> GroupGraph:
        """The groups as this connection sees them, including changes of its own transaction."""
        settings = RealmSettings.of(realm.settings)
        rows = await groups.all_of_realm(connection, self.realm_id)
        return GroupGraph(
            ids_by_name={g.name: g.group_id for g in rows},
            system_names={g.group_id: g.name for g in rows if g.is_system_group},
            members={g.group_id: frozenset(g.member_ids) for g in rows},
            subgroups={g.group_id: tuple(g.subgroup_ids) for g in rows},
            deactivated=frozenset(g.group_id for g in rows if g.deactivated),
            permissions={g.group_id: g.permissions for g in rows},
            waiting_period=timedelta(days=settings.waiting_period_threshold),
            clock=self._clock,
            gone=frozenset(await users.inactive_ids(connection, self.realm_id)),
        )


class RealmCaches:
    """The caches of all realms that this process serves."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        addresses: Addresses = DEFAULT_ADDRESSES,
        rendering: Rendering = PLAIN_RENDERING,
    ) -> None:
        self._database = database
        self._clock = clock
        self._addresses = addresses
        self.rendering = rendering
        self._realm_caches: dict[RealmId, RealmCache] = {}

    def of(self, realm_id: RealmId) -> RealmCache:
        realm_cache = self._realm_caches.get(realm_id)
        if realm_cache is None:
            realm_cache = self._realm_caches[realm_id] = self.afresh(realm_id)
        return realm_cache

    def afresh(self, realm_id: RealmId) -> RealmCache:
        """An empty cache, for a realm that is not followed and so gets no invalidations."""
        return RealmCache(realm_id, self._database, self._clock, self._addresses, self.rendering)

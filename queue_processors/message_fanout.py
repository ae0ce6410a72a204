"""Process the message fan-out queue: decide on notifications, and withdraw those no longer due."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import structlog

from queue_processors.email_batches import job_of
from queue_processors.embed_links import ask_for_previews
from queue_processors.outgoing_webhooks import ask_bots
from queue_processors.processor import Processor
from queue_processors.thumbnails import ask_for_thumbnails
from server.app import App
from server.domain.notifications import (
    PRESENCE_TIMEOUT,
    Mentions,
    NotificationDecision,
    NotificationFacts,
    decide,
    mentions_in,
)
from server.jobs import (
    EmailNotifications,
    EmbedLinks,
    Job,
    MessageFanout,
    OutgoingWebhook,
    PushNotification,
    Thumbnails,
    outgoing,
)
from server.messaging.job_broker import BrokerUnavailableError, JobPublisher, OutgoingJob
from server.realm_cache import RealmCache
from storage import messages, notification_candidates, notifications, realms
from storage.database import Connection, Database, DatabaseUnavailableError, StatementTimeoutError
from storage.ids import GroupId, MessageId, RealmId, UserId
from storage.notification_candidates import FactsRow, Pair
from storage.notifications import BatchRow, NewNotification, PushRow

logger = structlog.get_logger(__name__)

FIRST_CHECK_SECONDS: Final = 120.0
MAX_CHECKS: Final = 8
"""The maximum number of retries for a present user, each after twice the delay of the last."""
MAX_PAIRS: Final = 1_000

Unavailable = (DatabaseUnavailableError, StatementTimeoutError, BrokerUnavailableError)


@dataclass(frozen=True, slots=True)
class Fanout:
    """Handle fan-out jobs of one realm at a time.

    `hands_to` are the queues with a processor; no jobs are published to others.
    """

    database: Database
    broker: JobPublisher
    realm_cache: RealmCache
    realm_id: RealmId
    hands_to: frozenset[str]
    push_kinds: frozenset[str]
    """The kinds of devices that are reached; users without one cause no pushes."""
    pairs_at_once: int = MAX_PAIRS

    async def handle(self, job: MessageFanout) -> None:
        """Handle all parts of a job. Idempotent: a retry makes no second decision."""
        if job.sent:
            await self._sent(job.sent)
            if OutgoingWebhook.queue in self.hands_to:
                await ask_bots(self.database, self.broker, self.realm_id, job.sent)
            if EmbedLinks.queue in self.hands_to:
                await ask_for_previews(self.database, self.broker, self.realm_id, job.sent)
            if Thumbnails.queue in self.hands_to:
                await ask_for_thumbnails(self.database, self.broker, self.realm_id, job.sent)
        if job.mentioning:
            await self._of_all(job.mentioning, only_mentions=True)
        if job.newly_mentioned:
            await self._of_pairs(job.newly_mentioned, only_mentions=True)
        if job.again:
            await self._of_pairs(job.again, look=job.look)
        await self._withdraw(job)

    async def _sent(self, message_ids: Sequence[MessageId]) -> None:
        try:
            await self._of_all(message_ids)
        except Unavailable:
            raise
        except Exception:
            if len(message_ids) == 1:
                raise
            logger.exception("message_fanout.batch_split", realm_id=self.realm_id)
            await self.broker.publish(
                *(
                    outgoing(
                        MessageFanout(realm_id=self.realm_id, sent=(message_id,)),
                        key=f"{message_id}",
                    )
                    for message_id in message_ids
                )
            )

    async def _of_all(
        self, message_ids: Sequence[MessageId], *, only_mentions: bool = False
    ) -> None:
        """Decide for every user that may be notified of these messages."""
        await self._pages(message_ids, notification_candidates.START, only_mentions=only_mentions)
        await self._hand_over(message_ids)

    async def _pages(
        self, message_ids: Sequence[MessageId], after: Pair, *, only_mentions: bool
    ) -> None:
        """Decide for all candidates past `after`, in pages.

        A page costs as much as there are candidates for all of its messages, so where they are
        many, later pages are for fewer messages: of a single message, a page costs no more than it
        holds.
        """
        place = await self._page(message_ids, after, only_mentions=only_mentions)
        while place is not None and len(message_ids) == 1:
            place = await self._page(message_ids, place, only_mentions=only_mentions)
        if place is not None:
            half = len(message_ids) // 2
            await self._pages(message_ids[:half], place, only_mentions=only_mentions)
            await self._pages(message_ids[half:], place, only_mentions=only_mentions)

    async def _page(
        self, message_ids: Sequence[MessageId], after: Pair, *, only_mentions: bool
    ) -> Pair | None:
        """Decide for the next page of candidates; return its last pair if there may be more."""
        async with self.database.connection() as connection:
            rows = await notification_candidates.who_may_want(
                connection, self.realm_id, message_ids, after=after, limit=self.pairs_at_once
            )
            again = await self._settle(connection, rows, only_mentions=only_mentions)
        await self._look_again(again, look=0)
        return rows[-1].pair if len(rows) == self.pairs_at_once else None

    async def _of_pairs(
        self, pairs: Sequence[Pair], *, only_mentions: bool = False, look: int = -1
    ) -> None:
        async with self.database.connection() as connection:
            rows = await notification_candidates.facts_of(connection, self.realm_id, pairs)
            again = await self._settle(connection, rows, only_mentions=only_mentions)
        await self._look_again(again, look=look + 1)
        await self._hand_over(sorted({message_id for _, message_id in pairs}))

    async def _settle(
        self, connection: Connection, rows: Sequence[FactsRow], *, only_mentions: bool
    ) -> list[Pair]:
        """Decide and store the decisions; return the pairs that need a later retry."""
        there = await self._present(connection, rows)
        every = [NotificationFacts.of(row, is_present=row.user_id in there) for row in rows]
        decided = [(facts, decide(facts, only_mentions=only_mentions)) for facts in every]
        wanted = [(facts, decision) for facts, decision in decided if decision.is_to_notify]
        if wanted:
            groups = await self._groups(connection, [facts.row for facts, _ in wanted])
            news = [_new(facts, decision, groups) for facts, decision in wanted]
            await notifications.insert(connection, self.realm_id, news)
        return [facts.row.pair for facts, decision in decided if decision.look_again]

    async def _present(self, connection: Connection, rows: Sequence[FactsRow]) -> frozenset[UserId]:
        unread = sorted({row.user_id for row in rows if row.is_unread})
        if not unread:
            return frozenset()
        return frozenset(
            await notification_candidates.present(
                connection, self.realm_id, unread, within=PRESENCE_TIMEOUT
            )
        )

    async def _groups(
        self, connection: Connection, rows: Sequence[FactsRow]
    ) -> dict[Pair, GroupId]:
        """Return the group through which each message mentions a user who is not named in it."""
        named = [row for row in rows if row.is_mentioned]
        if not named:
            return {}
        ids = {row.message_id for row in named}
        htmls = await messages.rendered(connection, self.realm_id, ids)
        mentions = {message_id: mentions_in(html) for message_id, html in htmls.items()}
        mentioned = {group_id for each in mentions.values() for group_id in each.group_ids}
        if not mentioned:
            return {}
        realm = await realms.by_id(connection, self.realm_id)
        assert realm is not None, "a realm is never removed"
        graph = await self.realm_cache.groups_of(connection, realm)
        members = {group_id: graph.members_of([group_id]) for group_id in mentioned}
        found = {row.pair: _group(row, mentions.get(row.message_id), members) for row in named}
        return {pair: group_id for pair, group_id in found.items() if group_id is not None}

    async def _look_again(self, pairs: Sequence[Pair], *, look: int) -> None:
        if not pairs or look >= MAX_CHECKS:
            return
        job = MessageFanout(realm_id=self.realm_id, again=tuple(pairs), look=look)
        key = f"{pairs[0][1]}:{pairs[0][0]}:again:{look}"
        later = FIRST_CHECK_SECONDS * 2**look
        await self.broker.publish(outgoing(job, key=key, after_seconds=later))

    async def _hand_over(self, message_ids: Sequence[MessageId]) -> None:
        """Publish jobs for stored decisions, those of a process that has died included."""
        while True:
            async with self.database.connection() as connection:
                pushes, batches = await self._unhanded(connection, message_ids)
            if not pushes and not batches:
                return
            await self.broker.publish(
                *(self._push(row) for row in pushes),
                *(job_of(self.realm_id, batch) for batch in batches),
            )
            async with self.database.connection() as connection:
                await notifications.pushes_handed(connection, self.realm_id, pushes)
                await notifications.batches_handed(connection, self.realm_id, batches)
            if max(len(pushes), len(batches)) < self.pairs_at_once:
                return

    async def _unhanded(
        self, connection: Connection, message_ids: Sequence[MessageId]
    ) -> tuple[list[PushRow], list[BatchRow]]:
        """Return the next batch of stored decisions without a published job."""
        pushes, batches = list[PushRow](), list[BatchRow]()
        if PushNotification.queue in self.hands_to:
            pushes = await notifications.unhanded_pushes(
                connection,
                self.realm_id,
                message_ids,
                kinds=self.push_kinds,
                limit=self.pairs_at_once,
            )
        if EmailNotifications.queue in self.hands_to:
            batches = await notifications.unhanded_batches(
                connection, self.realm_id, message_ids, limit=self.pairs_at_once
            )
        return pushes, batches

    def _push(self, row: PushRow) -> OutgoingJob:
        job = PushNotification(
            realm_id=self.realm_id,
            user_id=row.user_id,
            message_ids=(row.message_id,),
            reason=row.reason,
            group_id=row.group_id,
        )
        return outgoing(job, key=f"{row.message_id}:{row.user_id}:push")

    # -- withdrawing

    async def _withdraw(self, job: MessageFanout) -> None:
        """Delete notifications of read or deleted messages, and remove them from devices."""
        if not (job.read or job.read_all or job.gone):
            return
        while True:
            async with self.database.connection() as connection:
                rows = await notifications.stale(
                    connection,
                    self.realm_id,
                    pairs=job.read,
                    user_ids=job.read_all,
                    message_ids=job.gone,
                    limit=self.pairs_at_once,
                )
            shown: dict[UserId, list[MessageId]] = {}
            for row in rows:
                if row.is_pushed:
                    shown.setdefault(row.user_id, []).append(row.message_id)
            if shown:
                await self.broker.publish(*(self._removal(*each) for each in shown.items()))
            if rows:
                pairs = [(row.user_id, row.message_id) for row in rows]
                async with self.database.connection() as connection:
                    await notifications.delete(connection, self.realm_id, pairs)
            if len(rows) < self.pairs_at_once:
                return

    def _removal(self, user_id: UserId, message_ids: Sequence[MessageId]) -> OutgoingJob:
        job = PushNotification(
            realm_id=self.realm_id, user_id=user_id, message_ids=tuple(message_ids), op="remove"
        )
        return outgoing(job, key=f"{message_ids[0]}:{user_id}:removal")


def _new(
    facts: NotificationFacts, decision: NotificationDecision, groups: Mapping[Pair, GroupId]
) -> NewNotification:
    row = facts.row
    return NewNotification(
        user_id=row.user_id,
        message_id=row.message_id,
        email_reason=decision.email,
        push_reason=decision.push,
        group_id=groups.get(row.pair),
        batching_seconds=facts.settings.email_notifications_batching_period_seconds,
    )


def _group(
    row: FactsRow, mentions: Mentions | None, members: Mapping[GroupId, Collection[UserId]]
) -> GroupId | None:
    """Return the smallest mentioned group of the user; None if the user is mentioned by name."""
    if mentions is None or row.user_id in mentions.user_ids:
        return None
    theirs = [
        (len(members[group_id]), group_id)
        for group_id in mentions.group_ids
        if row.user_id in members[group_id]
    ]
    return min(theirs)[1] if theirs else None


def processor(*following: type[Job]) -> Processor[App, MessageFanout]:
    """Return the queue's processor, which publishes jobs to the named queues."""
    hands_to = frozenset(job.queue for job in following)

    async def handle(app: App, job: MessageFanout) -> None:
        realm_cache = app.realm_caches.of(job.realm_id)
        fanout = Fanout(app.database, app.jobs, realm_cache, job.realm_id, hands_to, app.push_kinds)
        await fanout.handle(job)

    return Processor(MessageFanout, handle)

"""The queue of message_fanout, worked off by hand: what it decides, and what it hands on."""

from dataclasses import dataclass
from typing import Any

import msgspec
import pytest_asyncio

from queue_processors import fanout_translation, shipper
from queue_processors.message_fanout import Fanout
from queue_processors.shipper import jobs_of
from server.jobs import (
    ButtonClick,
    EmailNotifications,
    EmbedLinks,
    Job,
    MessageFanout,
    OutgoingWebhook,
    PushNotification,
    ReactionPush,
    SlashCommandCall,
)
from server.messaging.job_broker import OutgoingJob
from storage import push_devices, shipping
from storage.ids import MessageId, UserId
from storage.shipping import CursorRow
from storage.users import UserRow
from testkit.realm_with_roles import Hall

ALL_QUEUES = frozenset(
    job.queue
    for job in (
        PushNotification,
        EmailNotifications,
        EmbedLinks,
        OutgoingWebhook,
        ButtonClick,
        SlashCommandCall,
        ReactionPush,
    )
)


class Basket:
    """A broker that keeps what is published."""

    def __init__(self) -> None:
        self.published: list[OutgoingJob] = []

    async def publish(self, *jobs: OutgoingJob) -> None:
        self.published += jobs

    def of(self, kind: type[Job]) -> list[Any]:
        """The jobs of this kind, as their processor reads them."""
        return [
            msgspec.json.decode(job.body, type=kind)
            for job in self.published
            if job.queue == kind.queue
        ]


@dataclass
class Noted:
    """A row of `notifications`."""

    user_id: UserId
    message_id: MessageId
    email_reason: str | None
    push_reason: str | None
    group_id: int | None
    email_batch_id: int | None
    push_handed: bool


class FanoutDesk:
    """Ships the realm's log and does what it asks of message_fanout, and nothing else."""

    def __init__(self, hall: Hall) -> None:
        self.hall = hall
        self.basket = Basket()
        self._shipped = CursorRow(hall.make.realm_id, 0, 0)  # type: ignore[arg-type]

    def fanout(self, **parts: Any) -> Fanout:
        stage, realm_id = self.hall.stage, self.hall.make.realm_id
        whole: dict[str, Any] = {
            "database": stage.database,
            "broker": self.basket,
            "realm_cache": stage.realm_caches.of(realm_id),
            "realm_id": realm_id,
            "hands_to": ALL_QUEUES,
            "push_kinds": frozenset({"apns", "fcm", "web"}),
        }
        return Fanout(**{**whole, **parts})

    async def shipped(self) -> list[MessageFanout]:
        """The new jobs for message_fanout in the log; others are published."""
        realm_id = self.hall.make.realm_id
        async with self.hall.stage.database.connection() as connection:
            [realm] = [
                row
                for row in await shipping.lagging(connection, shard=0, shards=1, limit=100)
                if row.realm_id == realm_id
            ]
            entries = await shipping.entries_between(
                connection,
                self._shipped,
                realm.caught_up,
                kinds=[*shipper.TRANSLATIONS, *fanout_translation.KINDS],
                without_body=fanout_translation.WITHOUT_BODY,
                limit=10_000,
            )
        self._shipped = realm.caught_up
        jobs = jobs_of(realm_id, entries)
        self.basket.published += [job for job in jobs if job.queue in ALL_QUEUES]
        return [
            msgspec.json.decode(job.body, type=MessageFanout)
            for job in jobs
            if job.queue == MessageFanout.queue
        ]

    async def catch_up(self) -> None:
        """Do what the log asks for."""
        for job in await self.shipped():
            await self.handle(job)

    async def handle(self, job: MessageFanout) -> None:
        await self.fanout().handle(job)

    async def noted(self) -> list[Noted]:
        """Notifications decided upon and not withdrawn, by message and user."""
        async with self.hall.stage.database.connection() as connection:
            return await connection.many(
                Noted,
                """
                SELECT user_id, message_id, email_reason, push_reason, group_id, email_batch_id,
                       push_handed
                  FROM notifications WHERE realm_id = %(realm_id)s ORDER BY message_id, user_id
                """,
                realm_id=self.hall.make.realm_id,
            )

    async def reasons(self) -> dict[str, tuple[str | None, str | None]]:
        """The reasons for an email and for a push, by the name of the user; each user once."""
        names = {row.user_id: row.full_name for row in self.hall.everyone}
        return {
            names.get(each.user_id, str(each.user_id)): (each.email_reason, each.push_reason)
            for each in await self.noted()
        }

    async def give_phones(self, *people: UserRow) -> None:
        """Give each of them a phone."""
        for row in people:
            await push_devices.insert_plain(
                self.hall.make.connection,
                self.hall.make.realm_id,
                row.user_id,
                kind="fcm",
                token="token",
                app_id=None,
                now=self.hall.stage.clock.now(),
            )

    async def arrive(self, *people: UserRow, seconds_ago: int = 0) -> None:
        """Let a client of each of them have been heard of then."""
        async with self.hall.stage.database.connection() as connection:
            for row in people:
                await connection.execute(
                    """
                    INSERT INTO event_queues (realm_id, queue_id, user_id, epoch, base, params,
                                              lifespan_seconds, last_seen_at)
                    VALUES (%(realm_id)s, gen_random_uuid()::text, %(user_id)s, 1, 0, '{}', 600,
                            now() - make_interval(secs => %(ago)s))
                    """,
                    realm_id=self.hall.make.realm_id,
                    user_id=row.user_id,
                    ago=seconds_ago,
                )

    async def leave(self, *people: UserRow) -> None:
        """Nothing has been heard of them for long."""
        async with self.hall.stage.database.connection() as connection:
            await connection.execute(
                """
                UPDATE event_queues SET last_seen_at = now() - interval '1 hour'
                 WHERE realm_id = %(realm_id)s AND user_id = ANY (%(ids)s::bigint[])
                """,
                realm_id=self.hall.make.realm_id,
                ids=[row.user_id for row in people],
            )

    async def want(self, row: UserRow, **settings: Any) -> None:
        """Change a user's personal settings."""
        connection = self.hall.make.connection
        await connection.execute(
            """
            UPDATE users SET settings = settings || %(new)s
             WHERE realm_id = %(realm_id)s AND user_id = %(user_id)s
            """,
            new=connection.json(settings),
            realm_id=self.hall.make.realm_id,
            user_id=row.user_id,
        )


@pytest_asyncio.fixture
async def desk(hall: Hall) -> FanoutDesk:
    return FanoutDesk(hall)

"""Timers come due when a test says so."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from queue_processors.due_items import DueItemRunner
from queue_processors.main import TIMERS, due_item_runner
from server.actions import reminders, scheduled_messages
from server.actions.scheduled_messages import Changes, ScheduleRequest
from server.app import App
from server.domain.actor import Actor
from server.telemetry.metrics import Metrics
from storage.ids import MessageId, RealmId, ReminderId, ScheduledMessageId
from storage.users import UserRow
from testkit.clients.api import Client
from testkit.stage import Stage

HOUR = 3_600


def soon(client: Client, seconds: int = HOUR) -> int:
    """A timestamp so far from now, by the server's clock."""
    return int(client.server.app.clock.now().timestamp()) + seconds


def due_item_runner_at(app: App, timestamp: float) -> DueItemRunner:
    """Return a due-item runner of this server, at that time."""
    moment = datetime.fromtimestamp(timestamp, UTC)
    return due_item_runner(app, now=lambda: moment)


def due_item_runner_on(stage: Stage) -> DueItemRunner:
    """Return a due-item runner with the clock of the stage."""
    return DueItemRunner(
        stage.database,
        stage.realm_services,
        Metrics(),
        TIMERS,
        now=stage.clock.now,
    )


@dataclass(frozen=True, slots=True)
class Timers:
    """People of a realm who put things off, on a stage. Times are seconds from now."""

    stage: Stage
    realm_id: RealmId

    def at(self, seconds: float) -> int:
        return int((self.stage.clock.now() + timedelta(seconds=seconds)).timestamp())

    async def schedule(
        self,
        row: UserRow,
        to: int | list[int],
        content: str = "later",
        *,
        topic: str = "t",
        seconds: float = HOUR,
    ) -> ScheduledMessageId:
        """To a channel, or to a list of people."""
        is_direct = isinstance(to, list)
        wanted = ScheduleRequest(
            type="direct" if is_direct else "channel",
            to=to,
            topic=None if is_direct else topic,
            content=content,
            timestamp=self.at(seconds),
        )
        entry = await self._write(row, scheduled_messages.schedule_message, wanted)
        return ScheduledMessageId(entry.position)

    async def edit(self, row: UserRow, message_id: ScheduledMessageId, **changes: Any) -> None:
        if "seconds" in changes:
            changes["timestamp"] = self.at(changes.pop("seconds"))
        action = scheduled_messages.edit_scheduled_message
        await self._write(row, action, message_id, Changes(**changes))

    async def drop(self, row: UserRow, message_id: ScheduledMessageId) -> None:
        actor = Actor(self.realm_id, row, "website")
        await self.stage.write(scheduled_messages.delete_scheduled_message, actor, message_id)

    async def remind(
        self,
        row: UserRow,
        message_id: MessageId | None = None,
        note: str = "",
        *,
        seconds: float = HOUR,
    ) -> ReminderId:
        entry = await self._write(row, reminders.set_reminder, message_id, note, self.at(seconds))
        return ReminderId(entry.position)

    async def pass_by(self, seconds: float = HOUR) -> int:
        """Advance the clock and run due items; return their number."""
        self.stage.clock.advance(timedelta(seconds=seconds))
        return await due_item_runner_on(self.stage).catch_up()

    async def _write(self, row: UserRow, action: Any, *args: Any) -> Any:
        actor = Actor(self.realm_id, row, "website")
        return await self.stage.write(action, actor, *args, self.stage.clock.now())

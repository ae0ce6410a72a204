"""Changes of messages, as the endpoints make them."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest_asyncio

from server.actions import reactions, stepped_work
from server.actions.messages import delete, edit, move, send
from server.actions.messages.decide import OutgoingMessage
from server.actions.messages.edit import NewContent
from server.actions.messages.move import Begun, MoveRequest
from server.actions.messages.moving_steps import MOVING
from server.domain.emoji import WantedEmoji
from storage.ids import MessageId
from storage.users import UserRow
from testkit.realm_with_roles import Hall


class Changes:
    """Changes messages as the endpoints do, as a user of the hall."""

    def __init__(self, hall: Hall) -> None:
        self.hall = hall
        self.steps = MOVING.size

    async def _write(self, row: UserRow, action: Any, *args: Any, **kwargs: Any) -> Any:
        return await self.hall.stage.write(action, self.hall.actor(row), *args, **kwargs)

    async def send(
        self, row: UserRow, to: str | Sequence[int], topic: str = "t", content: str = "hello"
    ) -> MessageId:
        draft = OutgoingMessage(
            type="channel" if isinstance(to, str) else "direct",
            to=to,
            topic=topic,
            content=content,
            read_by_sender=True,
        )
        # As on a clock that runs, no two messages are sent at the same moment.
        self.hall.stage.clock.advance(timedelta(microseconds=1))
        now = self.hall.stage.clock.now()
        sent = await self._write(row, send.send_message, draft, None, now)
        return MessageId(sent.result.message_id)

    async def react(self, row: UserRow, message_id: MessageId) -> None:
        now = self.hall.stage.clock.now()
        emoji = WantedEmoji("tada")
        await self._write(row, reactions.add_reaction, message_id, emoji, now=now)

    async def edit(self, row: UserRow, message_id: MessageId, content: str) -> None:
        now = self.hall.stage.clock.now()
        await self._write(row, edit.edit_content, message_id, NewContent(content), now)

    async def delete(self, row: UserRow, message_id: MessageId) -> None:
        await self._write(row, delete.delete_message, message_id, self.hall.stage.clock.now())

    async def move(self, row: UserRow, message_id: MessageId, **request: Any) -> None:
        work_id = await self.begin(row, message_id, **request)
        if work_id is not None:
            await self.finish(work_id)

    async def finish(self, work_id: str) -> None:
        """Go on with a move until it is done and told."""
        services = self.hall.realm_services()
        await stepped_work.finish(services, MOVING, work_id, size=self.steps)

    async def begin(self, row: UserRow, message_id: MessageId, **request: Any) -> str | None:
        """The first step alone; the id of what is left."""
        wanted = MoveRequest(**{"notify_new": False, "mode": "change_all", **request})
        now = self.hall.stage.clock.now()
        begun: Any = Begun(is_begun=False)
        while not begun.is_begun:
            begun = await self._write(
                row, move.begin, message_id, wanted, now, messages_per_step=self.steps
            )
            begun = begun if isinstance(begun, Begun) else begun.result
        work_id: str | None = begun.work_id
        return work_id


@pytest_asyncio.fixture
async def changes(hall: Hall) -> Changes:
    await hall.make.notification_bot()
    return Changes(hall)

"""Recipients without a client, and waiting until their notifications have arrived."""

import asyncio
import time
from collections.abc import Collection, Hashable, Iterable, Iterator

from testkit.faults.oracle import Ledger, Message
from testkit.faults.world import User

LATE_SECONDS = 3.0
"""So long after everything has come, another copy of something may come."""


def readers_of(users: Iterable[User], ledger: Ledger, message: Message) -> Iterator[User]:
    """The users among these who received the message, without its sender."""
    people = _receivers(ledger, message)
    return others_in(users, people, message.sender_id)


def others_in(users: Iterable[User], people: Collection[int], sender_id: int) -> Iterator[User]:
    return (user for user in users if user.user_id in people and user.user_id != sender_id)


async def arrived(due: Collection[Hashable], held: Collection[Hashable], seconds: float) -> None:
    """Wait until all that is due is held, for so long at most, and for what may come twice."""
    deadline = time.monotonic() + seconds
    while not all(key in held for key in due) and time.monotonic() < deadline:  # noqa: ASYNC110 - it comes meanwhile
        await asyncio.sleep(0.2)
    await asyncio.sleep(LATE_SECONDS)


def _receivers(ledger: Ledger, message: Message) -> Collection[int]:
    if message.channel_id is None:
        return ledger.dm_groups[message.conversation_id]
    return {
        user_id
        for (user_id, channel_id), stays in ledger.spans.items()
        if channel_id == message.channel_id
        for first, last in stays
        if first <= message.message_id and (last is None or message.message_id <= last)
    }

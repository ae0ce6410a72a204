"""What polls behind the tail read: what is deleted meanwhile is not delivered."""

import asyncio
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest

from server.events.base import EVERYONE
from server.events.log import Tick
from server.events.user_topics import UserTopicChanged
from server.realtime.log_page_cache import LogPageCache
from storage import event_log
from storage.ids import ChannelId, Position, RealmId

pytestmark = pytest.mark.asyncio


class Log:
    """The log in the database, of which what is read comes when it is let."""

    def __init__(self) -> None:
        self.has_read = asyncio.Event()
        self.may_come = asyncio.Event()

    @asynccontextmanager
    async def connection(self) -> Any:
        yield None

    async def after(self, *_: Any, cursor: int, **__: Any) -> list[Any]:
        event = UserTopicChanged(
            stream_id=ChannelId(7), topic_name="secret", last_updated=0, visibility_policy=1
        )
        body = msgspec.json.encode(event)
        row = SimpleNamespace(
            position=cursor + 1, kind=event.kind, audience=EVERYONE.encode(), body=body
        )
        self.has_read.set()
        await self.may_come.wait()
        return [row]


async def test_what_is_deleted_while_it_is_read_is_blank_for_those_who_wait(monkeypatch):
    """Also when all that is remembered has been forgotten meanwhile, as once a minute."""
    log = Log()
    monkeypatch.setattr(event_log, "after", log.after)
    past = LogPageCache(cast("Any", log), RealmId(1))
    reading = asyncio.create_task(cast("Any", past.after(Position(0))))
    await asyncio.wait_for(log.has_read.wait(), 60)
    past.clear()
    past.blank([Position(1)])
    log.may_come.set()
    [entry] = await reading
    assert isinstance(entry.event, Tick)
    assert not past._blanked_meanwhile

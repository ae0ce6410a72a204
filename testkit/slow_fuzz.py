"""The same bytes with every party slow: the server's handlers and the client."""

import asyncio
from collections import deque
from collections.abc import Iterable, Iterator
from random import Random
from typing import Any, cast

from typing_extensions import override

from server.api.response_writer import HttpExchange, ResponseWriter
from server.runtime.timer_wheel import TimerWheel
from server.transport.server import HttpServer
from testkit.wire_fuzz import PIECE, EchoExchange, Paper, answers, check_answers

STEPS = 5_000
"""More than any of these talks has."""


class Slow(EchoExchange):
    """Takes its time for pieces of the body, and to answer, whole or in pieces."""

    def __init__(self, writer: ResponseWriter, random: Random) -> None:
        super().__init__(writer)
        self._random = random
        self.taking: asyncio.Future[None] | None = None
        self.answering: asyncio.Task[None] | None = None
        self.is_gone = False

    @override
    def data_received(self, chunk: bytes) -> asyncio.Future[None] | None:
        assert self.taking is None or self.taking.done(), "the piece before has not been taken"
        super().data_received(chunk)
        if self._random.random() < 0.5:
            return None
        self.taking = asyncio.get_running_loop().create_future()
        return self.taking

    @override
    def finish(self) -> None:
        assert self.taking is None or self.taking.done(), "the body before has not been taken"
        self._writer.hand_over(self)
        if self._random.random() < 0.2:
            super().finish()
            return
        self.answering = asyncio.get_running_loop().create_task(self._answer())

    @override
    def on_connection_close(self) -> None:
        assert not self.is_gone, "told twice"
        self.is_gone = True
        if self.answering is not None:
            self.answering.cancel()

    async def _answer(self) -> None:
        for _ in range(self._random.randrange(4)):
            await asyncio.sleep(0)
        if self._is_head or self._random.random() < 0.5:
            super().finish()
            return
        try:
            await self._writer.start(200, {"Kind": "pieces"})
            for _ in range(self._random.randrange(3)):
                await self._writer.send(PIECE)
        except ConnectionError:
            return
        self._writer.finish()


class Talk:
    """One connection, on which things happen in any order that is possible."""

    def __init__(self, pieces: Iterable[bytes], random: Random, deadlines: TimerWheel) -> None:
        self._coming = deque(pieces)
        self._random = random
        self._paper = Paper(halves=random.random() < 0.7)
        self._has_ended = False
        self._will_end = random.random() < 0.5
        """Its client says that it sends nothing more."""
        self.is_cut = False
        """The connection cannot be closed by halves, and has ended with its client's."""
        self._exchanges: list[Slow] = []
        server = HttpServer(cast(Any, self._begin))
        server.deadlines = deadlines  # each has a timer
        self._connection = server.connection()
        self._connection.connection_made(cast(Any, self._paper))
        self._is_deaf = False

    async def run(self) -> bytes:
        """All that is written, until the end."""
        for _ in range(STEPS):
            if self._paper.is_closed or self._paper.is_ended or self._is_over:
                break
            self._happen()
            await asyncio.sleep(0)
        else:
            raise AssertionError("it does not end")
        self._connection.connection_lost(None)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        unfinished = [each for each in self._answering if not each.done()]
        assert unfinished == [], "a handler is still answering a closed connection"
        for each in self._answering:
            if not each.cancelled():
                each.result()
        return bytes(self._paper.written)

    @property
    def _answering(self) -> list[asyncio.Task[None]]:
        return [each.answering for each in self._exchanges if each.answering is not None]

    @property
    def _is_over(self) -> bool:
        """Whether all has been read, and all that is whole has been answered."""
        newest = self._exchanges[-1] if self._exchanges else None
        return (
            not self._coming
            and not self._will_end
            and not self._is_deaf
            and not self._paper.is_paused
            and all(each.done() for each in self._answering)
            and (newest is None or newest.taking is None or newest.taking.done())
        )

    def _begin(self, writer: ResponseWriter) -> HttpExchange:
        assert all(each.done() for each in self._answering[:-1]), "one after another"
        self._exchanges.append(Slow(writer, self._random))
        return cast(HttpExchange, self._exchanges[-1])

    def _happen(self) -> None:
        taking = self._exchanges[-1].taking if self._exchanges else None
        match self._random.randrange(4):
            case 0 if self._coming and not self._paper.is_paused:
                self._connection.data_received(self._coming.popleft())
            case 0 if self._will_end and not self._has_ended and not self._paper.is_paused:
                self._has_ended = True
                if not self._connection.eof_received() and not self._paper.is_closed:
                    self.is_cut = True
                    self._paper.close()
            case 1 if taking is not None and not taking.done():
                taking.set_result(None)
            case 2 if not self._is_deaf and self._coming:
                self._is_deaf = True
                self._connection.pause_writing()
            case 3 if self._is_deaf:
                self._is_deaf = False
                self._connection.resume_writing()
            case _:
                pass


async def check_slowly(server: HttpServer, data: bytes, random: Random) -> None:
    """Nothing is raised, and what is written are the answers of those who answer at once.

    Fewer come only where one is cut, having no length, or has no end but that of the connection,
    or the connection cannot be closed by halves.
    """
    talk = Talk(cut(data, random), random, server.deadlines)
    statuses, is_cut = check_answers(await talk.run())
    at_once, _ = check_answers(answers(server, [data])[0])
    expected = at_once[: len(statuses)] if is_cut or talk.is_cut else at_once
    assert statuses == expected, (statuses, at_once)


def cut(data: bytes, random: Random) -> Iterator[bytes]:
    """The data in a few pieces."""
    rest = data
    while rest:
        size = random.randint(1, max(1, len(data) // random.randint(1, 4)))
        yield rest[:size]
        rest = rest[size:]

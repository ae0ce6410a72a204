"""Servers of which the test itself is what answers."""

import asyncio
from contextlib import asynccontextmanager

from typing_extensions import override

from server.runtime.sockets import open_sockets
from server.transport.server import HttpServer

ASK = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"


class Echo:
    """An exchange that answers with the body, once all of it is there."""

    def __init__(self, writer):
        self.writer = writer
        self.body = b""
        self.is_gone = False

    def headers_received(self, _method, target, _headers):
        self.target = target

    def data_received(self, chunk):
        self.body += chunk

    def finish(self):
        self.writer.respond(
            200, [("Content-Length", str(len(self.body)))], self.body, is_last=False
        )

    def on_connection_close(self):
        self.is_gone = True


class Silent(Echo):
    """One that is answered by the test."""

    @override
    def finish(self):
        self.writer.hand_over(self)


@asynccontextmanager
async def serving(begin=Echo, tls=None):
    exchanges = []

    def note(writer):
        exchanges.append(begin(writer))
        return exchanges[-1]

    server = HttpServer(note)
    [socket] = open_sockets("127.0.0.1", 0)
    await server.start([socket], tls)
    try:
        yield server, socket.getsockname()[1], exchanges
    finally:
        server.stop()
        await server.close()
        await asyncio.sleep(0.01)


def begun(exchanges, number):
    return len(exchanges) > number


def grown(exchange, size):
    return len(exchange.body) > size


class Slow(Echo):
    """One that takes its time for each piece of a body."""

    @override
    def data_received(self, chunk):
        super().data_received(chunk)
        self.taken = asyncio.get_running_loop().create_future()
        return self.taken


class Patient(Echo):
    """One that is answered later, by another task: a poll."""

    @override
    def finish(self):
        self.later = Echo(self.writer)
        self.writer.hand_over(self.later)

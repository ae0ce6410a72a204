"""A mail server of the run's own: what it was sent, and what had to be sent."""

import asyncio
import email
import email.policy
import re
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from email.message import EmailMessage
from typing import Any, Final, Literal

from aiosmtpd.smtp import SMTP

from benchmarks.faults.history import SendRecord
from benchmarks.faults.oracle import Ledger, Message
from benchmarks.faults.world import User, World

TOKEN: Final = re.compile(r"\bt\d+x\d+x[0-9a-f]{8}\b")
SHOWN: Final = 5
LATE_SECONDS: Final = 3.0
"""So long after all emails have come, another copy of one may come."""

Key = tuple[str, str]
"""An address, and the token of a message."""
Mood = Literal["takes", "refuses", "forgets"]
"""What it does with mail: `forgets` takes it, and hangs up before it says so."""


@dataclass(eq=False)
class MailServer:
    """Takes mail on a port of its own. Which emails held a message, it knows by their ids."""

    port: int = 0
    mood: Mood = "takes"
    held: dict[Key, set[str]] = field(default_factory=lambda: defaultdict(set))
    tally: Counter[str] = field(default_factory=Counter)
    _protocols: list[SMTP] = field(default_factory=list)

    async def handle_RCPT(  # noqa: N802 - the library's name
        self, _server: Any, _session: Any, envelope: Any, address: str, _options: Any
    ) -> str:
        if self.mood == "refuses":
            self.tally["mails refused for now"] += 1
            return "451 Try again later"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, _server: Any, _session: Any, envelope: Any) -> str:  # noqa: N802
        message = email.message_from_bytes(envelope.content, policy=email.policy.default)
        assert isinstance(message, EmailMessage)
        part = message.get_body(("plain",))
        text = "" if part is None else part.get_content()
        for address in envelope.rcpt_tos:
            for token in TOKEN.findall(text):
                self.held[address, token].add(str(message["Message-ID"]))
        self.tally["mails taken"] += 1
        if self.mood == "forgets":
            self.tally["mails taken without saying so"] += 1
            self.hang_up()
        return "250 OK"

    def hang_up(self) -> None:
        """Close all connections."""
        for protocol in self._protocols:
            if isinstance(protocol.transport, asyncio.Transport):
                protocol.transport.abort()
        self._protocols.clear()

    def protocol(self) -> SMTP:
        """For a new connection."""
        protocol = SMTP(self, loop=asyncio.get_running_loop())
        self._protocols.append(protocol)
        return protocol


@asynccontextmanager
async def mail_server() -> AsyncIterator[MailServer]:
    """One that listens while the block runs."""
    mail = MailServer()
    listening = await asyncio.get_running_loop().create_server(mail.protocol, "127.0.0.1", 0)
    mail.port = listening.sockets[0].getsockname()[1]
    try:
        yield mail
    finally:
        listening.close()
        mail.hang_up()


async def mailed(
    mail: MailServer, world: World, sends: Sequence[SendRecord], seconds: float
) -> None:
    """Wait until whoever is away has an email of each accepted message, for so long at most."""
    due = {
        key
        for send in sends
        if send.message_id is not None and isinstance(send.where, tuple)
        for key in _keys(world.absent, send.where, send.sender_id, send.token)
    }
    deadline = time.monotonic() + seconds
    while not due <= mail.held.keys() and time.monotonic() < deadline:  # noqa: ASYNC110 - it takes mail meanwhile
        await asyncio.sleep(0.2)
    await asyncio.sleep(LATE_SECONDS)


def check_mail(world: World, ledger: Ledger, held: Mapping[Key, set[str]]) -> Iterator[str]:
    """Each direct message is in one email to each of its people who are away.

    The same email may come twice, if it is not certain whether it has arrived: then its id is
    the same. Nobody gets an email of what is not for them.
    """
    must: set[Key] = set()
    may: set[Key] = set()
    for message in ledger.messages.values():
        people = _receivers(ledger, message)
        may |= {*_keys(world.users, people, message.sender_id, message.content)}
        if message.channel_id is None:
            must |= {*_keys(world.absent, people, message.sender_id, message.content)}
    for name, keys in (("never got", must - held.keys()), ("must not have got", held.keys() - may)):
        for address, token in sorted(keys)[:SHOWN]:
            yield f"{address} {name} an email of {token} ({len(keys)} such)"
    twice = sorted(key for key, ids in held.items() if len(ids) > 1)
    for address, token in twice[:SHOWN]:
        yield f"{address} got {len(held[address, token])} emails of {token} ({len(twice)} such)"


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


def _keys(
    users: Iterable[User], people: Collection[int], sender_id: int, token: str
) -> Iterator[Key]:
    return (
        (user.email, token)
        for user in users
        if user.user_id in people and user.user_id != sender_id
    )

"""A mail server: compare the mails that it received with those that were due."""

import asyncio
import email
import email.policy
import re
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from email.message import EmailMessage
from typing import Any, Final, Literal

from aiosmtpd.smtp import SMTP

from testkit.faults.history import SendRecord
from testkit.faults.oracle import Ledger
from testkit.faults.recipients import arrived, others_in, readers_of
from testkit.faults.world import World

TOKEN: Final = re.compile(r"\bt\d+x\d+x[0-9a-f]{8}\b")
SHOWN: Final = 5

Key = tuple[str, str]
"""An address, and the token of a message."""
Mood = Literal["takes", "refuses", "forgets"]
"""The behavior of the server: `forgets` takes a mail, and hangs up before it says so."""


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
    """Wait until each absent user has an email of each accepted message, for so long at most."""
    due = {
        (user.email, send.token)
        for send in sends
        if send.message_id is not None and isinstance(send.where, tuple)
        for user in others_in(world.absent, send.where, send.sender_id)
    }
    await arrived(due, mail.held, seconds)


def check_mail(world: World, ledger: Ledger, held: Mapping[Key, set[str]]) -> Iterator[str]:
    """Each direct message is in one email to each of its people who are away.

    The same email may come twice, if it is not certain whether it has arrived: then its id is
    the same. No user gets an email of a message that is not for them.
    """
    must: set[Key] = set()
    may: set[Key] = set()
    for message in ledger.messages.values():
        token = message.content
        may |= {(user.email, token) for user in readers_of(world.users, ledger, message)}
        if message.channel_id is None:
            must |= {(user.email, token) for user in readers_of(world.absent, ledger, message)}
    for name, keys in (("never got", must - held.keys()), ("must not have got", held.keys() - may)):
        for address, token in sorted(keys)[:SHOWN]:
            yield f"{address} {name} an email of {token} ({len(keys)} such)"
    twice = sorted(key for key, ids in held.items() if len(ids) > 1)
    for address, token in twice[:SHOWN]:
        yield f"{address} got {len(held[address, token])} emails of {token} ({len(twice)} such)"

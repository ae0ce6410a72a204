"""Clients of the real server, and the mapping between its ids and those of the model."""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from server.app import App
from server.domain.actor import Actor
from server.domain.errors import DomainError
from storage.ids import RealmId
from storage.users import UserRow
from testkit.faults.http import Answer, Client

PATIENCE_SECONDS = 30.0
UNKNOWN = -1
"""The number of whatever the history has not made: seeing it is a leak by itself."""


class Names:
    """The ids of one kind of thing on the server, and the numbers that a history gives them."""

    def __init__(self) -> None:
        self.ids: dict[int, int] = {}
        self._numbers: dict[int, int] = {}

    def add(self, number: int, server_id: int) -> None:
        self.ids[number] = server_id
        self._numbers[server_id] = number

    def number(self, server_id: int) -> int:
        return self._numbers.get(server_id, UNKNOWN)

    def numbers(self, server_ids: Iterable[int]) -> frozenset[int]:
        return frozenset(self.number(server_id) for server_id in server_ids)

    def of(self, numbers: Iterable[int]) -> list[int]:
        return [self.ids[number] for number in numbers]


@dataclass(frozen=True, slots=True)
class Notice:
    """A message of the notification bot."""

    message_id: int
    content: str


@dataclass(eq=False, slots=True)
class ServerClients:
    """One organization on the server, and the means to do something in it."""

    app: App
    realm_id: RealmId
    clients: dict[int, Client] = field(default_factory=dict)
    rows: dict[int, UserRow] = field(default_factory=dict)
    users: Names = field(default_factory=Names)
    channels: Names = field(default_factory=Names)
    messages: Names = field(default_factory=Names)
    groups: Names = field(default_factory=Names)
    requests: int = 0
    noticed: int = 0
    """The last message of the notification bot that is known."""

    async def ask(
        self,
        user: int,
        method: str,
        path: str,
        *,
        patience: float = PATIENCE_SECONDS,
        **fields: Any,
    ) -> Answer:
        """A request of this user; None leaves a field out."""
        self.requests += 1
        given = {name: value for name, value in fields.items() if value is not None}
        return await self.clients[user].request(
            method, path, given, kind="other", patience=patience
        )

    async def act(self, user: int, action: Callable[..., Awaitable[Any]], *args: Any) -> Answer:
        """Run an action that has no endpoint, through the organization's writer."""
        actor = Actor(self.realm_id, self.rows[user], "leaks")
        try:
            await self.app.writers.of(self.realm_id).write(lambda tx: action(tx, actor, *args))
        except DomainError as error:
            return Answer(400, {"result": "error", "msg": str(error), "code": error.code})
        return Answer(200, {"result": "success", "msg": ""})

    async def with_notices(self, answer: Answer) -> Answer:
        """The answer, with what the notification bot has said since the last time."""
        async with self.app.database.connection() as connection:
            rows = await connection.tuples(
                """
                SELECT m.id, m.channel_id, t.name, m.content
                  FROM messages m
                  JOIN users u ON u.realm_id = m.realm_id AND u.user_id = m.sender_id
                  JOIN topics t ON t.realm_id = m.realm_id AND t.topic_id = m.conversation_id
                 WHERE m.realm_id = %(realm_id)s AND m.id > %(noticed)s AND u.is_system_bot
                 ORDER BY m.id
                """,
                realm_id=self.realm_id,
                noticed=self.noticed,
            )
        notices = {
            (self.channels.number(channel_id), topic): Notice(message_id, content)
            for message_id, channel_id, topic, content in rows
        }
        self.noticed = max([self.noticed, *(each.message_id for each in notices.values())])
        return Answer(answer.status, answer.body | {"notices": notices})

    def notices_of(self, answer: Answer) -> dict[tuple[int, str], Notice]:
        """The same, by channel and topic."""
        notices: dict[tuple[int, str], Notice] = answer.body.get("notices", {})
        return notices

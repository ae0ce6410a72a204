"""The organization in which the examples happen."""

from dataclasses import dataclass
from typing import Any

from server.api.tus import CONTENT_TYPE
from storage.channels import ChannelRow
from storage.ids import UserId
from storage.users import UserRow
from testkit.clients.api import Client
from testkit.clients.server import Server
from testkit.examples import API_KEY, Recorder
from testkit.factories import Make
from testkit.services.browser_push import BrowserPushService
from testkit.services.push_bouncer import FakeBouncer

TUS = {"Tus-Resumable": "1.0.0", "Content-Type": CONTENT_TYPE}
JWT_KEY = "secret" * 8
PASSWORD = "correct horse battery"


@dataclass
class Stage:
    """An owner, two members, a visitor without an account, and a few channels."""

    recorder: Recorder
    server: Server
    make: Make
    bouncer: FakeBouncer
    push_service: BrowserPushService
    olivia: Client
    """An owner: makes the requests that name no other client."""
    ravi: Client
    mia: Client
    visitor: Client
    general: ChannelRow
    design: ChannelRow
    connect: Any

    async def see(
        self, operation: str, client: Client | None = None, /, **given: Any
    ) -> dict[str, Any]:
        """Make the request and keep it as an example; what it answers, if that is JSON."""
        answer = await self.recorder.call(client or self.olivia, operation, **given)
        kind = answer.headers.get("Content-Type", "")
        return answer.body if answer.content and kind.startswith("application/json") else {}

    async def say(self, content: str, client: Client | None = None, **fields: Any) -> int:
        """Send a message, which is no example."""
        message = {"type": "channel", "to": "general", "topic": "lunch", **fields}
        body = await (client or self.ravi).post("/messages", content=content, **message)
        return int(body["id"])

    async def client(self, row: UserRow) -> Client:
        found: Client = await self.connect(self.server, self.make.realm_id, row)
        self.hide(found)
        return found

    async def person(self, user_id: int) -> Client:
        """The client of a user who was created by a request."""
        realm_cache = self.server.app.realm_caches.of(self.make.realm_id)
        row = await realm_cache.user(UserId(user_id))
        assert row is not None
        return await self.client(row)

    def hide(self, client: Client) -> None:
        """Keep the client's key out of the examples."""
        if client.api_key:
            self.recorder.secrets[client.api_key] = API_KEY


def user_id(client: Client) -> int:
    assert client.user is not None
    return client.user.user_id

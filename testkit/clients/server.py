"""A server inside the test: real HTTP on a free port, on the module's database."""

import os
import shutil
import tempfile
import uuid
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
import uvloop

from server.api.endpoint import Endpoint
from server.api.exchanges import ApiServer
from server.api.routes import ROUTES
from server.app import App, open_app
from server.domain.clock import Clock
from server.mail.mailer import Mailer
from server.main import TRANSPORTS, serving
from server.runtime.sockets import open_sockets
from server.settings import load_settings
from storage.database import Database
from storage.ids import RealmId
from testkit.clients.connections import Connections
from testkit.reused_connections import ReusedConnection

ROOT_DOMAIN = "parley.test"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--transport",
        choices=tuple(TRANSPORTS),
        help="which HTTP server every server of the tests has",
    )


def pytest_configure(config: pytest.Config) -> None:
    transport = config.getoption("transport")
    if transport is not None:
        os.environ["PARLEY_TRANSPORT"] = transport  # noqa: TID251 - for processes, too


def pytest_asyncio_loop_factories(config: pytest.Config, item: pytest.Item) -> Mapping[str, Any]:
    """Tests run on the event loop that servers run on."""
    return {"uvloop": uvloop.new_event_loop}


@dataclass(frozen=True, slots=True)
class Server:
    """A serving process in miniature."""

    app: App
    api: ApiServer
    port: int
    connections: Connections

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def host_of(self, realm_id: RealmId) -> str:
        """The host name under which the realm is reached."""
        realm = await self.app.realm_caches.of(realm_id).realm()
        return f"{realm.subdomain}.{ROOT_DOMAIN}" if realm.subdomain else ROOT_DOMAIN

    def forget(self, realm_id: RealmId) -> None:
        """Forget cached rows: a factory changes rows behind the server's back."""
        self.app.realm_caches.of(realm_id).forget_everything()


@asynccontextmanager
async def serve(
    database_url: str,
    *,
    clock: Clock | None = None,
    mailer: Mailer | None = None,
    routes: Sequence[Endpoint[Any]] = ROUTES,
    **settings: Any,
) -> AsyncIterator[Server]:
    """A server with these settings; limits are off unless they are switched on."""
    data = Path(tempfile.gettempdir()) / f"parley-{uuid.uuid4().hex}"
    settings = {
        "database_url": database_url,
        "data": data,
        "root_domain": ROOT_DOMAIN,
        "rate_limits": False,
        # The harder case: clients derive addresses of pictures themselves.
        "gravatars": True,
        # What this checkout has built is none of a test's business.
        "web_client": data / "web-client",
        "typesetting_seconds": 60,
        # So can all tests be run on either: ./scripts/test --transport tornado
        "transport": os.environ.get("PARLEY_TRANSPORT", "httptools"),  # noqa: TID251
        **settings,
    }
    loaded = load_settings(environ={}, overrides=settings)
    opened = open_app(loaded, clock=clock, mailer=mailer, connection_class=ReusedConnection)
    async with opened as app:
        [socket] = open_sockets("127.0.0.1", 0)
        port: int = socket.getsockname()[1]
        connections = Connections(port)
        try:
            async with serving(app, [socket], routes, grace_seconds=0) as api:
                yield Server(app, api, port, connections)
        finally:
            connections.close()
            shutil.rmtree(data, ignore_errors=True)


@pytest.fixture
def clock() -> Clock | None:
    """The server's; a module with tests that let time pass has one of its own."""
    return None


@pytest_asyncio.fixture
async def server(
    database: Database, database_url: str, clock: Clock | None
) -> AsyncIterator[Server]:
    """One server. Its tables are empty at first, and emptied after the test."""
    async with serve(database_url, clock=clock) as running:
        yield running


ServerFactory = Callable[..., Any]


@pytest.fixture
def serving_with(database: Database, database_url: str) -> ServerFactory:
    """`async with serving_with(rate_limits=True) as server:` one with other settings."""
    return lambda **settings: serve(database_url, **settings)

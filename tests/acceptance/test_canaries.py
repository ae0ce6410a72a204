"""No secret is in what the processes of a server log, whatever fails for those who bring it."""

import asyncio
import base64
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus, urlencode, urlsplit

import psycopg
import pytest
import pytest_asyncio
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from server.domain.access import OWNER
from server.domain.system_bots import NOTIFICATION_BOT, WELCOME_BOT
from testkit.clients.api import Answer, Client, elsewhere, multipart
from testkit.clients.connections import Connections
from testkit.clients.invitations import link_of
from testkit.clients.page_client import FORM, Visitor, give_password
from testkit.clients.raw_sockets import until
from testkit.clients.server import ROOT_DOMAIN
from testkit.factories import Make
from testkit.faults.processes import Servers, Workers
from testkit.images import picture
from testkit.services.browser_push import base64_of
from testkit.services.mail_server import Sink, listening
from testkit.services.proxy import Proxy, proxy_to
from testkit.services.push_bouncer import SERVER_ID, FakeBouncer
from testkit.services.s3 import Cuttable

pytestmark = pytest.mark.asyncio

PARLEY = (sys.executable, "-m", "scripts.cli.main")
BUCKET_KEY, SMTP_PASSWORD = "canary-of-the-bucket", "canary of the mail server"
OF_THE_OPERATOR = {
    "PARLEY_S3_SECRET_KEY": BUCKET_KEY,
    "PARLEY_SMTP_PASSWORD": SMTP_PASSWORD,
    "PARLEY_PUSH_SERVER_KEY": "canaryBouncer".ljust(64, "k"),
    "PARLEY_BIGBLUEBUTTON_SECRET": "canary of the calls",
    "PARLEY_CONSTRUCTOR_GROUPS_SECRET_KEY": "canary of the rooms",
    "PARLEY_NEXTCLOUD_TALK_PASSWORD": "canary of the cloud",
    "PARLEY_WEBEX_CLIENT_SECRET": "canary of the integration",
    "PARLEY_ZOOM_CLIENT_SECRET": "canary of the app",
}
DATABASE_PASSWORD, PROXY_PASSWORD, BROKER_PASSWORD = "canaryDatabase", "canaryProxy", "canaryBroker"
SIGN_IN_PASSWORD, WRONG_PASSWORD, NEW_PASSWORD = "canary battery", "canary staple", "canary horse"
WRONG_KEY = "cAnArYwRoNgKeYcAnArYwRoNgKeY1234"
PHONE = "c4a4a4" * 10
BROWSER = "https://push.example.com/canary-capability"
BROWSER_AUTH = base64_of(b"canary of a tab!")
AWAY_SECONDS = 2.0
BROKEN = ("api_keys", "confirmations", "invitations", "resumable_uploads", "sessions")
"""Tables that are away for a while: what asks them is a fault of ours, with its trace."""


@dataclass
class Operation:
    """A server and its worker, and what they need, all of which may fail."""

    make: Make
    owner: Any
    connections: Connections
    host: str
    log: Path
    sink: Sink
    bouncer: FakeBouncer
    secrets: dict[str, str] = field(default_factory=dict)
    """By what they are."""

    def client(self, row: Any = None) -> Client:
        name, key = (None, None) if row is None else (row.email, row.api_key)
        return Client(elsewhere(self.connections), self.host, name, key)

    def told(self) -> str:
        return self.log.read_text(errors="replace")


@contextmanager
def processes(environment: dict[str, str], log: Path) -> Iterator[Servers]:
    servers = Servers((*PARLEY, "serve"), environment, 1, log)
    workers = Workers((*PARLEY, "worker"), environment, 1, log)
    try:
        servers.start_missing()
        workers.start_missing()
        yield servers
    finally:
        workers.close()
        servers.close()


@pytest_asyncio.fixture
async def database_proxy(database_url: str) -> AsyncIterator[Proxy]:
    port = int(psycopg.conninfo.conninfo_to_dict(database_url).get("port") or 5432)
    async with proxy_to(port) as proxy:
        yield proxy


@pytest_asyncio.fixture
async def operation(
    database_url: str,
    amqp_url: str,
    make: Make,
    cuttable_bucket: Cuttable,
    database_proxy: Proxy,
    bouncer: FakeBouncer,
    tmp_path: Path,
) -> AsyncIterator[Operation]:
    owner = await make.user("Olga", email="olga@example.com", role=OWNER)
    await give_password(make, owner, SIGN_IN_PASSWORD)
    for bot in (NOTIFICATION_BOT, WELCOME_BOT):
        await make.system_bot(bot)
    await make.channel("general", subscribers=[owner])
    subdomain = await make.connection.value("SELECT subdomain FROM realms")
    bouncer.servers = {SERVER_ID: OF_THE_OPERATOR["PARLEY_PUSH_SERVER_KEY"]}
    place = urlsplit(database_url)
    async with listening(password=SMTP_PASSWORD) as sink:
        environment = {
            **OF_THE_OPERATOR,
            "DATABASE_URL": place._replace(
                netloc=f"{place.username}:{DATABASE_PASSWORD}@127.0.0.1:{database_proxy.port}"
            ).geturl(),
            "AMQP_URL": amqp_url,
            "PARLEY_DATA": str(tmp_path / "data"),
            "PARLEY_LOG_LEVEL": "debug",
            "PARLEY_ROOT_DOMAIN": ROOT_DOMAIN,
            "PARLEY_RATE_LIMITS": "off",
            "PARLEY_S3_BUCKET": cuttable_bucket.bucket.name,
            "PARLEY_S3_ENDPOINT": cuttable_bucket.bucket.endpoint or "",
            "PARLEY_S3_ACCESS_KEY": "key",
            "PARLEY_SMTP_HOST": "127.0.0.1",
            "PARLEY_SMTP_PORT": str(sink.port),
            "PARLEY_SMTP_USER": "parley",
            "PARLEY_SMTP_SECURITY": "none",
            "PARLEY_PUSH_BOUNCER_URL": bouncer.url,
            "PARLEY_PUSH_SERVER_ID": SERVER_ID,
            "PARLEY_BIGBLUEBUTTON_URL": "http://calls.example.com/bigbluebutton/",
            "PARLEY_CONSTRUCTOR_GROUPS_URL": "http://rooms.example.com/api/groups/xapi",
            "PARLEY_CONSTRUCTOR_GROUPS_ACCESS_KEY": "key",
            "PARLEY_NEXTCLOUD_TALK_URL": "http://cloud.example.com",
            "PARLEY_NEXTCLOUD_TALK_USER": "parley",
            "PARLEY_WEBEX_CLIENT_ID": "id",
            "PARLEY_ZOOM_CLIENT_ID": "id",
            "PARLEY_EGRESS_PROXY": f"http://parley:{PROXY_PASSWORD}@127.0.0.1:9",
        }
        log = tmp_path / "log"
        with processes(environment, log) as servers:
            there = Connections(servers.port)
            found = Operation(make, owner, there, f"{subdomain}.{ROOT_DOMAIN}", log, sink, bouncer)
            found.secrets |= OF_THE_OPERATOR
            found.secrets |= {"the database's": DATABASE_PASSWORD, "the proxy's": PROXY_PASSWORD}
            found.secrets |= {"the right one": SIGN_IN_PASSWORD, "a wrong one": WRONG_PASSWORD}
            found.secrets |= {"a new one": NEW_PASSWORD, "a key without an account": WRONG_KEY}
            found.secrets |= {"a browser": BROWSER, "its secret": BROWSER_AUTH}
            found.secrets |= {"a phone": PHONE, "the owner's key": owner.api_key}
            yield found
            there.close()


async def secrets_are_given(operation: Operation) -> Visitor:
    """Make all secrets that the server gives; a user who is signed in with a browser."""
    secrets, olga = operation.secrets, operation.client(operation.owner)
    bot = await olga.post("/bots", full_name="CI", short_name="ci", bot_type=2)
    called = await olga.post(
        "/bots",
        full_name="Called",
        short_name="called",
        bot_type=3,
        payload_url="http://b.example.com",
    )
    secrets["a webhook"] = bot["api_key"]
    secrets["a bot's key"] = called["api_key"]
    named = await olga.post(
        "/users/me/api_keys", name="mine", scopes=["read"], old_password=SIGN_IN_PASSWORD
    )
    secrets["a named key"] = named["api_key"]
    await olga.post("/invites", invitee_emails="ada@example.com", stream_ids=[])
    await until(lambda: operation.sink.mails)
    secrets["an invitation"] = link_of(operation.sink.mails[0]).rpartition("/")[2]
    stranger = Visitor(operation.client())
    await stranger.look("/accounts/password/reset")
    await stranger.submit("/accounts/password/reset", email=operation.owner.email)
    await until(lambda: len(operation.sink.mails) > 1)
    secrets["a reset"] = reset_token(operation.sink.mails[1].as_string())
    browser = Visitor(operation.client())
    await browser.sign_in(operation.owner.email, SIGN_IN_PASSWORD)
    secrets["a session"] = browser.cookies["parley_session"]
    secrets["its form token"] = browser.cookies["csrftoken"]
    return browser


def reset_token(mail: str) -> str:
    return mail.replace("=\n", "").partition("/accounts/password/reset/")[2].split()[0]


class Asking:
    """Brings each secret to where it belongs, right and wrong, and keeps what was answered."""

    def __init__(self, operation: Operation, browser: Visitor) -> None:
        self.secrets = operation.secrets
        self.email = operation.owner.email
        self.olga = operation.client(operation.owner)
        self.stranger = Visitor(operation.client())
        self.browser = browser
        self.answers: list[Answer] = []

    async def everything(self) -> list[int]:
        """Ask all that there is to ask; how it was answered."""
        for part in (
            self.passwords,
            self.keys,
            self.links,
            self.hooks,
            self.files,
            self.phones,
            self.rest,
        ):
            await part()
        return [answer.status for answer in self.answers]

    async def ask(self, who: Client | Visitor, method: str, path: str, **rest: Any) -> Answer:
        if isinstance(who, Client):
            answer = await who.send(method, path, prefix="", **rest)
        else:
            answer = await who.send(method, path, **rest)
        self.answers.append(answer)
        return answer

    async def passwords(self) -> None:
        for password in (SIGN_IN_PASSWORD, WRONG_PASSWORD):
            signing = form(username=self.email, password=password)
            await self.ask(self.stranger.client, "POST", "/api/v1/fetch_api_key", **signing)
            with suppress(AssertionError):
                await self.stranger.look("/login/")
                answer = await self.stranger.submit(
                    "/login/", username=self.email, password=password
                )
                self.answers.append(answer)

    async def keys(self) -> None:
        for key in (WRONG_KEY, self.secrets["a named key"]):
            other = Client(self.olga.server, self.olga.host, self.email, key)
            await self.ask(other, "GET", "/api/v1/users/me")

    async def links(self) -> None:
        for place in ("/accounts/password/reset/", "/join/"):
            token = self.secrets["a reset" if "reset" in place else "an invitation"]
            for each in (token, token[::-1]):
                await self.ask(self.stranger, "GET", place + quote(each))
                fields = form(password=WRONG_PASSWORD, password_again=NEW_PASSWORD, full_name="")
                await self.ask(self.stranger, "POST", place + quote(each), **fields)

    async def hooks(self) -> None:
        hook = f"/api/v1/external/slack_incoming?api_key={self.secrets['a webhook']}"
        headers = {"Content-Type": "application/json"}
        for body in (b'{"text": "x"}', b"{"):
            await self.ask(self.stranger.client, "POST", hook, body=body, headers=headers)

    async def files(self) -> None:
        proof = {"X-CSRFToken": self.secrets["its form token"], "Tus-Resumable": "1.0.0"}
        begin = {**proof, "Upload-Length": "5"}
        begun = await self.ask(self.browser, "POST", "/api/v1/tus", headers=begin, body=b"")
        content = {"Content-Type": "application/offset+octet-stream", "Upload-Offset": "0"}
        where = begun.headers.get("Location", "/api/v1/tus/none")
        sent = {**proof, **content}
        await self.ask(self.browser, "PATCH", where, headers=sent, body=b"bytes")
        await self.ask(self.browser, "HEAD", where, headers=proof)
        kind, body = multipart({}, {"file": ("a.png", picture())})
        headers = {"Content-Type": kind}
        await self.ask(self.olga, "POST", "/api/v1/users/me/avatar", body=body, headers=headers)

    async def phones(self) -> None:
        given = form(token=PHONE)
        key = ec.generate_private_key(ec.SECP256R1()).public_key()
        point = key.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
        browser = form(endpoint=BROWSER, p256dh=base64_of(point), auth=BROWSER_AUTH)
        await self.ask(self.olga, "POST", "/api/v1/web_push/subscriptions", **browser)
        # The proxy lets nothing through: whatever it is answered with, the attempt is logged.
        await self.olga.send("POST", "/web_push/test_notification")
        await self.ask(self.olga, "POST", "/api/v1/users/me/android_gcm_reg_id", **given)
        await self.ask(self.olga, "POST", "/api/v1/mobile_push/test_notification", **given)

    async def rest(self) -> None:
        await self.ask(self.browser, "POST", "/api/v1/messages", **form(type="x"))
        call = "/api/v1/calls/bigbluebutton/create?meeting_name=Lunch"
        await self.ask(self.olga, "GET", call)
        await self.ask(self.olga, "POST", "/api/v1/calls/constructorgroups/create")
        room = form(room_name="Lunch")
        await self.ask(self.olga, "POST", "/api/v1/calls/nextcloud_talk/create", **room)
        content = "@**Called** http://example.com/"
        said = form(type="channel", to="general", topic="t", content=content)
        await self.ask(self.olga, "POST", "/api/v1/messages", **said)
        changing = form(old_password=WRONG_PASSWORD, new_password=NEW_PASSWORD)
        await self.ask(self.olga, "PATCH", "/api/v1/settings", **changing)
        await self.stranger.look("/accounts/password/reset")
        with suppress(AssertionError):
            await self.stranger.submit("/accounts/password/reset", email=self.email)


def form(**fields: str) -> dict[str, Any]:
    return {"body": urlencode(fields).encode(), "headers": FORM}


@asynccontextmanager
async def tables_away(database_url: str) -> AsyncIterator[None]:
    with psycopg.connect(database_url, autocommit=True) as connection:
        for table in BROKEN:
            connection.execute(f"ALTER TABLE {table} RENAME TO {table}_away")
        try:
            yield
        finally:
            for table in BROKEN:
                connection.execute(f"ALTER TABLE {table}_away RENAME TO {table}")


async def away_for_a_while(proxy: Proxy) -> None:
    """Whatever is asked meanwhile waits, or gets no answer."""
    proxy.refuse()
    await asyncio.sleep(AWAY_SECONDS)
    await proxy.allow()


def spellings(secret: str) -> set[str]:
    """How a secret may be written in a line."""
    encoded = base64.b64encode(secret.encode()).decode()
    return {secret, quote(secret, safe=""), quote_plus(secret), encoded, encoded.rstrip("=")}


async def keys_of_the_server(make: Make) -> dict[str, str]:
    """Return the random keys in its database, in the ways in which bytes are written.

    Among them is the one by which push services of browsers know it, and what it signs with that.
    """
    rows = await make.connection.tuples("SELECT purpose, key FROM server_keys")
    assert "web push" in [purpose for purpose, _ in rows]
    found: dict[str, str] = {}
    for purpose, row in rows:
        key = bytes(row)
        written = (key.hex(), base64_of(key), base64.b64encode(key).decode(), repr(key))
        found |= {f"{purpose}, {number}": each for number, each in enumerate(written)}
    return found | {"what it signs": "vapid t="}


def without_a_database(tmp_path: Path) -> str:
    """What commands say that cannot reach what they need, with a password for each."""
    nowhere = {
        "DATABASE_URL": f"postgresql://parley:{DATABASE_PASSWORD}@127.0.0.1:9/parley",
        "AMQP_URL": f"amqp://parley:{BROKER_PASSWORD}@127.0.0.1:9/",
        "PARLEY_DATA": str(tmp_path / "nowhere"),
        "PARLEY_LOG_LEVEL": "debug",
    }
    told = ""
    for command in (("serve", "--port", "0"), ("worker",), ("check",)):
        done = subprocess.run(
            [*PARLEY, *command],
            env=nowhere,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode != 0
        told += done.stdout + done.stderr
    return told


async def test_no_secret_is_in_what_processes_log(
    operation, database_url, database_proxy, cuttable_bucket, tmp_path
):
    browser = await secrets_are_given(operation)
    well = await Asking(operation, browser).everything()
    assert max(well) < 500, well
    async with tables_away(database_url):
        assert 500 in await Asking(operation, browser).everything()
    await until(lambda: "UndefinedTable" in operation.told())
    cuttable_bucket.proxy.refuse()
    operation.bouncer.answers = [(500, "no", {})] * 20
    operation.sink.answers = ["451 later", "550 nobody"] * 5
    failing = await Asking(operation, browser).everything()
    assert max(failing) >= 500, failing
    await asyncio.gather(Asking(operation, browser).everything(), away_for_a_while(database_proxy))
    await until(lambda: "database.unavailable" in operation.told())
    told = operation.told() + await asyncio.to_thread(without_a_database, tmp_path)
    operation.secrets["the broker's"] = BROKER_PASSWORD
    operation.secrets |= await keys_of_the_server(operation.make)
    for line in ("http.unexpected_error", '"level":"debug"', "jobs.failed"):
        assert line in told
    found = {
        name: spelling
        for name, secret in operation.secrets.items()
        for spelling in spellings(secret)
        if spelling in told
    }
    assert found == {}

"""Secrets of incoming webhooks: a bot with one posts what its service has signed."""

import hashlib
import hmac
import json
from base64 import b64encode
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import pytest
import pytest_asyncio
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from server.domain.access import ADMINISTRATOR, OWNER
from storage import users
from testkit.clients.api import Answer, Client

pytestmark = pytest.mark.asyncio

SECRET = "a secret of 31 letters and more"
STARRED = {"action": "created", "sender": {"login": "ada"}, "repository": {"name": "engine"}}
REFUSED = ("INVALID_WEBHOOK_SIGNATURE", 401)


@dataclass
class Hook:
    member: Client
    bot: dict[str, Any]
    stranger: Client

    async def secret(self, method: str, by: Client | None = None, **fields: Any) -> Answer:
        """Read, set or remove the bot's secret."""
        bot_id = self.bot["user_id"]
        return await (by or self.member).call(method, f"/bots/{bot_id}/webhook_secret", **fields)

    async def set_secret(self, secret: str) -> None:
        (await self.secret("PUT", secret=secret)).succeeded()

    async def is_set(self) -> bool:
        return bool((await self.secret("GET")).succeeded()["is_set"])

    async def deliver(
        self,
        secret: str | None = None,
        service: str = "github",
        delivery: str = "1",
        stream: str = "kitchen",
        **changed: Any,
    ) -> Answer:
        body = json.dumps({**STARRED, **changed}).encode()
        query = urlencode({"api_key": self.bot["api_key"], "stream": stream})
        headers = {
            "Content-Type": "application/json",
            "X-GitHub-Event": "star",
            "X-GitHub-Delivery": delivery,
        }
        if secret is not None:
            digest = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
            headers["X-Hub-Signature-256"] = f"sha256={digest}"
        path = f"/external/{service}?{query}"
        return await self.stranger.send("POST", path, body=body, headers=headers)

    async def messages(self, kind: str) -> list[str]:
        page = await self.member.get(
            "/messages", anchor="newest", num_before=20, num_after=0, apply_markdown=False
        )
        return [each["content"] for each in page["messages"] if each["type"] == kind]


@pytest_asyncio.fixture
async def hook(log_in, make, connect, server):
    member = await log_in()
    await make.notification_bot()
    await make.channel("kitchen", subscribers=[member.user])
    made = await member.post("/bots", full_name="CI", short_name="ci", bot_type=2)
    return Hook(member, made, await connect(server, make.realm_id))


async def test_a_bot_with_a_secret_posts_what_is_signed_alone(hook):
    assert await hook.is_set() is False
    (await hook.deliver()).succeeded()
    await hook.set_secret(f" {SECRET} ")
    assert await hook.is_set() is True
    for service in ("github", "json", "slack_incoming", "jenkins"):
        answer = (await hook.deliver(service=service)).refused(*REFUSED)
        assert "signed deliveries only" in answer["msg"]
        assert "X-Webhook-Token" in answer["msg"]
    (await hook.deliver("another secret")).refused(*REFUSED)
    assert len(await hook.messages("stream")) == 1
    (await hook.deliver(SECRET, delivery="2")).succeeded()
    (await hook.deliver(SECRET, "json")).succeeded()
    assert len(await hook.messages("stream")) == 3
    notes = await hook.messages("private")
    assert len(notes) == 1, "the owner is notified once an hour"
    assert "signed deliveries only" in notes[0]


async def test_what_was_signed_once_is_not_posted_again_under_another_id(hook, make):
    await hook.set_secret(SECRET)
    for delivery in ("1", "2", ""):
        (await hook.deliver(SECRET, delivery=delivery)).succeeded()
    assert len(await hook.messages("stream")) == 1
    # Another body is another delivery, also with an id that was used; so is another channel.
    (await hook.deliver(SECRET, starred_at="2026-11-28T03:00:10Z")).succeeded()
    await make.channel("cellar", subscribers=[hook.member.user])
    (await hook.deliver(SECRET, stream="cellar")).succeeded()
    assert len(await hook.messages("stream")) == 3
    # Without a signature, an id is all there is.
    (await hook.secret("DELETE")).succeeded()
    for delivery in ("8", "9"):
        (await hook.deliver(delivery=delivery)).succeeded()
    assert len(await hook.messages("stream")) == 5


@pytest.mark.parametrize("service", ["json", "dropbox"])
async def test_bodies_that_may_be_the_same_are_posted_each_time(hook, service):
    body = b'{"list_folder": {"accounts": ["a"]}}'
    digest = hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
    headers = {"X-Hub-Signature-256": f"sha256={digest}", "X-Dropbox-Signature": digest}
    await hook.set_secret(SECRET)
    for _ in range(2):
        (await send(hook, service, body, headers)).succeeded()
    assert len(await hook.messages("stream")) == 2


async def test_the_last_delivery_is_shown_to_those_who_look_after_the_bot(hook, log_in):
    bot_id, stranger = hook.bot["user_id"], await log_in()

    async def last():
        found = await hook.member.get(f"/bots/{bot_id}/last_delivery")
        return found["last_delivery"]

    assert await last() is None
    (await hook.deliver()).succeeded()
    found = await last()
    assert (found["service"], found["outcome"]) == ("github", "message")
    assert found["received_at"] > 1_700_000_000
    (await hook.deliver(service="json")).succeeded()
    assert (await last())["service"] == "json"
    (await hook.deliver(service="jenkins")).refused("ANOMALOUS_WEBHOOK_PAYLOAD")
    assert (await last())["outcome"] == "malformed"
    await hook.set_secret(SECRET)
    (await hook.deliver()).refused(*REFUSED)
    assert (await last())["outcome"] == "refused"
    (await stranger.call("GET", f"/bots/{bot_id}/last_delivery")).refused()
    (await hook.member.call("GET", "/bots/1000000000/last_delivery")).refused()


async def test_without_the_secret_everything_is_accepted_again(hook):
    await hook.set_secret(SECRET)
    for _ in range(2):
        (await hook.secret("DELETE")).succeeded()
    assert await hook.is_set() is False
    (await hook.deliver()).succeeded()
    # A signature that cannot be checked says nothing.
    (await hook.deliver("some secret", delivery="2")).succeeded()


async def test_a_secret_can_be_replaced(hook):
    for secret in (SECRET, SECRET, "the next secret"):
        await hook.set_secret(secret)
    (await hook.deliver(SECRET)).refused(*REFUSED)
    (await hook.deliver("the next secret")).succeeded()


async def test_the_key_of_a_bot_with_a_secret_sends_no_messages_by_itself(hook, log_in, make):
    message = {"type": "channel", "to": "kitchen", "topic": "t", "content": "x"}
    [row] = await users.by_ids(make.connection, make.realm_id, [hook.bot["user_id"]])
    bot = await log_in(row)
    await bot.post("/messages", **message)
    await hook.set_secret(SECRET)
    (await bot.call("POST", "/messages", **message)).refused("UNAUTHORIZED", 401)


async def test_those_who_look_after_the_bot_set_its_secret(hook, log_in):
    stranger, boss = await log_in(), await log_in(role=ADMINISTRATOR)
    for method, fields in (("GET", {}), ("PUT", {"secret": SECRET}), ("DELETE", {})):
        (await hook.secret(method, stranger, **fields)).refused()
        (await hook.secret(method, boss, **fields)).succeeded()


@pytest.mark.parametrize("secret", ["", "  short  ", "x" * 1_001, "with a \0 in it"])
async def test_a_secret_that_is_none_is_refused(hook, secret):
    answer = (await hook.secret("PUT", secret=secret)).refused("REQUEST_VARIABLE_INVALID")
    assert answer["var_name"] == "secret"


async def test_only_active_incoming_webhooks_have_one(hook):
    generic = await hook.member.post("/bots", full_name="G", short_name="g", bot_type=1)
    path = f"/bots/{generic['user_id']}/webhook_secret"
    (await hook.member.call("PUT", path, secret=SECRET)).refused()
    for user_id in (hook.member.user.user_id, 10**9):
        path = f"/bots/{user_id}/webhook_secret"
        (await hook.member.call("PUT", path, secret=SECRET)).refused()
        (await hook.member.call("GET", path)).refused()


async def test_the_secret_is_in_no_log_answer_or_event(hook, log_in, capfd):
    owner = await log_in(role=OWNER)
    queue = await hook.member.register()
    await hook.set_secret(SECRET)
    (await hook.deliver("wrong")).refused(*REFUSED)
    (await hook.deliver(SECRET)).succeeded()
    (await hook.secret("PUT", secret=SECRET * 40)).refused("REQUEST_VARIABLE_INVALID")
    seen = [
        await owner.get("/realm/audit_log"),
        await owner.get("/users"),
        await hook.member.get("/bots"),
        (await hook.member.register()).state,
        await queue.until("message"),
    ]
    assert "bot_webhook_secret_set" in json.dumps(seen)
    written = capfd.readouterr()
    assert SECRET not in json.dumps(seen) + written.out + written.err


BUILD = {"repository": {"name": "engine"}, "status_message": "Passed", "number": "7"}
CARD = {
    "action": {
        "type": "createCard",
        "memberCreator": {"fullName": "Ada"},
        "data": {"card": {"name": "Valves"}, "board": {"name": "Engine"}, "list": {"name": "New"}},
    }
}


async def send(hook: Hook, service: str, body: bytes, headers: dict[str, str]) -> Answer:
    query = urlencode({"api_key": hook.bot["api_key"], "stream": "kitchen", "topic": "a b"})
    headers = {"Content-Type": "application/json", **headers}
    return await hook.stranger.send(
        "POST", f"/external/{service}?{query}", body=body, headers=headers
    )


async def test_a_service_that_signs_with_its_key_is_known_by_the_public_one(hook):
    private = rsa.generate_private_key(65_537, 4_096)
    pem = private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    await hook.set_secret(pem.decode())
    signature = private.sign(json.dumps(BUILD).encode(), padding.PKCS1v15(), SHA1())
    headers = {
        "Content-Type": "application/x-www-form-urlencoded",
        "Signature": b64encode(signature).decode(),
    }
    form = urlencode({"payload": json.dumps(BUILD), "more": "x"}).encode()
    (await send(hook, "travis", form, headers)).succeeded()
    assert "succeeded" in (await hook.messages("stream"))[-1]
    other = urlencode({"payload": json.dumps({**BUILD, "number": "8"})}).encode()
    (await send(hook, "travis", other, headers)).refused(*REFUSED)
    (await send(hook, "travis", b"", headers)).refused("ANOMALOUS_WEBHOOK_PAYLOAD")
    (await hook.deliver(pem.decode().strip())).refused(*REFUSED)
    assert len(await hook.messages("stream")) == 1


@pytest.mark.parametrize("secret", ["-----BEGIN ", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END"])
async def test_a_key_that_is_none_is_refused(hook, secret):
    answer = (await hook.secret("PUT", secret=secret)).refused("REQUEST_VARIABLE_INVALID")
    assert answer["var_name"] == "secret"
    assert await hook.is_set() is False


async def test_a_service_that_signs_the_address_is_given_the_one_of_the_organization(hook):
    await hook.set_secret(SECRET)
    site = (await hook.member.get("/server_settings"))["realm_url"]
    body = json.dumps(CARD).encode()

    def signed(url: str) -> dict[str, str]:
        digest = hmac.new(SECRET.encode(), body + url.encode(), hashlib.sha1).digest()
        return {"X-Trello-Webhook": b64encode(digest).decode()}

    key = hook.bot["api_key"]
    url = f"{site}/api/v1/external/trello?api_key={key}&stream=kitchen&topic=a+b"
    (await send(hook, "trello", body, signed(url))).succeeded()
    assert "Valves" in (await hook.messages("stream"))[-1]
    for wrong in (url.replace("a+b", "c"), url.replace(site, "https://example.org"), ""):
        (await send(hook, "trello", body, signed(wrong))).refused(*REFUSED)


async def test_a_password_is_not_mistaken_for_the_key_in_the_address(hook):
    headers = {"Authorization": f"Basic {b64encode(f'bot:{SECRET}'.encode()).decode()}"}
    body = json.dumps({"text": "x"}).encode()
    (await send(hook, "json", body, headers)).succeeded()
    await hook.set_secret(SECRET)
    (await send(hook, "json", body, headers)).succeeded()
    wrong = {"Authorization": f"Basic {b64encode(b'bot:wrong password').decode()}"}
    (await send(hook, "json", body, wrong)).refused(*REFUSED)
    assert len(await hook.messages("stream")) == 2
    # It is for bots alone whose keys are in addresses.
    query = urlencode({"api_key": hook.member.api_key, "stream": "kitchen"})
    path = f"/external/json?{query}"
    answer = await hook.stranger.send("POST", path, body=body, headers=headers)
    answer.refused("INVALID_API_KEY", 401)
    # The key itself is not the secret, wherever it is.
    key = f"{hook.bot['email']}:{hook.bot['api_key']}" if "email" in hook.bot else "bot:key"
    key_alone = {"Authorization": f"Basic {b64encode(key.encode()).decode()}"}
    (await send(hook, "json", body, key_alone)).refused(*REFUSED)

"""People's phones over HTTP: they come, they go, and they are tried."""

import base64
from typing import Any

import msgspec
import pytest
from joserfc.jwk import RSAKey
from nacl.public import PrivateKey

from queue_processors.push_registrations import handle as register_devices
from server.actions.push_devices import MAX_DEVICES
from server.actions.user_activation import deactivate_user
from server.domain.access import OWNER
from server.jobs import PushRegistration
from storage import push_devices
from storage.push_devices import DeviceRow
from testkit.clients.api import Client, LogIn
from testkit.clients.server import Server, ServerFactory
from testkit.clock import StoppedClock
from testkit.factories import Make
from testkit.services.push_bouncer import FakeBouncer
from testkit.services.push_services import FakeFcm

pytestmark = pytest.mark.asyncio

APPLE = "/users/me/apns_device_token"
ANDROID = "/users/me/android_gcm_reg_id"
REGISTER = "/mobile_push/register"
TEST = "/mobile_push/test_notification"
SEALED_TEST = "/mobile_push/e2ee/test_notification"
TOKEN = "ab" * 32
KEY = PrivateKey.generate()
PUBLIC_KEY = base64.b64encode(bytes(KEY.public_key)).decode()


async def devices(make: Make, client: Client) -> list[DeviceRow]:
    assert client.user is not None
    return await push_devices.of_user(make.connection, make.realm_id, client.user.user_id)


async def work(server: Server, make: Make, client: Client) -> None:
    """Register what waits, as the queue does."""
    for row in await devices(make, client):
        user = client.user
        assert user is not None
        job = PushRegistration(
            realm_id=make.realm_id, user_id=user.user_id, device_id=row.device_id
        )
        await register_devices(server.app, job)


# -- tokens


async def test_a_token_is_kept_once_and_goes(log_in: LogIn, make: Make):
    client = await log_in()
    for token in (TOKEN, TOKEN.upper()):
        await client.post(APPLE, token=token, appid="com.example.app")
    await client.post(ANDROID, token=TOKEN)
    await client.post(ANDROID, token=TOKEN.upper())
    kept = [(row.kind, row.token, row.app_id) for row in await devices(make, client)]
    assert kept == [
        ("apns", TOKEN, "com.example.app"),
        ("fcm", TOKEN, None),
        ("fcm", TOKEN.upper(), None),
    ]
    await client.delete(APPLE, token=TOKEN.upper())
    await client.delete(ANDROID, token=TOKEN)
    (await client.call("DELETE", ANDROID, token=TOKEN)).refused()
    assert [row.token for row in await devices(make, client)] == [TOKEN.upper()]


async def test_accounts_on_one_phone_share_its_token(log_in: LogIn, make: Make):
    first, second = await log_in(), await log_in()
    for client in (first, second):
        await client.post(ANDROID, token="shared")
    await first.delete(ANDROID, token="shared")
    (await first.call("DELETE", ANDROID, token="shared")).refused()
    assert [row.token for row in await devices(make, second)] == ["shared"]


@pytest.mark.parametrize("token", ["", "x" * 4_097])
@pytest.mark.parametrize("method", ["POST", "DELETE"])
async def test_a_token_has_a_length(log_in: LogIn, method: str, token: str):
    client = await log_in()
    refused = (await client.call(method, ANDROID, token=token)).refused()
    assert refused["msg"] == "Empty or invalid length token"
    more: dict[str, Any] = {"appid": "com.example.app"} if method == "POST" else {}
    (await client.call(method, APPLE, token=token, **more)).refused()


async def test_the_longest_token_is_kept(log_in: LogIn, make: Make):
    client = await log_in()
    longest = "".join(chr(33 + n * n % 90) for n in range(4_096))
    await client.post(ANDROID, token=longest)
    assert [row.token for row in await devices(make, client)] == [longest]


@pytest.mark.parametrize("token", ["xyz", "abc", "ab cd", "ab/../cd"])
async def test_a_token_of_apple_is_of_bytes(log_in: LogIn, token: str):
    client = await log_in()
    answer = await client.call("POST", APPLE, token=token, appid="com.example.app")
    assert answer.refused()["msg"] == "Invalid APNS token"


async def test_apple_needs_the_app(log_in: LogIn):
    client = await log_in()
    (await client.call("POST", APPLE, token=TOKEN)).refused("REQUEST_VARIABLE_MISSING")
    for bad in ("", "a b", "a\r\nb", "x" * 256):
        answer = await client.call("POST", APPLE, token=TOKEN, appid=bad)
        answer.refused("REQUEST_VARIABLE_INVALID")


async def test_bots_have_no_phones(log_in: LogIn, make: Make):
    owner = await make.user()
    bot = await log_in(await make.user(bot_type=1, bot_owner=owner))
    (await bot.call("POST", ANDROID, token="t")).refused()
    (await bot.call("DELETE", ANDROID, token="t")).refused()
    (await bot.call("POST", TEST)).refused()


async def test_the_oldest_of_too_many_phones_is_forgotten(log_in: LogIn, make: Make):
    client = await log_in()
    for number in range(MAX_DEVICES + 1):
        await client.post(ANDROID, token=f"t{number}")
    kept = [row.token for row in await devices(make, client)]
    assert kept == [f"t{number}" for number in range(1, MAX_DEVICES + 1)]


# -- without a service


async def test_without_a_service_nothing_is_tried(log_in: LogIn):
    client = await log_in()
    assert not (await client.get("/server_settings"))["push_notifications_enabled"]
    await client.post(ANDROID, token="t")
    (await client.call("POST", TEST)).refused("PUSH_SERVICE_NOT_CONFIGURED")
    (await client.call("POST", TEST, token="other")).refused("INVALID_PUSH_DEVICE_TOKEN")
    (await client.call("POST", SEALED_TEST)).refused("NO_ACTIVE_PUSH_DEVICE")
    answer = await client.call(
        "POST",
        REGISTER,
        token_kind="fcm",
        push_account_id=1,
        push_public_key=PUBLIC_KEY,
        bouncer_public_key="x",
        encrypted_push_registration="x",
    )
    answer.refused("PUSH_SERVICE_NOT_CONFIGURED")


# -- with a bouncer


async def register_sealed(client: Client, bouncer: FakeBouncer, **parts: Any) -> Any:
    fields = {
        "token_kind": "fcm",
        "push_account_id": 2**62,
        "push_public_key": PUBLIC_KEY,
        "bouncer_public_key": bouncer.public_key,
        "encrypted_push_registration": bouncer.registration("secret"),
        **parts,
    }
    return await client.call("POST", REGISTER, **fields)


async def jobs(make: Make) -> list[PushRegistration]:
    """What the log asks the queue for."""
    rows = await make.connection.tuples(
        """
        SELECT body FROM event_log WHERE realm_id = %(realm_id)s AND kind = 'job'
         ORDER BY position
        """,
        realm_id=make.realm_id,
    )
    found = [msgspec.json.decode(bytes(body)) for (body,) in rows]
    return [
        msgspec.convert(each["job"], PushRegistration)
        for each in found
        if each["queue"] == PushRegistration.queue
    ]


async def test_a_test_reaches_the_phones(
    pushing: Server, log_in_there: LogIn, make: Make, bouncer: FakeBouncer
):
    client = await log_in_there()
    assert (await client.get("/server_settings"))["push_notifications_enabled"]
    await client.post(TEST)
    await client.post(ANDROID, token="one")
    await client.post(ANDROID, token="two")
    await client.post(TEST, token="one")
    assert [len(bouncer.got(token)) for token in ("one", "two")] == [1, 0]
    await client.post(TEST)
    assert [len(bouncer.got(token)) for token in ("one", "two")] == [2, 1]
    [shown] = bouncer.got("two")
    assert client.user is not None
    assert (shown["event"], shown["user_id"]) == ("test", client.user.user_id)
    assert shown["realm_name"] == "A realm"

    (await client.call("POST", TEST, token="three")).refused("INVALID_PUSH_DEVICE_TOKEN")
    bouncer.gone = {"one"}
    answer = await client.call("POST", TEST, token="one")
    answer.refused("INVALID_REMOTE_PUSH_DEVICE_TOKEN")
    assert [row.token for row in await devices(make, client)] == ["two"]


@pytest.mark.parametrize(
    ("status", "body", "code", "seen"),
    [
        (500, "", "INTERNAL_SERVER_ERROR_ON_BOUNCER", 502),
        (429, "", "INTERNAL_SERVER_ERROR_ON_BOUNCER", 502),
        (401, '{"code": "INVALID_ZULIP_SERVER", "msg": "?"}', "ADMIN_ACTION_REQUIRED", 403),
        (403, '{"code": "MISSING_REMOTE_REALM", "msg": "?"}', "ADMIN_ACTION_REQUIRED", 403),
    ],
)
@pytest.mark.parametrize("path", [TEST, SEALED_TEST])
async def test_a_test_that_does_not_arrive_says_why(
    pushing: Server,
    log_in_there: LogIn,
    make: Make,
    bouncer: FakeBouncer,
    path: str,
    status: int,
    body: str,
    code: str,
    seen: int,
):
    client = await log_in_there()
    await client.post(ANDROID, token="one")
    (await register_sealed(client, bouncer)).succeeded()
    for job in await jobs(make):
        await register_devices(pushing.app, job)
    bouncer.answers = [(status, body, {})]
    (await client.call("POST", path)).refused(code, seen)
    await client.post(path)


async def test_a_bouncer_that_is_away_is_told_apart(
    log_in_there: LogIn, bouncer: FakeBouncer, pushing: Server
):
    client = await log_in_there()
    await client.post(ANDROID, token="one")
    bouncer.stop()
    (await client.call("POST", TEST)).refused("FAILED_TO_CONNECT_BOUNCER", 502)


async def test_a_server_with_a_key_for_android_alone_reaches_no_other(
    serving_with: ServerFactory, make: Make, connect: Any, google_key: RSAKey
):
    credentials = FakeFcm(google_key, StoppedClock()).credentials()
    async with serving_with(fcm_credentials=credentials) as server:
        client = await connect(server, make.realm_id, await make.user())
        assert (await client.get("/server_settings"))["push_notifications_enabled"]
        await client.post(APPLE, token=TOKEN, appid="com.example.app")
        await client.post(TEST)
        (await client.call("POST", TEST, token=TOKEN)).refused("PUSH_SERVICE_NOT_CONFIGURED")
        answer = await register_sealed(client, FakeBouncer())
        answer.refused("PUSH_SERVICE_NOT_CONFIGURED")


async def test_an_encrypted_phone_becomes_active_and_its_user_is_told(
    pushing: Server, log_in_there: LogIn, make: Make, bouncer: FakeBouncer
):
    client = await log_in_there()
    queue = await client.register(event_types=["push_device"])
    assert queue.state["push_devices"] == {}
    for _ in range(2):
        (await register_sealed(client, bouncer)).succeeded()
    pending = await queue.until("push_device")
    account = str(2**62)
    assert (pending["push_account_id"], pending["status"]) == (account, "pending")
    [job] = await jobs(make)
    for _ in range(2):
        await register_devices(pushing.app, job)
    active = await queue.until("push_device")
    assert (active["push_account_id"], active["status"]) == (account, "active")
    assert await queue.poll(dont_block=True) == []
    shown = (await client.register(event_types=["push_device"])).state["push_devices"]
    assert shown == {account: {"status": "active", "error_code": None}}
    await client.post(SEALED_TEST, push_account_id=2**62)
    [phone] = bouncer.sealed.values()
    assert phone.account_id == 2**62
    assert len(phone.got) == 1
    (await client.call("POST", SEALED_TEST, push_account_id=3)).refused("NO_ACTIVE_PUSH_DEVICE")


async def test_a_registration_that_fails_is_told_and_may_be_made_again(
    pushing: Server, log_in_there: LogIn, make: Make, bouncer: FakeBouncer
):
    client = await log_in_there()
    queue = await client.register(event_types=["push_device"])
    (await register_sealed(client, bouncer, bouncer_public_key="AAAA")).succeeded()
    await queue.until("push_device")
    for job in await jobs(make):
        await register_devices(pushing.app, job)
    failed = await queue.until("push_device")
    assert (failed["status"], failed["error_code"]) == ("failed", "INVALID_BOUNCER_PUBLIC_KEY")
    (await client.call("POST", SEALED_TEST)).refused("NO_ACTIVE_PUSH_DEVICE")

    (await register_sealed(client, bouncer)).succeeded()
    assert (await queue.until("push_device"))["status"] == "pending"
    await register_devices(pushing.app, (await jobs(make))[-1])
    assert (await queue.until("push_device"))["status"] == "active"


async def test_an_encrypted_phone_that_is_gone_is_forgotten(
    pushing: Server, log_in_there: LogIn, make: Make, bouncer: FakeBouncer
):
    client = await log_in_there()
    (await register_sealed(client, bouncer)).succeeded()
    await register_devices(pushing.app, (await jobs(make))[0])
    bouncer.gone = set(bouncer.sealed)
    (await client.call("POST", SEALED_TEST)).refused("NO_ACTIVE_PUSH_DEVICE")
    assert await devices(make, client) == []


@pytest.mark.parametrize("key", ["", "junk", base64.b64encode(b"short").decode(), "A" * 44])
async def test_a_key_that_is_none_is_refused(log_in_there: LogIn, bouncer: FakeBouncer, key: str):
    client = await log_in_there()
    (await register_sealed(client, bouncer, push_public_key=key)).refused()


async def test_who_is_deactivated_has_no_phones_any_more(
    pushing: Server, log_in_there: LogIn, make: Make, bouncer: FakeBouncer
):
    await make.user(role=OWNER)
    client = await log_in_there()
    await client.post(ANDROID, token="one")
    await work(pushing, make, client)
    assert len(bouncer.phones) == 1
    user = client.user
    assert user is not None
    await pushing.app.writers.of(make.realm_id).write(
        lambda tx: deactivate_user(tx, user.user_id, now=pushing.app.clock.now())
    )
    assert await devices(make, client) == []
    for job in await jobs(make):
        await register_devices(pushing.app, job)
    assert bouncer.phones == {}

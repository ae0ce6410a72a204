"""Whether organizations get push notifications is kept as the service says."""

import pytest

from queue_processors.processor import NotNowError
from queue_processors.push_keeper import PushKeeper
from queue_processors.push_registrations import handle as register_devices
from server.actions.push_devices import register_device
from server.domain.actor import Actor
from server.jobs import PushRegistration
from server.push.service import TryLaterError
from storage import push_devices
from storage.realms import by_id
from tests.factories import Make
from tests.fixtures.app import Server, ServerFactory
from tests.fixtures.bouncer import SERVER_ID, SERVER_KEY, FakeBouncer

pytestmark = pytest.mark.asyncio


def settings_for(bouncer: FakeBouncer) -> dict[str, str]:
    return {
        "push_bouncer_url": bouncer.url,
        "push_server_id": SERVER_ID,
        "push_server_key": SERVER_KEY,
    }


async def is_enabled(make: Make) -> bool:
    row = await by_id(make.connection, make.realm_id)
    assert row is not None
    return bool(row.settings.get("push_notifications_enabled", False))


async def test_the_service_says_whether(
    make: Make, serving_with: ServerFactory, bouncer: FakeBouncer, server: Server
):
    async with serving_with(**settings_for(bouncer)) as pushing:
        keeper = PushKeeper(pushing.app)
        await keeper.settle()
        assert await is_enabled(make)
        position = await make.position()
        await keeper.settle()
        assert await make.position() == position

        bouncer.answers = [(503, "", {})]
        with pytest.raises(TryLaterError):
            await keeper.settle()
        assert await is_enabled(make)

        bouncer.servers = {}
        await keeper.settle()
        assert not await is_enabled(make)
        bouncer.servers = {SERVER_ID: SERVER_KEY}
        await keeper.settle()
        assert await is_enabled(make)

    await PushKeeper(server.app).settle()
    assert not await is_enabled(make)


async def test_an_organization_that_the_bouncer_does_not_know_is_introduced(
    make: Make, serving_with: ServerFactory, bouncer: FakeBouncer
):
    bouncer.knows_all_realms = False
    ada = await make.user()
    async with serving_with(**settings_for(bouncer)) as pushing:
        app = pushing.app
        await app.writers.of(make.realm_id).write(
            lambda tx: register_device(
                tx,
                Actor(make.realm_id, ada, "app"),
                "fcm",
                5,
                bytes(range(32)),
                registration="",
                bouncer_key="",
                now=app.clock.now(),
            )
        )
        [row] = await push_devices.of_user(make.connection, make.realm_id, ada.user_id)
        job = PushRegistration(
            realm_id=make.realm_id,
            user_id=ada.user_id,
            device_id=row.device_id,
            registration=bouncer.registration("t"),
            bouncer_key=bouncer.public_key,
        )
        with pytest.raises(NotNowError):
            await register_devices(app, job)
        await register_devices(app, job)
    [row] = await push_devices.of_user(make.connection, make.realm_id, ada.user_id)
    assert row.status == "active"

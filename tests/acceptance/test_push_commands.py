"""A bouncer comes to know a server, by commands, as an operator does it."""

import asyncio
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from server.settings import load_settings
from storage import realms
from tests.factories import Make
from tests.fixtures.bouncer import SERVER_ID, SERVER_KEY, FakeBouncer

pytestmark = pytest.mark.asyncio

ENROLL = ("push", "register", "--contact-email", "ops@parley.test", "--agree-to-terms")


@dataclass
class Done:
    status: int
    out: str


@pytest.fixture
def parley(database_url: str, tmp_path: Path) -> Any:
    """`await parley("check", PARLEY_X="y")`: what the command says, and how it ends."""

    async def parley(*arguments: str, **settings: str) -> Done:
        environment = {
            "PATH": os.defpath,
            "DATABASE_URL": database_url,
            "PARLEY_DATA": str(tmp_path),
            "PARLEY_EXTERNAL_URL": "https://chat.parley.test",
            **settings,
        }
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "scripts.cli.main", *arguments),
            env=environment,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        out, _ = await process.communicate()
        assert process.returncode is not None
        return Done(process.returncode, out.decode())

    return parley


async def test_a_server_enrolls_and_is_let_in(
    parley: Any, bouncer: FakeBouncer, make: Make, tmp_path: Path
):
    bouncer.servers = {}
    key = tmp_path / "key"
    key.write_text(f"{SERVER_KEY}\n")
    given = {
        "PARLEY_PUSH_BOUNCER_URL": bouncer.url,
        "PARLEY_PUSH_SERVER_ID": SERVER_ID,
        "PARLEY_PUSH_SERVER_KEY_FILE": str(key),
    }
    before = await parley("check", **given)
    assert "wrong  push       No phone can be reached: INVALID_ZULIP_SERVER" in before.out
    done = await parley(*ENROLL, **given)
    assert (done.status, done.out) == (0, "The bouncer knows this server now.\n")
    realm = await realms.by_id(make.connection, make.realm_id)
    assert realm is not None
    assert bouncer.realms[realm.uuid]["name"] == "A realm"
    assert realm.settings["push_notifications_enabled"] is True
    assert "ok     push       Whoever pushes" in (await parley("check", **given)).out

    rotated = await parley(*ENROLL, "--rotate-key", **given)
    new_key = rotated.out.strip().rpartition("=")[2]
    assert bouncer.servers == {SERVER_ID: new_key}
    key.write_text(new_key)
    assert (await parley("push", "deregister", **given)).status == 0
    assert bouncer.servers == {}
    assert SERVER_KEY not in before.out + done.out + rotated.out


async def test_what_is_lacking_is_told(parley: Any, bouncer: FakeBouncer):
    made = await parley("push", "credentials")
    given = dict(line.split("=") for line in made.out.split())
    assert load_settings(environ={"HOME": "/nonexistent", **given}).push_server_id
    lacking = await parley(*ENROLL, PARLEY_PUSH_BOUNCER_URL=bouncer.url)
    assert lacking.status == 1
    assert "`parley push credentials`" in lacking.out
    assert (await parley(*ENROLL[:-1])).status == 1
    away = await parley(*ENROLL, PARLEY_PUSH_BOUNCER_URL="http://127.0.0.1:1", **given)
    assert "The bouncer does not do it: 127.0.0.1: ConnectError" in away.out

    for settings, told in (
        ({}, "note   push       Phones get no notifications"),
        ({"PARLEY_PUSH_BOUNCER_URL": bouncer.url}, "wrong  push       The bouncer does not know"),
        ({"PARLEY_FCM_CREDENTIALS": "{}"}, "wrong  push       PARLEY_FCM_CREDENTIALS: it is not"),
        ({"PARLEY_APNS_KEY": "canary"}, "PARLEY_APNS_KEY needs PARLEY_APNS_KEY_ID"),
    ):
        checked = await parley("check", **settings)
        assert told in checked.out
        assert "Traceback" not in checked.out
        assert "canary" not in checked.out

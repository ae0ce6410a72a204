"""A bouncer comes to know a server, by commands, as an operator does it."""

import asyncio
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from server.settings import load_settings
from storage import realms
from testkit import fork_server
from testkit.factories import Make
from testkit.services.push_bouncer import SERVER_ID, SERVER_KEY, FakeBouncer

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
        process = fork_server.Popen(
            (sys.executable, "-m", "scripts.cli.main", *arguments),
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        out, _ = await asyncio.to_thread(process.communicate)
        return Done(process.returncode, out)

    return parley


def of(bouncer: FakeBouncer) -> dict[str, str]:
    """Settings for a server that is known there."""
    return {
        "PARLEY_PUSH_BOUNCER_URL": bouncer.url,
        "PARLEY_PUSH_SERVER_ID": SERVER_ID,
        "PARLEY_PUSH_SERVER_KEY": SERVER_KEY,
    }


def printed_key(done: Done) -> str:
    [line] = [line for line in done.out.splitlines() if "PARLEY_PUSH_SERVER_KEY=" in line]
    return line.partition("=")[2]


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
    assert "ok     push       The push bouncer accepts" in (await parley("check", **given)).out

    rotated = await parley(*ENROLL, "--rotate-key", **given)
    new_key = printed_key(rotated)
    assert rotated.out.endswith("The bouncer wants the new key from now on.\n")
    assert bouncer.servers == {SERVER_ID: new_key}
    key.write_text(new_key)
    assert (await parley("push", "deregister", **given)).status == 0
    assert bouncer.servers == {}
    assert SERVER_KEY not in before.out + done.out + rotated.out


async def test_a_new_key_is_printed_even_if_the_bouncers_answer_is_lost(
    parley: Any, bouncer: FakeBouncer
):
    bouncer.lost = 1
    rotated = await parley(*ENROLL, "--rotate-key", **of(bouncer))
    assert rotated.status == 1
    assert "The bouncer does not do it: the bouncer answers 502." in rotated.out
    assert bouncer.servers == {SERVER_ID: printed_key(rotated)}


@pytest.mark.parametrize(
    ("status", "code"), [(403, "REMOTE_REALM_SERVER_MISMATCH_ERROR"), (400, "BAD_REQUEST")]
)
async def test_an_organization_that_the_bouncer_does_not_take_is_told(
    parley: Any, bouncer: FakeBouncer, make: Make, status: int, code: str
):
    refusal = json.dumps({"code": code, "msg": "It is another server's."})
    bouncer.answers_to["server/analytics"] = [(status, refusal, {})]
    done = await parley(*ENROLL, **of(bouncer))
    assert done.status == 1
    assert f"The bouncer does not do it: {code}: It is another server's." in done.out
    assert "knows" not in done.out
    realm = await realms.by_id(make.connection, make.realm_id)
    assert realm is not None
    assert not realm.settings.get("push_notifications_enabled", False)


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

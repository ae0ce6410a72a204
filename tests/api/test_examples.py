"""The examples of the API's documentation are real answers, and as real ones are today.

`scripts/renew-examples` records missing ones, and those with another shape than before.
"""

import shlex
from typing import Any

import pytest
import pytest_asyncio

from server.api.examples import as_text, curl_of, examples
from server.domain.access import OWNER
from server.domain.addresses import API_PREFIX
from server.domain.passwords import Passwords
from server.domain.system_bots import EMAIL_GATEWAY, NOTIFICATION_BOT, WELCOME_BOT
from testkit.clients.api import Client
from testkit.clock import StoppedClock
from testkit.examples import SITE, Recorder, keep, shape
from testkit.oracles import openapi
from testkit.services.browser_push import LOOPBACK
from testkit.services.push_bouncer import SERVER_ID, SERVER_KEY
from testkit.services.web_server import answering_json, web_at
from tests.api.examples import channels, messages, organization, people
from tests.api.examples.stage import JWT_KEY, PASSWORD, Stage

SCENES = (
    messages.messages,
    messages.later,
    messages.events,
    messages.uploads,
    messages.webhooks,
    messages.buttons,
    messages.conversations,
    channels.channels,
    channels.folders,
    channels.default_groups,
    channels.groups,
    people.own_account,
    people.keys,
    people.own_data,
    organization.compliance,
    people.signing_in,
    people.users,
    people.bots,
    people.slash_commands,
    people.calls,
    people.phones,
    people.client_devices,
    people.browsers,
    organization.settings,
    organization.pictures,
    organization.text_rules,
    organization.domains,
    organization.unconfirmed_addresses,
    organization.second_factors,
    organization.directories,
    organization.legal_holds,
    organization.profile_fields,
    organization.invitations,
    organization.imports,
    organization.exports,
    organization.ending,
)


@pytest.fixture
def clock():
    return StoppedClock()


@pytest_asyncio.fixture
async def call_services():
    """A server of each service for calls, in the order in which the scene asks them."""
    room = {"url": "https://example.constructor.app/groups/room/b2c1"}
    conversation = {"ocs": {"data": {"token": "w7sgbx5m"}}}
    async with web_at("127.0.0.1", answering_json(room), answering_json(conversation)) as web:
        yield web


@pytest_asyncio.fixture
async def stage(serving_with, make, connect, clock, bouncer, push_service, sink, call_services):
    subdomain = await make.connection.value(
        "UPDATE realms SET name = 'Example' WHERE realm_id = %(r)s RETURNING subdomain",
        r=make.realm_id,
    )
    settings = {
        "clock": clock,
        "development": True,
        "jwt_keys": {subdomain: {"key": JWT_KEY}},
        "push_bouncer_url": bouncer.url,
        "push_server_id": SERVER_ID,
        "push_server_key": SERVER_KEY,
        "egress_allow": LOOPBACK,
        "bigbluebutton_url": "https://calls.example.com/bigbluebutton/",
        "bigbluebutton_secret": "s" * 32,
        "constructor_groups_url": call_services.url("/api/groups/xapi"),
        "constructor_groups_access_key": "k" * 32,
        "constructor_groups_secret_key": "s" * 32,
        "nextcloud_talk_url": call_services.url(""),
        "nextcloud_talk_user": "parley",
        "nextcloud_talk_password": "s" * 32,
        "webex_client_id": "parley",
        "webex_client_secret": "s" * 32,
        "zoom_client_id": "parley",
        "zoom_client_secret": "s" * 32,
        "smtp_host": "127.0.0.1",
        "smtp_port": sink.port,
        "smtp_security": "none",
        "mail_in_port": 0,
        "mail_in_address": "%s@chat.example.com",
    }
    for bot in (NOTIFICATION_BOT, WELCOME_BOT, EMAIL_GATEWAY):
        await make.system_bot(bot)
    async with serving_with(**settings) as server:
        found = await stage_at(server, make, connect, bouncer, push_service)
        found.recorder.secrets[call_services.url("")] = "https://cloud.example.com"
        yield found


async def stage_at(server, make, connect, bouncer, push_service):
    olivia = await make.user("Olivia", email="olivia@example.com", role=OWNER)
    ravi = await make.user("Ravi", email="ravi@example.com")
    mia = await make.user("Mia", email="mia@example.com")
    everyone = [olivia, ravi, mia]
    general = await make.channel("general", subscribers=everyone)
    design = await make.channel("design", subscribers=[ravi])
    desk = await make.channel("moderators", invite_only=True, subscribers=[olivia])
    await make.change_settings(
        moderation_request_channel_id=desk.channel_id, enable_read_receipts=True
    )
    with Passwords(1) as passwords:
        await make.connection.execute(
            "UPDATE users SET password_hash = %(hash)s WHERE user_id = ANY(%(user_ids)s)",
            hash=await passwords.hash(PASSWORD),
            user_ids=[olivia.user_id, ravi.user_id],
        )
    first, second, third = [await connect(server, make.realm_id, row) for row in everyone]
    visitor: Client = await connect(server, make.realm_id)
    site = (await server.app.realm_caches.of(make.realm_id).address()).url
    host, subdomain = SITE.removeprefix("https://"), visitor.host.partition(".")[0]
    push_url = "https://push.example.com"
    recorder = Recorder(
        secrets={
            site: SITE,
            visitor.host: host,
            subdomain: "example",
            push_service.url: push_url,
        }
    )
    stage = Stage(
        recorder=recorder,
        server=server,
        make=make,
        bouncer=bouncer,
        push_service=push_service,
        olivia=first,
        ravi=second,
        mia=third,
        visitor=visitor,
        general=general,
        design=design,
        connect=connect,
    )
    for client in (first, second, third):
        stage.hide(client)
    return stage


@pytest.mark.asyncio
async def test_examples_are_as_real_answers_are(stage: Stage, pytestconfig):
    for scene in SCENES:
        await scene(stage)
    real = stage.recorder.examples
    if pytestconfig.getoption("renew_examples"):
        keep(real)
    stored = examples()
    assert sorted(stored) == sorted(real), "scripts/renew-examples records what is missing"
    for operation, example in real.items():
        assert shape(stored[operation]) == shape(example), operation


def test_every_operation_has_an_example_that_its_description_allows():
    paths = openapi.document()["paths"]
    described = {f"{m.upper()} {path}" for path, operations in paths.items() for m in operations}
    assert described == examples().keys()
    for operation, example in examples().items():
        method, _, _ = operation.partition(" ")
        if isinstance(example.get("answer"), dict) and operation != "GET /openapi.json":
            openapi.validate(method, example["path"], example["status"], example["answer"])
        assert {*example.get("fields", ())} <= known(operation), operation


def known(operation: str) -> set[str]:
    described: dict[str, Any] = openapi.operation(operation)
    content = described.get("requestBody", {}).get("content", {})
    in_form = {name for each in content.values() for name in each["schema"]["properties"]}
    return in_form | {each["name"] for each in described["parameters"]}


def test_curl_sends_what_was_recorded():
    for operation, example in examples().items():
        method, _, _ = operation.partition(" ")
        words = shlex.split(curl_of(operation, example))
        assert words[0] == "curl"
        [url] = [word for word in words if word.startswith("$site")]
        assert url.partition("?")[0] == f"$site{API_PREFIX}{example['path']}", operation
        assert ("$email:$key" in words) is not example.get("anonymous", False), operation
        assert method_of(words) == method, operation
        sent = [words[n + 1] for n, word in enumerate(words) if word == "--data-urlencode"]
        if not {"file", "payload"} & example.keys():
            assert sent == [f"{n}={as_text(v)}" for n, v in example.get("fields", {}).items()]


def method_of(words: list[str]) -> str:
    """The method that curl uses for these words."""
    if "-X" in words:
        return words[words.index("-X") + 1]
    if "-I" in words:
        return "HEAD"
    has_body = any(word in {"-d", "-F", "--data-urlencode", "--data-binary"} for word in words)
    return "POST" if has_body and "-G" not in words else "GET"

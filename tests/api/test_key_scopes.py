"""What a key of each scope may do and learn: every endpoint, every event, every field."""

import re
from dataclasses import replace
from http import HTTPStatus
from typing import Any, Final, get_type_hints

import pytest

from server.api.routes import ROUTES
from server.domain.access import ADMINISTRATOR
from server.domain.api_keys import Discloses, Scope, reaches
from server.events import catalogue
from server.events.base import Event
from testkit.clients.api_keys import new_key
from tests.api.permissions import world as objects
from tests.api.permissions.asking import ask, name_of
from tests.api.permissions.expectations import ROWS
from tests.api.permissions.world import World

GRANTS: Final = (("read",), ("messages",), ("read", "messages"), ("everything",))
REFUSAL: Final = "This API key does not reach this"
SUSPICIOUS: Final = re.compile("key|token|secret|password|otp|link|url|address|email|tls|cert")

HARMLESS: Final = {
    # Facts about a key or a link, none of them the key or the link.
    *(
        "api_keys",
        "key_id",
        "tokens",
        "token_id",
        "linkifiers",
        "realm_linkifiers",
        "topic_links",
        "url_template",
    ),
    # Where something is that a reader may fetch with their own credentials, or anyone may.
    *("avatar_url", "avatar_url_medium", "icon_url", "source_url", "still_url", "realm_url"),
    *("login_url", "signup_url", "url", "base_url", "service_payload_url", "message_url"),
    *("message_link", "alternative_url_templates"),
    # By hashes and numbers a device of one's own recognizes its token and key.
    *("push_key_id", "push_token_id", "pending_push_token_id"),
    "push_token_last_updated_timestamp",
    # How people are addressed; each viewer gets those that the account's settings permit.
    *("email", "delivery_email", "sender_email", "new_email", "email_address_visibility"),
    "email_confirmed",
    # What is public.
    "web_push_public_key",
    # Settings.
    *("email_notifications", "email_auth_enabled", "require_email_format_usernames"),
}
"""Fields with such names that disclose nothing by which anyone could act or read more."""

LEAVES_OUT: Final = {"GET /invites", "GET /export/realm"}
"""Endpoints for readers that leave a secret out for a key that does not reach it."""


def fields_of(kind: Any, seen: tuple[Any, ...] = ()) -> list[tuple[str, Any]]:
    """The name and type of every field of a struct, nested ones too."""
    if kind in seen or not hasattr(kind, "__struct_fields__"):
        return []
    hints = get_type_hints(kind, include_extras=True)
    found = [(name, hints[name]) for name in kind.__struct_fields__]
    nested = [inner for _, hint in found for inner in parts_of(hint)]
    return found + [each for inner in nested for each in fields_of(inner, (*seen, kind))]


def parts_of(hint: Any) -> list[Any]:
    """The types that a type is made of, itself among them."""
    return [hint, *(part for inner in getattr(hint, "__args__", ()) for part in parts_of(inner))]


def discloses(hint: Any) -> bool:
    marks = [mark for part in parts_of(hint) for mark in getattr(part, "__metadata__", ())]
    return any(isinstance(mark, Discloses) for mark in marks)


def secrets_of(kind: Any) -> set[str]:
    return {name for name, hint in fields_of(kind) if discloses(hint)}


@pytest.mark.parametrize(
    "kind", [*(route.result for route in ROUTES), *catalogue.EVENTS], ids=lambda kind: kind.__name__
)
def test_every_field_that_may_be_a_secret_is_declared_as_one(kind):
    unknown = {
        name
        for name, hint in fields_of(kind)
        if SUSPICIOUS.search(name) and not discloses(hint) and name not in HARMLESS
    }
    assert not unknown, f"type {unknown} as Secret, or say in HARMLESS why not"


def test_a_response_with_a_secret_needs_the_scope_of_it():
    for route in ROUTES:
        name = name_of(route)
        if not secrets_of(route.result) or route.access.name in {"ANONYMOUS", "INTERNAL"}:
            continue  # signing in is what leads to a key
        if name in LEAVES_OUT:
            continue
        assert {Scope.EVERYTHING, Scope.ACCOUNT} & set(route.needs), name
    assert {name_of(r) for r in ROUTES if secrets_of(r.result)} >= LEAVES_OUT


def test_every_event_with_a_secret_has_a_reduced_form():
    holding = [event for event in catalogue.EVENTS if secrets_of(event)]
    assert {event.wire_type for event in holding} == {"realm_bot", "realm_export"}
    for event in holding:
        assert event.without_secrets is not Event.without_secrets, event.kind


async def grant(client, *scopes):
    return replace(client, api_key=(await new_key(client, *scopes))["api_key"])


async def grant_in_world(client, *scopes):
    """The same for a member of the world of the permission matrix."""
    fields = {"name": "A program", "scopes": list(scopes), "old_password": objects.PASSWORD}
    key = await client.post("/users/me/api_keys", **fields)
    return replace(client, api_key=key["api_key"])


@pytest.mark.asyncio
@pytest.mark.parametrize("scopes", GRANTS, ids="+".join)
async def test_every_endpoint_asks_for_its_scope(serving_with, make, connect, scopes):
    needed = {name_of(route): route.needs for route in ROUTES}
    granted = frozenset(Scope(name) for name in scopes)
    without_keys = {"ANONYMOUS", "DIRECTORY", "INTERNAL"}
    open_to_all = {name_of(r) for r in ROUTES if r.access.name in without_keys}
    async with serving_with(web_public_channels=True, smtp_host="127.0.0.1") as server:
        world = await World.of(server, make, connect, "here")
        client = await grant_in_world(world.clients["A"], *scopes)
        problems = []
        for row in ROWS:
            kind = next(iter(row.allowed))
            given = {**await row.objects(world, "A", kind), **row.fields}
            before = await make.position()
            answer = await ask(client, row.endpoint, given)
            if row.endpoint in open_to_all:
                continue
            # A response to HEAD has no body.
            refused = REFUSAL in answer.content.decode("utf-8", "replace") or (
                row.endpoint.startswith("HEAD") and answer.status == HTTPStatus.BAD_REQUEST
            )
            reached = all(reaches(granted, scope) for scope in needed[row.endpoint])
            wrong = refused == reached or (refused and await make.position() != before)
            if wrong:
                problems.append(f"{row.endpoint}: {answer.status} {answer.content[:120]!r}")
    assert not problems, "\n".join(problems)


async def canaries(world: World, client) -> dict[str, str]:
    """A secret of each kind, with what it is."""
    export = await objects.export(world, "A", "own")
    listed = (await client.get("/export/realm"))["exports"]
    [exported] = [each["export_url"] for each in listed if each["id"] == export["export_id"]]
    link = await client.post("/invites/multiuse", invite_as=400)
    bot = await client.post(
        "/bots",
        full_name="Called",
        short_name="called",
        bot_type=3,
        payload_url="http://bot.example.com/",
    )
    bots = (await client.register(fetch_event_types=["realm_bot"])).state["realm_bots"]
    [called] = [each for each in bots if each["user_id"] == bot["user_id"]]
    return {
        exported: "an export",
        link["invite_link"]: "an invitation link",
        bot["api_key"]: "the key of a bot",
        called["services"][0]["token"]: "the token of an outgoing webhook",
        client.api_key: "the account's own key",
    }


async def everything_read(client, world: World) -> str:
    """All that a key gets to read, from each endpoint that may be asked, and what it refuses."""
    texts = []
    for row in ROWS:
        if row.endpoint.startswith("GET ") and "/events" not in row.endpoint:
            kind = next(iter(row.allowed))
            given = {**await row.objects(world, "A", kind), **row.fields}
            texts.append(
                (await ask(client, row.endpoint, given)).content.decode("utf-8", "replace")
            )
    texts.append(str((await client.call("POST", "/register")).body))
    return "".join(texts).replace("\\/", "/")


@pytest.mark.asyncio
async def test_no_secret_reaches_a_key_of_less_than_everything(serving_with, make, connect):
    async with serving_with(smtp_host="127.0.0.1") as server:
        world = await World.of(server, make, connect, "here")
        boss = world.clients["A"]
        limited = [await grant_in_world(boss, *scopes) for scopes in GRANTS[:3]]
        queues = [await client.register() for client in (limited[0], limited[2])]
        own = await boss.register()
        found = await canaries(world, boss)
        await boss.delete(f"/export/realm/{(await objects.export(world, 'A', 'own'))['export_id']}")

        told = [str(await queue.until("realm_export")) for queue in (own, *queues)]
        everything = str(own.state) + told[0] + await everything_read(boss, world)

        for secret, what in found.items():
            if secret != boss.api_key:
                assert secret in everything, f"{what} is never shown: this test proves nothing"
        for text in (*told[1:], *[await everything_read(client, world) for client in limited]):
            leaked = [what for secret, what in found.items() if secret in text]
            assert not leaked


@pytest.mark.asyncio
async def test_a_queue_of_a_key_that_knows_secrets_is_closed_to_one_that_does_not(log_in):
    boss = await log_in(role=ADMINISTRATOR)
    reader = await grant(boss, "read")
    queue = await boss.register()
    answer = await reader.call("GET", "/events", queue_id=queue.queue_id, last_event_id=-1)
    answer.refused("BAD_EVENT_QUEUE_ID")
    own = (await reader.register()).queue_id
    streamed = await reader.call("GET", "/events", queue_id=own, last_event_id=-1, dont_block=True)
    streamed.succeeded()


@pytest.mark.asyncio
async def test_a_key_that_only_writes_cannot_search_or_guess(log_in, make):
    alice, bob = await log_in(), await log_in()
    sent = await alice.post(
        "/messages", type="direct", to=[bob.user.user_id], content="the password is octopus"
    )
    topic = await make.topic(await make.channel(subscribers=[alice.user, bob.user]), "Layoffs")
    await make.message(alice.user, topic)
    writer = await grant(alice, "messages")
    narrow = [{"operator": "search", "operand": "octopus"}]
    guesses = [
        (
            "POST",
            "/messages/flags/narrow",
            {
                "anchor": "newest",
                "num_before": 10,
                "num_after": 0,
                "narrow": narrow,
                "op": "add",
                "flag": "starred",
            },
        ),
        (
            "POST",
            "/mark_topic_as_read",
            {
                "stream_id": topic.channel_id,
                "topic_name": "Layoffs",
            },
        ),
        (
            "PATCH",
            f"/messages/{sent['id']}",
            {
                "content": "guessed",
                "prev_content_sha256": "0" * 64,
            },
        ),
    ]
    for method, path, fields in guesses:
        refused = (await writer.call(method, path, **fields)).refused()
        assert refused["msg"].endswith("it takes the scope 'read'."), path
    await (await grant(alice, "read", "messages")).post(guesses[0][1], **guesses[0][2])


@pytest.mark.asyncio
async def test_an_edit_by_a_key_that_only_writes_does_not_list_the_files_of_the_message(log_in):
    alice, bob = await log_in(), await log_in()
    uploaded = await alice.upload("/user_uploads", file=("secret plans.txt", b"plans"))
    url = uploaded.succeeded()["url"]
    sends = [
        await alice.post(
            "/messages", type="direct", to=[bob.user.user_id], content=f"[plans]({url})"
        )
        for _ in range(2)
    ]
    writer, both = await grant(alice, "messages"), await grant(alice, "messages", "read")
    hidden = await writer.patch(f"/messages/{sends[0]['id']}", content="gone")
    shown = await both.patch(f"/messages/{sends[1]['id']}", content="gone")
    assert hidden["detached_uploads"] == []
    assert [each["name"] for each in shown["detached_uploads"]] == ["secret plans.txt"]

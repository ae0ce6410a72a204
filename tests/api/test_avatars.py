"""Pictures of people: given, taken away, shown to who may know them, made where there is none."""

import pytest
import pytest_asyncio

from server.domain.access import ADMINISTRATOR, GUEST
from server.domain.avatars import gravatar_url
from server.domain.emoji import picture_url
from server.domain.user_settings import NOBODY
from testkit.factories import new_realm
from testkit.images import opened, picture

pytestmark = pytest.mark.asyncio

OWN = "/users/me/avatar"


@pytest_asyncio.fixture
async def boss(log_in):
    return await log_in(role=ADMINISTRATOR)


async def give(client, content=None):
    return await client.upload(OWN, file=("me.png", content or picture(size=(300, 200))))


async def user(client, user_id, **fields):
    found = await client.get(f"/users/{user_id}", client_gravatar=False, **fields)
    return found["user"]


def kept(server):
    root = server.app.settings.data_directory / "files"
    return [path for path in root.rglob("*") if path.is_file()]


async def removed(make):
    """Where the pictures were shown of which the content is to be removed."""
    jobs = await make.connection.values(
        "SELECT convert_from(body, 'UTF8')::jsonb FROM event_log WHERE kind = 'job'"
    )
    keys = {key for each in jobs if each["queue"] == "blob_removals" for key in each["job"]["keys"]}
    return {picture_url(key) for key in keys}


async def test_a_picture_is_given_told_and_shown(alice, bob, spectator):
    queue = await bob.register(event_types=["realm_user"], fetch_event_types=["realm_user"])
    url = (await give(alice)).succeeded()["avatar_url"]
    told = (await queue.until("realm_user", "update"))["person"]
    assert told == {
        "user_id": alice.user.user_id,
        "avatar_url": url,
        "avatar_url_medium": url.replace(".png", "-medium.png"),
        "avatar_source": "U",
        "avatar_version": 2,
    }
    shown = await user(bob, alice.user.user_id)
    assert (shown["avatar_url"], shown["avatar_version"]) == (url, 2)
    known = await bob.get(f"/users/{alice.user.user_id}", client_gravatar=True)
    assert known["user"]["avatar_url"] == url, "no client can work it out"
    own = (await alice.register(fetch_event_types=["realm_user"])).state
    assert (own["avatar_url"], own["avatar_source"]) == (url, "U")

    anonymous = await spectator()
    for address, size in ((url, 100), (own["avatar_url_medium"], 500)):
        got = await anonymous.fetch(address)
        assert got.headers["Content-Type"] == "image/png"
        assert "immutable" in got.headers["Cache-Control"]
        assert opened(got.content).size == (size, size)


async def test_messages_show_it(alice, bob):
    url = (await give(alice)).succeeded()["avatar_url"]
    queue = await bob.register(event_types=["message"], client_gravatar=True)
    to = {"type": "direct", "to": [bob.user.user_id]}
    message = (await alice.post("/messages", **to, content="hello"))["id"]
    assert (await queue.until("message"))["message"]["avatar_url"] == url
    assert (await bob.get(f"/messages/{message}"))["message"]["avatar_url"] == url
    await alice.delete(OWN)
    shown = (await bob.get(f"/messages/{message}"))["message"]["avatar_url"]
    assert shown == gravatar_url(alice.user.email, 3)


async def test_another_replaces_it_and_none_takes_it_away(alice, bob, make):
    first = (await give(alice)).succeeded()["avatar_url"]
    second = (await give(alice, picture(color="blue"))).succeeded()["avatar_url"]
    assert first != second
    queue = await bob.register(event_types=["realm_user"], client_gravatar=True)
    gravatar = (await alice.delete(OWN))["avatar_url"]
    told = (await queue.until("realm_user", "update"))["person"]
    assert (told["avatar_url"], told["avatar_url_medium"]) == (None, None)
    assert (told["avatar_source"], told["avatar_version"]) == ("G", 4)
    assert gravatar == gravatar_url(alice.user.email, 4)
    assert (await alice.delete(OWN))["avatar_url"] == gravatar, "there was none"
    assert await removed(make) == {
        url.replace(".png", f"{end}.png") for url in (first, second) for end in ("", "-medium")
    }


async def test_an_organization_may_want_people_to_stay_as_they_are(alice, boss, make, server):
    url = (await give(alice)).succeeded()["avatar_url"]
    await make.change_settings(avatar_changes_disabled=True)
    server.forget(make.realm_id)
    before = len(kept(server))
    (await give(alice)).refused()
    assert len(kept(server)) == before
    (await alice.call("DELETE", OWN)).refused()
    assert (await user(boss, alice.user.user_id))["avatar_url"] == url
    (await give(boss)).succeeded()


@pytest.mark.parametrize("content", [b"", b"no picture", b"<svg/>"])
async def test_what_is_no_picture_is_refused(alice, content, server):
    assert (await alice.upload(OWN, file=("me.png", content))).status == 400
    (await alice.call("POST", OWN)).refused()
    assert kept(server) == []


async def test_it_is_found_by_who_it_is(alice, bob, spectator):
    url = (await give(alice)).succeeded()["avatar_url"]
    for who in (alice.user.user_id, alice.user.email):
        for path, end in ((f"/avatar/{who}", ""), (f"/avatar/{who}/medium", "-medium")):
            led = await bob.fetch(path)
            assert led.status == 302
            assert led.headers["Location"] == url.replace(".png", f"{end}.png")
            assert "no-cache" in led.headers["Cache-Control"]
    assert (await bob.fetch(f"/avatar/{alice.user.user_id}/medium")).status == 302
    assert (await bob.fetch(f"/avatar/{alice.user.email}/medium")).status == 302
    known = await bob.fetch(f"/avatar/{alice.user.user_id}?version=2")
    assert "max-age" in known.headers["Cache-Control"]
    for nowhere in ("/avatar/999999999", "/avatar/nobody@example.com"):
        assert (await bob.fetch(nowhere)).status == 404
    anonymous = await spectator()
    assert (await anonymous.fetch(f"/avatar/{alice.user.user_id}")).status == 401


async def test_a_hidden_user_has_a_picture_that_says_nothing(alice, log_in, make, server):
    groups = await make.role_groups()
    await make.change_settings(can_access_all_users_group=groups["role:members"])
    server.forget(make.realm_id)
    url = (await give(alice)).succeeded()["avatar_url"]
    guest = await log_in(role=GUEST)
    led = await guest.fetch(f"/avatar/{alice.user.user_id}")
    domain = alice.host.partition(":")[0]
    assert led.headers["Location"] == gravatar_url(f"user{alice.user.user_id}@{domain}", 1)
    assert led.headers["Location"] != url
    assert (await guest.fetch(f"/avatar/{alice.user.email}")).status == 404


async def test_a_hidden_address_has_no_hash(alice, bob):
    await alice.patch("/settings", email_address_visibility=NOBODY)
    led = await bob.fetch(f"/avatar/{alice.user.user_id}")
    assert led.headers["Location"] != gravatar_url(alice.user.email, 1)
    assert (await bob.fetch(f"/avatar/{alice.user.email}")).status == 404


async def test_a_change_of_address_leaves_a_picture_of_ones_own(alice, bob):
    await give(alice)
    queue = await bob.register(event_types=["realm_user"])
    await alice.patch("/settings", email_address_visibility=NOBODY)
    await alice.post("/users/me/status", status_text="done")
    await alice.patch("/settings", full_name="Alice II")
    changes = []
    while "full_name" not in (person := (await queue.until("realm_user", "update"))["person"]):
        changes.append(person)
    assert any("new_email" in person for person in changes)
    assert not any("avatar_url" in person for person in changes)


async def test_without_gravatars_all_users_have_a_pattern(serving_with, connect, make):
    async with serving_with(gravatars=False) as server:
        alice = await connect(server, make.realm_id, await make.user())
        anonymous = await connect(server, make.realm_id)
        queue = await alice.register(
            event_types=["message"], client_gravatar=True, fetch_event_types=["realm_user", "realm"]
        )
        state = queue.state
        assert state["avatar_source"] == "J"
        [own] = [each for each in state["realm_users"] if each["user_id"] == alice.user.user_id]
        assert own["avatar_url"] == state["avatar_url"]
        await alice.post("/messages", type="direct", to=[alice.user.user_id], content="hello")
        assert (await queue.until("message"))["message"]["avatar_url"] == state["avatar_url"]
        pictures = [state[f"avatar_url{end}"] for end in ("", "_medium")]
        for url, size in zip([*pictures, state["realm_icon_url"]], (100, 500, 100), strict=True):
            assert "gravatar" not in url
            got = await anonymous.fetch(url)
            assert got.headers["Content-Type"] == "image/png"
            assert opened(got.content).size == (size, size)
        for wrong in ("x.png", "1.gif", "1-large.png", "../1.png"):
            assert (await anonymous.fetch(f"/user_avatars/identicon/{wrong}")).status == 404
        await alice.patch("/settings", email_address_visibility=NOBODY)
        assert (await alice.register(fetch_event_types=["realm_user"])).state[
            "avatar_url"
        ] == state["avatar_url"]


async def test_a_bot_has_the_picture_that_comes_with_it(alice, bob):
    queue = await alice.register(event_types=["realm_bot", "realm_user"])
    fields = {"full_name": "Robot", "short_name": "robot"}
    made = (await alice.upload("/bots", fields=fields, file=("b.png", picture()))).succeeded()
    assert "/avatar/" in made["avatar_url"]
    assert (await user(bob, made["user_id"]))["avatar_url"] == made["avatar_url"]
    changed = await alice.upload(
        f"/bots/{made['user_id']}", method="PATCH", file=("b.png", picture(color="blue"))
    )
    url = changed.succeeded()["avatar_url"]
    assert url != made["avatar_url"]
    person = (await queue.until("realm_user", "update"))["person"]
    assert (person["user_id"], person["avatar_url"]) == (made["user_id"], url)
    assert (await user(bob, made["user_id"]))["avatar_url"] == url
    without = await alice.post("/bots", full_name="Plain", short_name="plain")
    assert "gravatar" in without["avatar_url"]


async def test_a_picture_of_a_bot_is_for_who_looks_after_it(alice, bob, server):
    made = await alice.post("/bots", full_name="Robot", short_name="robot")
    path = f"/bots/{made['user_id']}"
    (await bob.upload(path, method="PATCH", file=("b.png", picture()))).refused()
    assert kept(server) == []


async def test_another_organizations_pictures_are_its_own(alice, make, connect, server):
    url = (await give(alice)).succeeded()["avatar_url"]
    elsewhere = await new_realm(make.connection)
    stranger = await connect(server, elsewhere.realm_id, await elsewhere.user())
    assert (await stranger.fetch(url)).status == 404
    assert (await stranger.fetch(f"/avatar/{alice.user.user_id}")).status == 404

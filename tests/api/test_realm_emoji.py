"""Emoji of the organization: uploaded, shown, reacted with, and taken out of use."""

import pytest
import pytest_asyncio

from server.actions.realm_emoji import MAX_EMOJI
from server.domain.access import ADMINISTRATOR, GUEST
from testkit.factories import new_realm
from testkit.images import animation, opened, picture

pytestmark = pytest.mark.asyncio


@pytest_asyncio.fixture
async def boss(log_in):
    return await log_in(role=ADMINISTRATOR)


async def add(client, name="parley", content=None):
    return await client.upload(f"/realm/emoji/{name}", file=("e.png", content or picture()))


async def found(client, name="parley"):
    listed = (await client.get("/realm/emoji"))["emoji"]
    return next(each for each in listed.values() if each["name"] == name)


async def test_an_emoji_is_added_told_and_shown(alice, bob, spectator):
    queue = await bob.register(event_types=["realm_emoji"], fetch_event_types=["realm_emoji"])
    capable = await bob.register(
        event_types=["realm_emoji"], client_capabilities={"individual_emoji_changes": True}
    )
    assert queue.state["realm_emoji"] == {}
    (await add(alice)).succeeded()
    emoji = await found(bob)
    assert emoji["author_id"] == alice.user.user_id
    assert (emoji["still_url"], emoji["deactivated"]) == (None, False)
    told = await queue.until("realm_emoji", "update")
    assert told["realm_emoji"] == {emoji["id"]: emoji}
    assert (await capable.until("realm_emoji", "add"))["emoji"] == emoji
    anew = await bob.register(fetch_event_types=["realm_emoji"])
    assert anew.state["realm_emoji"] == {emoji["id"]: emoji}

    got = await (await spectator()).fetch(emoji["source_url"])
    assert got.status == 200
    assert got.headers["Content-Type"] == "image/png"
    assert "immutable" in got.headers["Cache-Control"]
    assert got.headers["X-Content-Type-Options"] == "nosniff"
    assert opened(got.content).size == (64, 64)


async def test_an_animated_one_has_a_still_picture(alice):
    (await add(alice, content=animation())).succeeded()
    emoji = await found(alice)
    moving = await alice.fetch(emoji["source_url"])
    still = await alice.fetch(emoji["still_url"])
    assert moving.headers["Content-Type"] == "image/gif"
    assert getattr(opened(moving.content), "n_frames", 1) == 3
    assert (opened(still.content).format, getattr(opened(still.content), "n_frames", 1)) == (
        "PNG",
        1,
    )


async def test_messages_and_reactions_use_it(alice, bob):
    (await add(alice)).succeeded()
    emoji = await found(alice)
    where = {"type": "channel", "to": "general", "topic": "t"}
    message = (await alice.post("/messages", **where, content="look: :parley:"))["id"]
    html = (await bob.get(f"/messages/{message}"))["message"]["content"]
    assert f'src="{emoji["source_url"]}"' in html
    await bob.post(f"/messages/{message}/reactions", emoji_name="parley")
    [reaction] = (await alice.get(f"/messages/{message}"))["message"]["reactions"]
    assert (reaction["reaction_type"], reaction["emoji_code"]) == ("realm_emoji", emoji["id"])
    (
        await alice.call(
            "POST",
            f"/messages/{message}/reactions",
            emoji_name="parley",
            emoji_code="1" + emoji["id"],
            reaction_type="realm_emoji",
        )
    ).refused()
    await bob.post("/users/me/status", emoji_name="parley")

    await alice.delete("/realm/emoji/parley")
    (await alice.call("POST", f"/messages/{message}/reactions", emoji_name="parley")).refused()
    later = (await alice.post("/messages", **where, content="look: :parley:"))["id"]
    assert "<img" not in (await bob.get(f"/messages/{later}"))["message"]["content"]
    assert (
        f'src="{emoji["source_url"]}"'
        in (await bob.get(f"/messages/{message}"))["message"]["content"]
    )
    assert (await alice.fetch(emoji["source_url"])).status == 200
    await bob.delete(
        f"/messages/{message}/reactions", emoji_name="parley", reaction_type="realm_emoji"
    )


async def test_a_reaction_is_joined_though_its_emoji_is_out_of_use(alice, bob, boss):
    (await add(alice)).succeeded()
    emoji = await found(alice)
    where = {"type": "channel", "to": "general", "topic": "t"}
    message, other = [(await alice.post("/messages", **where, content=c))["id"] for c in "ab"]
    await bob.post(f"/messages/{message}/reactions", emoji_name="parley")
    await boss.delete("/realm/emoji/parley")
    exactly = {"emoji_name": "parley", "emoji_code": emoji["id"], "reaction_type": "realm_emoji"}
    await alice.post(f"/messages/{message}/reactions", **exactly)
    there = (await alice.get(f"/messages/{message}"))["message"]["reactions"]
    assert [each["user_id"] for each in there] == [bob.user.user_id, alice.user.user_id]
    for wrong in ({"emoji_name": "octopus"}, {"emoji_code": "1" + emoji["id"]}):
        given = {**exactly, **wrong}
        (await boss.call("POST", f"/messages/{message}/reactions", **given)).refused()
    (await alice.call("POST", f"/messages/{other}/reactions", **exactly)).refused()


async def test_a_deactivated_one_makes_room_for_another(alice, boss):
    (await add(alice)).succeeded()
    (await add(alice)).refused()
    queue = await boss.register(
        event_types=["realm_emoji"], client_capabilities={"individual_emoji_changes": True}
    )
    await boss.delete("/realm/emoji/parley")
    [gone] = (await alice.get("/realm/emoji"))["emoji"].values()
    assert (gone["name"], gone["deactivated"]) == ("parley", True)
    told = await queue.until("realm_emoji", "update_one")
    assert (told["emoji_id"], told["data"]) == (gone["id"], {"deactivated": True})
    (await boss.call("DELETE", "/realm/emoji/parley")).refused(status=404)
    (await add(alice)).succeeded()
    [_, new] = (await alice.get("/realm/emoji"))["emoji"].values()
    assert (await queue.until("realm_emoji", "add"))["emoji"] == new
    assert new["id"] != gone["id"]


async def test_there_is_an_end_to_them(alice, boss, make):
    await make.connection.execute(
        """
        INSERT INTO realm_emoji (realm_id, name, author_id, blob_key, deactivated)
        SELECT %(realm_id)s, n::text, %(author_id)s, 'emoji/1/e', n > 1
          FROM generate_series(1, %(count)s) AS n
        """,
        realm_id=make.realm_id,
        author_id=alice.user.user_id,
        count=MAX_EMOJI - 1,
    )
    (await add(alice)).succeeded()
    assert str(MAX_EMOJI) in (await add(boss, "more")).refused()["msg"]


async def test_who_may(alice, bob, boss, log_in):
    guest = await log_in(role=GUEST)
    (await add(guest)).refused()
    (await add(alice)).succeeded()
    (await bob.call("DELETE", "/realm/emoji/parley")).refused()
    for name in ("octopus", "zulip"):
        (await add(alice, name)).refused("REQUEST_VARIABLE_INVALID")
        (await add(boss, name)).succeeded()
    log = (await boss.get("/realm/audit_log"))["entries"]
    assert {"emoji_added"} <= {each["action"] for each in log}


@pytest.mark.parametrize("name", ["a b!", "ä", "a/b", "-", "x" * 101, "a'"])
async def test_names_are_plain(alice, name):
    assert (await add(alice, name)).status in {400, 404, 405}
    assert (await alice.get("/realm/emoji"))["emoji"] == {}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"no picture",
        b"<svg xmlns='http://www.w3.org/2000/svg'/>",
        b"GIF89a<script>alert(1)</script>",
        picture()[:40],
    ],
)
async def test_what_is_no_picture_is_refused(alice, content, server):
    answer = await alice.upload("/realm/emoji/parley", file=("e.png", content))
    assert answer.status == 400
    root = server.app.settings.data_directory
    assert [path for path in root.rglob("*") if path.is_file()] == []


async def test_pictures_stay_in_their_organization(alice, make, connect, server):
    (await add(alice)).succeeded()
    url = (await found(alice))["source_url"]
    elsewhere = await connect(server, (await new_realm(make.connection)).realm_id)
    assert (await elsewhere.fetch(url)).status == 404
    _, _, realm_id, filename = url.split("/", 3)
    for wrong in (filename[1:], filename.replace("emoji/", "uploads/"), "../x", "emoji/../../x"):
        assert (await alice.fetch(f"/user_avatars/{realm_id}/{wrong}")).status == 404

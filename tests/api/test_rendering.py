"""What messages look like, over HTTP: POST /messages/render, and a send that says the same."""

import pytest
import pytest_asyncio

from server.domain.access import OWNER
from server.domain.messages import MAX_MESSAGE_LENGTH

pytestmark = pytest.mark.asyncio

EVERYTHING = "@**Alice** #**general>t** :smile: :)\n```py\nx = 1\n```\n$$x^2$$ [p]({film})"


@pytest_asyncio.fixture
async def alice(log_in, make):
    return await log_in(full_name="Alice", settings={"translate_emoticons": True})


@pytest_asyncio.fixture
async def channel(make, alice):
    return await make.channel("general", subscribers=[alice.user])


async def rendered(client, content):
    return (await client.post("/messages/render", content=content))["rendered"]


async def uploaded(client, name):
    return (await client.upload("/user_uploads", file=(name, b"content"))).succeeded()["url"]


async def test_a_message_is_rendered_as_it_would_be_sent(alice, channel):
    text = EVERYTHING.format(film=await uploaded(alice, "p.mp4"))
    html = await rendered(alice, text)
    for part in (
        f'<span class="user-mention" data-user-id="{alice.user.user_id}">@Alice</span>',
        f'<a class="stream-topic" data-stream-id="{channel.channel_id}"',
        '<span class="mi">1</span>',
        '<span class="katex">',
        '<div class="message_inline_image message_inline_video">',
    ):
        assert part in html
    assert html.count("emoji-1f642") == 2

    sent = await alice.post(
        "/messages", type="channel", to=channel.channel_id, topic="t", content=text
    )
    message = (await alice.get(f"/messages/{sent['id']}"))["message"]
    assert message["content"] == html


async def test_a_name_taken_in_another_case_ends_no_mention_of_the_first(make, alice):
    """Clients add the id to a name only where two users have exactly the same."""
    other = await make.user("ALICE")
    mention = '<span class="user-mention" data-user-id="{}">@{}</span>'
    html = await rendered(alice, "@**Alice** @**ALICE** @**alice**")
    first, second = (
        mention.format(alice.user.user_id, "Alice"),
        mention.format(other.user_id, "ALICE"),
    )
    assert html == f"<p>{first} {second} @<strong>alice</strong></p>"
    for _ in range(2):
        await make.user("Bob")
    assert await rendered(alice, "@**Bob**") == "<p>@<strong>Bob</strong></p>"


async def test_a_deactivated_group_is_named_silently(make, alice, channel):
    bob = await make.user()
    group_id = await make.group("cooks", members=[bob], deactivated=True)
    content = "@*cooks* @_*cooks*"
    html = await rendered(alice, content)
    pill = f'<span class="user-group-mention silent" data-user-group-id="{group_id}">cooks</span>'
    assert html == f"<p>{pill} {pill}</p>"
    await make.subscribe(channel, [bob])
    sent = await alice.post("/messages", type="channel", to="general", topic="t", content=content)
    flags = await make.connection.value(
        "SELECT count(*) FROM message_flags WHERE message_id = %(id)s AND user_id = %(user)s",
        id=sent["id"],
        user=bob.user_id,
    )
    assert flags == 0


async def test_an_edit_looks_as_a_send_would(alice, channel):
    sent = await alice.post(
        "/messages", type="channel", to=channel.channel_id, topic="t", content="plain"
    )
    await alice.patch(f"/messages/{sent['id']}", content=EVERYTHING.format(film="x"))
    message = (await alice.get(f"/messages/{sent['id']}"))["message"]
    assert message["content"] == await rendered(alice, EVERYTHING.format(film="x"))
    assert '<span class="mi">1</span>' in message["content"]


async def test_addresses_of_the_organizations_own_files_are_those_below_it(alice, server, make):
    url = (await server.app.realm_caches.of(make.realm_id).address()).url
    path = await uploaded(alice, "a.png")
    html = await rendered(alice, f"[p]({url}{path})")
    assert html == await rendered(alice, f"[p]({path})")
    assert "<img" in html


async def test_the_senders_and_the_organizations_settings_count(log_in, make):
    await make.change_settings(inline_image_preview=False)
    bob = await log_in()
    assert await rendered(bob, ":) [p](/user_uploads/2/a.png)") == (
        '<p>:) <a href="/user_uploads/2/a.png">p</a></p>'
    )


async def test_channels_that_the_caller_may_not_know_stay_text(log_in, make):
    await make.channel("hidden", invite_only=True)
    assert await rendered(await log_in(), "#**hidden**") == "<p>#<strong>hidden</strong></p>"


async def test_a_message_mentions_no_group_that_its_sender_may_not_mention(log_in, make):
    alice, bob, carol = await log_in(), await log_in(), await log_in()
    channel = await make.channel(subscribers=[alice.user, bob.user, carol.user])
    group_id = await make.group("helpers", members=[carol.user])
    await make.connection.execute(
        "UPDATE user_groups SET permissions = %(permissions)s WHERE group_id = %(group_id)s",
        permissions=make.connection.json(
            {"can_mention_group": {"direct_members": [alice.user.user_id], "direct_subgroups": []}}
        ),
        group_id=group_id,
    )

    fields = {"type": "channel", "to": channel.channel_id, "topic": "t", "content": "@*helpers*"}

    async def seen(message_id):
        message = (await carol.get(f"/messages/{message_id}"))["message"]
        return message["content"], "mentioned" in message["flags"]

    refused = (await bob.call("POST", "/messages", **fields)).refused()
    assert refused["msg"] == "You are not allowed to mention user group 'helpers'."
    html = (
        f'<p><span class="user-group-mention" data-user-group-id="{group_id}">@helpers</span></p>'
    )
    mentioned = (await alice.post("/messages", **fields))["id"]
    assert await seen(mentioned) == (html, True)
    assert await rendered(bob, "@*helpers*") == html

    silent = html.replace('mention"', 'mention silent"', 1).replace("@", "")
    for content in ("@_*helpers*", "> @*helpers*"):
        named = (await bob.post("/messages", **fields | {"content": content}))["id"]
        html, is_mentioned = await seen(named)
        assert silent in html
        assert not is_mentioned
        (await bob.call("PATCH", f"/messages/{named}", content="@*helpers*")).refused()


async def test_an_edit_keeps_the_mention_of_a_group_that_one_may_mention_no_more(
    alice, channel, make, log_in
):
    owner = await log_in(role=OWNER)
    nobody = (await make.role_groups())["role:nobody"]
    helpers, cooks = await make.group("helpers"), await make.group("cooks")
    where = {"type": "channel", "to": channel.channel_id, "topic": "t"}
    sent = (await alice.post("/messages", **where, content="@*helpers* hi"))["id"]
    for group_id in (helpers, cooks):
        await owner.patch(f"/user_groups/{group_id}", can_mention_group={"new": nobody})
    await alice.patch(f"/messages/{sent}", content="@*helpers* hello")
    refused = await alice.call("PATCH", f"/messages/{sent}", content="@*helpers* @*cooks*")
    assert "'cooks'" in refused.refused()["msg"]
    await alice.patch(f"/messages/{sent}", content="hello")
    (await alice.call("PATCH", f"/messages/{sent}", content="@*helpers* hello")).refused()


async def test_role_groups_are_mentioned_only_silently(alice, channel, make):
    group_id = (await make.role_groups())["role:members"]
    html = await rendered(alice, "@_*role:members*")
    assert html == (
        f'<p><span class="user-group-mention silent" data-user-group-id="{group_id}">'
        "Members</span></p>"
    )
    message = {"type": "direct", "to": [alice.user.user_id], "content": "@*role:members*"}
    refused = (await alice.call("POST", "/messages", **message)).refused()
    assert refused["msg"] == "You are not allowed to mention user group 'role:members'."


@pytest.mark.parametrize("sign", ["```", "~~~", "> ```", "* a\n  ```"])
async def test_code_without_a_language_has_that_of_the_organization(
    sign, alice, channel, make, log_in
):
    end = sign.rpartition("\n")[2].replace("* ", "  ")
    inside = end.rstrip("`~")
    content = f"{sign}\n{inside}x = 1\n{end}"
    before = await rendered(alice, content)
    assert "data-code-language" not in before
    where = {"type": "channel", "to": channel.channel_id, "topic": "t"}
    old = (await alice.post("/messages", **where, content=content))["id"]
    owner = await log_in(role=OWNER)
    await owner.patch("/realm", default_code_block_language="python")
    html = await rendered(alice, content)
    assert 'data-code-language="Python"' in html
    assert '<span class="mi">1</span>' in html
    sent = (await alice.post("/messages", **where, content=content))["id"]
    assert (await alice.get(f"/messages/{sent}"))["message"]["content"] == html
    assert (await alice.get(f"/messages/{old}"))["message"]["content"] == before
    for named in (content.replace(sign, sign + "ruby"), "    x = 1"):
        assert "Python" not in await rendered(alice, named)


@pytest.mark.parametrize("content", ["", "  \n", "x" * (MAX_MESSAGE_LENGTH + 1)])
async def test_what_could_not_be_sent_is_not_rendered(alice, content):
    (await alice.call("POST", "/messages/render", content=content)).refused()


async def test_without_content(alice, spectator):
    (await alice.call("POST", "/messages/render")).refused("REQUEST_VARIABLE_MISSING")
    answer = await (await spectator()).call("POST", "/messages/render", content="x")
    answer.refused("UNAUTHORIZED", 401)


async def test_links_lead_where_their_names_say_whatever_is_in_them(alice, make):
    names = ["plans", "plans>b", "a**b", "c`d", "me@7", "R&D"]
    ids = {name: (await make.channel(name)).channel_id for name in names}
    await make.channel("plans>secret", invite_only=True)
    topics = ["x", "x**y", "x@7", "x`y", "x>y"]
    for topic in topics:
        await alice.post("/messages", type="channel", to=ids["plans"], topic=topic, content="first")

    for name in names:
        assert f'data-stream-id="{ids[name]}"' in await rendered(alice, f"#**{name}**")
    for topic in topics:
        link = f'href="/#narrow/channel/{ids["plans"]}-plans/topic/'
        coded = topic.replace("*", ".2A").replace("@", ".40").replace("`", ".60")
        coded = coded.replace(">", ".3E")
        assert f'{link}{coded}"' in await rendered(alice, f"#**plans>{topic}** and **b**")
        assert f'{link}{coded}/near/9"' in await rendered(alice, f"#**plans>{topic}@9**")
    assert f'data-stream-id="{ids["plans>b"]}"' in await rendered(alice, "#**plans>b>x**")
    assert f'data-stream-id="{ids["plans"]}"' in await rendered(alice, "#**plans>secret**")


async def test_whether_a_topic_exists_shows_only_where_the_caller_may_read(log_in, make):
    inside = await log_in()
    admin = await log_in(role=OWNER)
    secret = await make.channel(
        "secret",
        invite_only=True,
        shares_history=True,
        subscribers=[inside.user],
    )
    await inside.post(
        "/messages", type="channel", to=secret.channel_id, topic="a**b", content="first"
    )
    assert 'topic/a.2A.2Ab"' in await rendered(inside, "#**secret>a**b**")
    shown = await rendered(admin, "#**secret>a**b**")
    assert 'topic/a"' in shown
    assert shown == (await rendered(admin, "#**secret>a**c**")).replace("c**", "b**")

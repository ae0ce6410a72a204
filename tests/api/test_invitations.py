"""Invitations over HTTP: who may invite which people, to which role and channels; and revoke."""

from dataclasses import replace
from datetime import timedelta

import pytest

from server.domain.access import ADMINISTRATOR, GUEST, MEMBER, MODERATOR, OWNER
from server.domain.bots import GENERIC
from server.domain.system_bots import WELCOME_BOT
from storage import groups, user_grants
from testkit.clients.api_keys import new_key
from testkit.clients.invitations import Reception, link_of
from testkit.factories import new_realm

pytestmark = pytest.mark.asyncio

DAY = 24 * 3600


async def listed(client):
    return (await client.get("/invites"))["invites"]


def words(emails="ada@example.com", **fields):
    return {"invitee_emails": emails, "stream_ids": [], **fields}


async def test_an_invitation_is_mailed_listed_and_taken_back(reception: Reception):
    news = await reception.make.channel("news")
    cooks = await reception.make.group("cooks", creator=reception.boss.user)
    queue = await reception.boss.register(event_types=["invites_changed"])
    await reception.boss.post(
        "/invites",
        **words(
            "Ada <ada@example.com>, bob@example.com\n ADA@example.com,,",
            stream_ids=[news.channel_id],
            group_ids=[cooks],
            invite_as=MODERATOR,
            include_realm_default_subscriptions=True,
            invite_expires_in_minutes=60,
            notify_referrer_on_join=False,
        ),
    )
    await queue.until("invites_changed")
    mails = await reception.mails(2)
    assert sorted(str(mail["To"]) for mail in mails) == ["ada@example.com", "bob@example.com"]
    assert {str(mail["Subject"]) for mail in mails} == {"Boss invites you to A realm"}
    assert len({link_of(mail) for mail in mails}) == 2

    bob, ada = await listed(reception.boss)
    assert reception.boss.user is not None
    assert ada == {
        "id": ada["id"],
        "invited_by_user_id": reception.boss.user.user_id,
        "invited": ada["invited"],
        "expiry_date": ada["expiry_date"],
        "invited_as": MODERATOR,
        "is_multiuse": False,
        "stream_ids": [news.channel_id],
        "group_ids": [cooks],
        "include_realm_default_subscriptions": True,
        "email": "ada@example.com",
        "notify_referrer_on_join": False,
    }
    assert ada["expiry_date"] - ada["invited"] == 3600
    await reception.boss.delete(f"/invites/{ada['id']}")
    await queue.until("invites_changed")
    assert await listed(reception.boss) == [bob]
    (await reception.boss.call("DELETE", f"/invites/{ada['id']}")).refused()
    (await reception.boss.call("POST", f"/invites/{ada['id']}/resend")).refused()


async def test_it_may_last_for_ever_or_as_long_as_the_server_says(reception: Reception):
    await reception.boss.post("/invites", **words("a@x.org", invite_expires_in_minutes="null"))
    await reception.boss.post("/invites", **words("b@x.org"))
    usual, endless = await listed(reception.boss)
    assert endless["expiry_date"] is None
    assert usual["expiry_date"] - usual["invited"] == 10 * DAY
    for minutes in (0, -1, 2**40, "x"):
        answer = await reception.boss.call(
            "POST", "/invites", **words("c@x.org", invite_expires_in_minutes=minutes)
        )
        assert answer.refused("REQUEST_VARIABLE_INVALID")["var_name"] == "invite_expires_in_minutes"


async def test_a_link_is_made_shown_again_and_taken_back(reception: Reception):
    made = (await reception.boss.post("/invites/multiuse", invite_as=GUEST))["invite_link"]
    [link] = await listed(reception.boss)
    assert (link["is_multiuse"], link["link_url"]) == (True, made)
    assert "email" not in link
    (await reception.boss.call("DELETE", f"/invites/{link['id']}")).refused()
    (await reception.boss.call("POST", f"/invites/{link['id']}/resend")).refused()
    await reception.boss.delete(f"/invites/multiuse/{link['id']}")
    assert await listed(reception.boss) == []


async def test_it_is_mailed_again_and_ends_when_it_would_have(reception: Reception):
    await reception.invited(invite_expires_in_minutes=60)
    [before] = await listed(reception.boss)
    await reception.boss.post(f"/invites/{before['id']}/resend")
    first, second = await reception.mails(2)
    assert first["Message-ID"] != second["Message-ID"]
    assert await listed(reception.boss) == [before]
    browser = await reception.visitor()
    assert [(await browser.look(link_of(mail))).status for mail in (first, second)] == [200, 200]


async def test_inviting_to_a_role_above_ones_own_is_refused(reception: Reception):
    make = reception.make
    for role in (OWNER, ADMINISTRATOR, MODERATOR, MEMBER):
        client = await reception.client(await make.user(role=role))
        for wanted in (OWNER, ADMINISTRATOR, MODERATOR, MEMBER, GUEST):
            answer = await client.call(
                "POST", "/invites", **words(f"{role}.{wanted}@x.org", invite_as=wanted)
            )
            assert (answer.status == 200) == (wanted >= role), (role, wanted)
    guest = await reception.client(await make.user(role=GUEST))
    (await guest.call("POST", "/invites", **words(invite_as=GUEST))).refused()
    (await reception.boss.call("POST", "/invites", **words(invite_as=500))).refused()


async def test_who_may_invite_is_for_settings_to_say(reception: Reception):
    make = reception.make
    member = await reception.client(await make.user())
    (await member.call("POST", "/invites/multiuse")).refused()
    groups = await make.role_groups()
    await make.change_settings(
        can_invite_users_group=groups["role:administrators"],
        create_multiuse_invite_group=groups["role:members"],
    )
    reception.server.forget(make.realm_id)
    (await member.call("POST", "/invites", **words())).refused()
    await member.post("/invites/multiuse")


async def test_channels_and_groups_are_those_to_which_one_may_add(reception: Reception):
    make = reception.make
    ada = await make.user("Ada")
    secret = await make.channel("secret", invite_only=True)
    old = await make.channel("old", is_archived=True)
    news, basic = await make.channel("news"), await make.channel("basic", is_default=True)
    other = await new_realm(make.connection)
    elsewhere = await other.channel("elsewhere")
    cooks = await make.group("cooks", creator=reception.boss.user)
    member = await reception.client(ada)
    for channel in (secret, old, elsewhere):
        fields = {"stream_ids": [news.channel_id, channel.channel_id]}
        (await member.call("POST", "/invites", **words(**fields))).refused()
    (await member.call("POST", "/invites", **words(group_ids=[cooks]))).refused()
    system = (await make.role_groups())["role:members"]
    (await reception.boss.call("POST", "/invites", **words(group_ids=[system]))).refused()
    (await member.call("POST", "/invites", invitee_emails="a@x.org")).refused(
        "REQUEST_VARIABLE_MISSING"
    )
    await member.post("/invites", **words(stream_ids=[news.channel_id, basic.channel_id]))

    groups = await make.role_groups()
    await make.change_settings(can_add_subscribers_group=groups["role:administrators"])
    reception.server.forget(make.realm_id)
    for channel in (news, basic):
        fields = {"stream_ids": [channel.channel_id]}
        (await member.call("POST", "/invites", **words("b@x.org", **fields))).refused()
    await member.post("/invites", **words("b@x.org"))
    assert [each["email"] for each in await listed(member)] == ["b@x.org", "ada@example.com"]


async def test_addresses_with_accounts_are_passed_over_and_the_others_invited(
    reception: Reception,
):
    make = reception.make
    await make.user("Ada", email="ada@example.com")
    gone = await make.user("Gone", email="gone@example.com")
    await make.connection.execute(
        "UPDATE users SET is_active = false WHERE user_id = %(id)s", id=gone.user_id
    )
    answer = await reception.boss.call(
        "POST", "/invites", **words("ADA@example.com, gone@example.com, new@example.com")
    )
    failed = answer.refused("INVITATION_FAILED")
    assert failed["errors"] == [
        ["ADA@example.com", "Already has an account.", False],
        ["gone@example.com", "Account has been deactivated.", True],
    ]
    flags = ("sent_invitations", "daily_limit_reached", "license_limit_reached")
    assert [failed[name] for name in flags] == [True, False, False]
    assert [each["email"] for each in await listed(reception.boss)] == ["new@example.com"]
    answer = await reception.boss.call("POST", "/invites", **words("ada@example.com"))
    assert answer.refused("INVITATION_FAILED")["sent_invitations"] is False


async def test_addresses_that_cannot_be_stop_all(reception: Reception):
    for emails in ("", " ,\n", "a@x.org\n" * 0):
        (await reception.boss.call("POST", "/invites", **words(emails))).refused()
    for wrong in ("nonsense", "a b@x.org", "a@", "@x.org", "Ada <>", "x" * 300 + "@x.org"):
        answer = await reception.boss.call("POST", "/invites", **words(f"a@x.org,{wrong}"))
        failed = answer.refused("INVITATION_FAILED")
        assert failed["sent_invitations"] is False
        assert len(failed["errors"]) == 1
    await reception.make.change_settings(emails_restricted_to_domains=True)
    await reception.make.connection.execute(
        """
        INSERT INTO realm_domains (realm_id, domain, allow_subdomains)
        VALUES (%(realm_id)s, 'example.com', true)
        """,
        realm_id=reception.make.realm_id,
    )
    reception.server.forget(reception.make.realm_id)
    for wrong in ("a@x.org", "a+b@example.com", "a@badexample.com"):
        answer = await reception.boss.call("POST", "/invites", **words(wrong))
        assert answer.refused("INVITATION_FAILED")["errors"][0][0] == wrong
    await reception.boss.post("/invites", **words("a@example.com, b@in.example.com"))
    assert len(await listed(reception.boss)) == 2


async def test_disposable_addresses_are_not_invited_where_disallowed(reception: Reception):
    answer = await reception.boss.call("POST", "/invites", **words("a@mailinator.com"))
    [[email, reason, _]] = answer.refused("INVITATION_FAILED")["errors"]
    assert (email, "disposable" in reason) == ("a@mailinator.com", True)
    await reception.make.change_settings(disallow_disposable_email_addresses=False)
    reception.server.forget(reception.make.realm_id)
    await reception.boss.post("/invites", **words("a@mailinator.com"))


async def test_a_user_created_by_an_admin_is_greeted_like_an_invited_one(reception: Reception):
    boss = await reception.person(str(reception.boss.email))
    await user_grants.grant(
        reception.make.connection, reception.make.realm_id, boss.user_id, create_users=True
    )
    await reception.boss.post(
        "/users", email="cook@example.com", full_name="Cook", password="correct horse battery"
    )
    cook = await reception.client(await reception.person("cook@example.com"))
    [(sender, content)] = await reception.said_to(cook, 1)
    assert sender == WELCOME_BOT.full_name
    assert "Hello Cook" in content


async def test_so_many_are_mailed_in_a_day(serving_with, make, connect):
    boss = await make.user(role=ADMINISTRATOR)
    async with serving_with(
        invitations_per_day=3, smtp_host="127.0.0.1", smtp_security="none"
    ) as server:
        client = await connect(server, make.realm_id, boss)
        await client.post("/invites", **words("a@x.org, b@x.org"))
        failed = (await client.call("POST", "/invites", **words("c@x.org, d@x.org"))).refused(
            "INVITATION_FAILED"
        )
        assert (failed["daily_limit_reached"], failed["sent_invitations"]) == (True, False)
        one, two = await listed(client)
        await client.delete(f"/invites/{two['id']}")
        await client.post(f"/invites/{one['id']}/resend")
        answer = await client.call("POST", f"/invites/{one['id']}/resend")
        assert answer.refused("INVITATION_FAILED")["daily_limit_reached"] is True
        await make.connection.execute(
            "UPDATE invitations SET mailed_at = mailed_at - %(day)s", day=timedelta(days=1)
        )
        await client.post("/invites", **words("e@x.org, f@x.org, g@x.org"))


async def test_without_mail_there_are_links_alone(server, log_in):
    boss = await log_in(role=ADMINISTRATOR)
    (await boss.call("POST", "/invites", **words())).refused()
    await boss.post("/invites/multiuse")


async def test_who_sees_and_takes_back_which(reception: Reception):
    make = reception.make
    rows = {name: await make.user(name) for name in ("Ada", "Bob")}
    owner = await reception.client(await make.user(role=OWNER))
    ada, bob = [await reception.client(row) for row in rows.values()]
    guest = await reception.client(await make.user(role=GUEST))
    await ada.post("/invites", **words("of.ada@x.org"))
    await bob.post("/invites", **words("of.bob@x.org"))
    await owner.post("/invites", **words("of.owner@x.org", invite_as=OWNER))
    clients = (owner, reception.boss, ada, bob, guest)
    seen = [[each["email"] for each in await listed(client)] for client in clients]
    below = ["of.bob@x.org", "of.ada@x.org"]
    assert seen == [["of.owner@x.org", *below], below, below[1:], below[:1], []]
    ids = {each["email"]: each["id"] for each in await listed(owner)}
    (await bob.call("DELETE", f"/invites/{ids['of.ada@x.org']}")).refused()
    (await reception.boss.call("DELETE", f"/invites/{ids['of.owner@x.org']}")).refused()
    await ada.delete(f"/invites/{ids['of.ada@x.org']}")
    await reception.boss.delete(f"/invites/{ids['of.bob@x.org']}")
    await owner.delete(f"/invites/{ids['of.owner@x.org']}")
    assert await listed(owner) == []


async def test_links_to_a_role_above_ones_own_are_hidden(log_in, make):
    owner, other = [await log_in(role=OWNER) for _ in range(2)]
    boss = await log_in(role=ADMINISTRATOR)
    queues = [await each.register(event_types=["invites_changed"]) for each in (other, boss)]
    await owner.post("/invites/multiuse", invite_as=OWNER)
    told = [await queue.poll(dont_block=True) for queue in queues]
    assert [len(events) for events in told] == [1, 0]
    await owner.post("/invites/multiuse", invite_as=ADMINISTRATOR)
    await queues[1].until("invites_changed")
    to_administrator, to_owner = await listed(other)
    assert (to_administrator["invited_as"], to_owner["invited_as"]) == (ADMINISTRATOR, OWNER)
    assert await listed(boss) == [to_administrator]
    refused = await boss.call("DELETE", f"/invites/multiuse/{to_owner['id']}")
    assert refused.refused()["msg"] == "No such invitation"

    # An administrator cannot make owners, so the link of an owner who becomes one ends.
    await owner.patch(f"/users/{owner.user.user_id}", role=ADMINISTRATOR)
    assert await listed(owner) == [to_administrator]


async def test_links_are_not_for_keys_that_read(log_in, make):
    boss = await log_in(role=ADMINISTRATOR)
    made = (await boss.post("/invites/multiuse", stream_ids=[]))["invite_link"]
    [link] = await listed(boss)
    shown = {}
    for scope in ("read", "everything"):
        key = await new_key(boss, scope)
        [shown[scope]] = await listed(replace(boss, api_key=key["api_key"]))
    assert (shown["everything"], link["link_url"]) == (link, made)
    del link["link_url"]
    assert shown["read"] == link


async def test_bots_look_after_no_invitations_but_their_own(log_in, make):
    boss = await log_in(role=ADMINISTRATOR)
    row = await make.user("Robot", role=ADMINISTRATOR, bot_type=GENERIC, bot_owner=boss.user)
    bot = await log_in(row)
    await boss.post("/invites/multiuse", stream_ids=[])
    [of_boss] = await listed(boss)
    assert await listed(bot) == []
    (await bot.call("DELETE", f"/invites/multiuse/{of_boss['id']}")).refused()
    await bot.post("/invites/multiuse", stream_ids=[])
    [own] = await listed(bot)
    assert await listed(boss) == [own, of_boss]
    await bot.delete(f"/invites/multiuse/{own['id']}")


async def test_only_inviters_and_administrators_are_told(reception: Reception):
    ada, bob = [await reception.client(await reception.make.user(name)) for name in ("Ada", "Bob")]
    queues = [await c.register(event_types=["invites_changed"]) for c in (reception.boss, ada, bob)]
    await ada.post("/invites", **words("x@x.org"))
    told = [await queue.poll(dont_block=True) for queue in queues]
    kinds = [[each["type"] for each in events if each["type"] != "heartbeat"] for events in told]
    assert kinds == [["invites_changed"], ["invites_changed"], []]


async def test_the_welcome_message_is_tried_out(log_in, make):
    await make.system_bot(WELCOME_BOT)
    boss, member = await log_in(role=ADMINISTRATOR), await log_in()
    sent = await boss.post(
        "/realm/test_welcome_bot_custom_message", welcome_message_custom_text="**Hello**"
    )
    path = "/realm/test_welcome_bot_custom_message"
    message = (await boss.get(f"/messages/{sent['message_id']}"))["message"]
    assert message["sender_email"] == WELCOME_BOT.email
    assert message["content"] == "<p><strong>Hello</strong></p>"
    (await boss.call("POST", path, welcome_message_custom_text=" ")).refused()
    (await boss.call("POST", path, welcome_message_custom_text="x" * 8_001)).refused(
        "REQUEST_VARIABLE_INVALID"
    )
    (await member.call("POST", path, welcome_message_custom_text="x")).refused()


async def test_who_invites_and_takes_back_is_kept_without_addresses(reception: Reception):
    boss = reception.boss
    await boss.post("/invites", **words(invite_as=MODERATOR))
    [mailed] = await listed(boss)
    await boss.post(f"/invites/{mailed['id']}/resend")
    (await boss.call("DELETE", f"/invites/{mailed['id']}")).succeeded()
    await boss.post("/invites/multiuse", stream_ids=[], invite_as=MEMBER)
    [link] = await listed(boss)
    found = (await boss.get("/realm/audit_log"))["entries"]
    kept = [(each["action"], each["after"]) for each in reversed(found)]
    assert boss.user is not None
    sent, inviter = {"invitation_ids": [mailed["id"]]}, {"inviter_id": boss.user.user_id}
    assert kept == [
        ("invitations_sent", {**sent, "role": MODERATOR}),
        ("invitation_resent", {**sent, **inviter}),
        ("invitation_revoked", {**sent, **inviter}),
        ("invitation_link_made", {"invitation_ids": [link["id"]], "role": MEMBER}),
    ]
    assert {each["actor_id"] for each in found} == {boss.user.user_id}


async def invitations_of(reception: Reception, inviter) -> dict[str, int]:
    """Three open invitations of the inviter, by the role or the kind of each."""
    for email, role in (("mod@x.org", MODERATOR), ("member@x.org", MEMBER)):
        await inviter.post("/invites", **words(email, invite_as=role))
    await inviter.post("/invites/multiuse", invite_as=MEMBER)
    found = await listed(reception.boss)
    return {each.get("email", "link"): each["id"] for each in found}


@pytest.mark.parametrize(
    ("fields", "kept"),
    [(None, set()), ({"role": MEMBER}, {"member@x.org"}), ({"role": GUEST}, set())],
    ids=["deactivated", "member", "guest"],
)
async def test_invitations_end_with_what_their_inviter_may_do(reception, fields, kept):
    make = reception.make
    system = await groups.system_ids(make.connection, make.realm_id)
    await make.change_settings(create_multiuse_invite_group=system["role:moderators"])
    moderator = await reception.client(await reception.make.user(role=MODERATOR))
    await reception.boss.post("/invites", **words("boss@x.org", invite_as=MODERATOR))
    made = await invitations_of(reception, moderator)
    links = {str(mail["To"]): link_of(mail) for mail in await reception.mails(3)}
    queue = await reception.boss.register(event_types=["invites_changed"])
    place = f"/users/{moderator.user.user_id}"
    if fields is None:
        await reception.boss.delete(place)
    else:
        await reception.boss.patch(place, **fields)

    await queue.until("invites_changed")
    left = {each.get("email", "link") for each in await listed(reception.boss)}
    assert left == kept | {"boss@x.org"}
    for name in made.keys() - left:
        (await reception.boss.call("POST", f"/invites/{made[name]}/resend")).refused()
        (await reception.boss.call("DELETE", f"/invites/{made[name]}")).refused()
    for email, link in links.items():
        page = await (await reception.visitor()).look(link)
        assert (page.status == 200) is (email in left), email
    if fields is None:
        await reception.boss.post(f"{place}/reactivate")
        assert {each.get("email", "link") for each in await listed(reception.boss)} == left

"""A new user follows an invitation, chooses a name and a password, and is in."""

import asyncio
from datetime import timedelta

import pytest

from server.actions.user_activation import deactivate_user
from server.domain.access import ADMINISTRATOR, GUEST, MEMBER
from server.domain.sessions import digest_of
from storage import invitations, subscriptions
from storage.ids import InvitationId
from testkit.clients.invitations import Reception, link_of
from testkit.clients.page_client import PASSWORD, Visitor
from testkit.factories import new_realm

pytestmark = pytest.mark.asyncio


async def join(browser: Visitor, link: str, **fields: str):
    token = link.rpartition("/")[2]
    await browser.look(f"/join/{token}")
    chosen = {"full_name": "Ada", "new_password": PASSWORD, **fields}
    return await browser.submit(f"/join/{token}", **chosen)


async def names_of_channels(reception: Reception, email: str) -> set[str]:
    row = await reception.person(email)
    make = reception.make
    rows = await subscriptions.of_users(make.connection, make.realm_id, [row.user_id])
    ids = {each.channel_id for each in rows if each.active}
    found = await make.connection.tuples(
        "SELECT channel_id, name FROM channels WHERE realm_id = %(realm_id)s",
        realm_id=make.realm_id,
    )
    return {name for channel_id, name in found if channel_id in ids}


async def test_a_new_user_joins_with_all_that_was_promised(reception: Reception):
    make = reception.make
    await make.channel("basic", is_default=True)
    news = await make.channel("news")
    cooks = await make.group("cooks", creator=reception.boss.user)
    await make.change_settings(welcome_message_custom_text="The organization's")
    reception.server.forget(make.realm_id)
    boss = reception.boss
    queue = await boss.register(event_types=["realm_user", "invites_changed"])
    link = await reception.invited(
        stream_ids=[news.channel_id],
        group_ids=[cooks],
        include_realm_default_subscriptions=True,
        welcome_message_custom_text="Bring **cake**.",
    )
    browser = await reception.visitor()
    assert (await browser.look(link)).status == 200
    assert "Boss has invited you." in browser.text
    assert 'value="ada@example.com"' in browser.page
    answer = await join(browser, link, full_name=" Ada  Lovelace ", email="eve@example.com")
    assert answer.headers["Location"] == "/"
    await browser.follow(answer)
    assert "You are signed in" in browser.text
    assert "Ada Lovelace" in browser.text

    assert (await queue.until("realm_user"))["person"]["full_name"] == "Ada Lovelace"
    row = await reception.person("ada@example.com")
    assert (row.full_name, row.role) == ("Ada Lovelace", MEMBER)
    assert await names_of_channels(reception, "ada@example.com") == {"basic", "news"}
    client = await reception.client(row)
    [group] = [
        each for each in (await client.get("/user_groups"))["user_groups"] if each["id"] == cooks
    ]
    assert group["members"] == [row.user_id]
    welcome, custom = await reception.said_to(client, 2)
    assert (welcome[0], custom) == ("Welcome Bot", ("Welcome Bot", "Bring **cake**."))
    assert "Ada Lovelace, and welcome to A realm" in welcome[1]
    told = await reception.said_to(boss, 1)
    accepted = f"@_**Ada Lovelace|{row.user_id}** accepted your invitation to join."
    assert told == [("Notification Bot", accepted)]
    assert (await boss.get("/invites"))["invites"] == []

    another = await reception.visitor()
    await another.sign_in("ada@example.com", PASSWORD)


async def test_all_inviters_are_told_that_their_guest_came(reception: Reception):
    make = reception.make
    others = [await reception.client(await make.user(name)) for name in ("Bob", "Eve")]
    queues = []
    for other in others:
        await reception.invited(other)
        queues.append(await other.register(event_types=["invites_changed"]))
    await join(await reception.visitor(), await reception.invited())
    for other, queue in zip(others, queues, strict=True):
        await queue.until("invites_changed")
        assert (await other.get("/invites"))["invites"] == []


async def test_a_channel_is_told_who_has_joined(reception: Reception):
    make, boss = reception.make, reception.boss
    assert boss.user is not None
    channel = await make.channel("people", subscribers=[boss.user])
    await make.change_settings(signup_announcements_stream_id=channel.channel_id)
    reception.server.forget(make.realm_id)
    queue = await boss.register(event_types=["message"], apply_markdown=False)
    await join(await reception.visitor(), await reception.invited(), full_name="Ada Lovelace")
    row = await reception.person("ada@example.com")
    told = (await queue.until("message"))["message"]
    while told["type"] != "stream":
        told = (await queue.until("message"))["message"]
    assert (told["sender_full_name"], told["stream_id"], told["subject"]) == (
        "Notification Bot",
        channel.channel_id,
        "signups",
    )
    assert told["content"] == f"@_**Ada Lovelace|{row.user_id}** joined this organization."


async def test_an_archived_channel_is_told_nothing_of_who_has_joined(reception: Reception):
    make, boss = reception.make, reception.boss
    assert boss.user is not None
    channel = await make.channel("people", subscribers=[boss.user])
    await make.change_settings(signup_announcements_stream_id=channel.channel_id)
    await make.connection.execute(
        "UPDATE channels SET is_archived = true WHERE channel_id = %(channel_id)s",
        channel_id=channel.channel_id,
    )
    reception.server.forget(make.realm_id)
    await join(await reception.visitor(), await reception.invited())
    # What the inviter is told comes last.
    assert len(await reception.said_to(boss, 1)) == 1
    found = await make.connection.tuples("SELECT content FROM messages")
    assert not [said for (said,) in found if "joined this organization" in said]


async def test_it_is_used_once_even_by_two_at_once(reception: Reception):
    link = await reception.invited()
    browsers = [await reception.visitor() for _ in range(3)]
    for browser in browsers:
        await browser.look(link)
    answers = await asyncio.gather(
        *(browser.submit(link, full_name="Ada", new_password=PASSWORD) for browser in browsers)
    )
    assert sorted(answer.status for answer in answers) == [303, 404, 404]
    again = await reception.visitor()
    assert (await again.look(link)).status == 404
    assert "This invitation has been used." in again.problem


async def test_links_that_lead_nowhere_say_why(reception: Reception):
    make, boss = reception.make, reception.boss
    browser = await reception.visitor()

    async def says(link: str, sentence: str) -> None:
        for answer in (await browser.look(link), await browser.post(link, full_name="Ada")):
            assert answer.status in (403, 404)
        await browser.look(link)
        assert sentence in browser.problem

    link = await reception.invited()
    number, _, secret = link.rpartition("/")[2].partition(".")
    forged = f"{number}.{secret[:-1]}{'A' if secret[-1] != 'A' else 'B'}"
    for token in (forged, f"999999.{secret}", "nonsense", f"{number}.", "1" * 40):
        await says(f"/join/{token}", "not one of ours")
    [listed] = (await boss.get("/invites"))["invites"]
    await boss.delete(f"/invites/{listed['id']}")
    await says(link, "was revoked")

    link = await reception.invited(invite_expires_in_minutes=1)
    await make.connection.execute(
        "UPDATE invitations SET ends_at = now() - %(second)s WHERE state = 'open'",
        second=timedelta(seconds=1),
    )
    await says(link, "has ended")


async def test_the_inviter_is_looked_at_again(reception: Reception):
    make, app = reception.make, reception.server.app
    inviter = await make.user("Inviter", role=ADMINISTRATOR)
    client = await reception.client(inviter)
    link = await reception.invited(client, invite_as=ADMINISTRATOR)
    browser = await reception.visitor()
    await browser.look(link)
    await make.connection.execute(
        "UPDATE users SET role = %(member)s WHERE user_id = %(id)s",
        member=MEMBER,
        id=inviter.user_id,
    )
    answer = await browser.submit(link, full_name="Ada", new_password=PASSWORD)
    assert answer.status == 404
    assert "may not invite people any more" in browser.problem
    assert (await browser.look(link)).status == 404

    link = await reception.invited(client)
    now = app.clock.now()
    writer = app.writers.of(make.realm_id)
    await writer.write(lambda tx: deactivate_user(tx, inviter.user_id, now=now))
    assert (await browser.look(link)).status == 404
    assert "may not invite people any more" in browser.problem


async def test_what_the_inviter_may_no_longer_give_is_left_out(reception: Reception):
    make = reception.make
    inviter = await make.user("Inviter")
    client = await reception.client(inviter)
    news, secret = [
        await make.channel(name, subscribers=[inviter], invite_only=name == "secret")
        for name in ("news", "secret")
    ]
    gone = await make.channel("gone")
    ids = [channel.channel_id for channel in (news, secret, gone)]
    link = await reception.invited(client, stream_ids=ids, invite_as=GUEST)
    await make.unsubscribe(secret, [inviter])
    await make.archive(gone)
    reception.server.forget(make.realm_id)
    assert (await join(await reception.visitor(), link)).status == 303
    assert await names_of_channels(reception, "ada@example.com") == {"news"}
    assert (await reception.person("ada@example.com")).role == GUEST


async def test_who_has_an_account_is_told_to_sign_in(reception: Reception):
    link = await reception.invited()
    browser = await reception.visitor()
    await browser.look(link)
    ada = await reception.make.user("Ada", email="Ada@example.com")
    reception.server.forget(reception.make.realm_id)
    answer = await browser.submit(link, full_name="Ada", new_password=PASSWORD)
    assert answer.status == 400
    assert "has an account here already" in browser.problem
    await browser.look(link)
    assert 'href="/login/"' in browser.page
    await reception.make.connection.execute(
        "UPDATE users SET is_active = false WHERE user_id = %(id)s", id=ada.user_id
    )
    answer = await (late := await reception.visitor()).look(link)
    assert answer.status == 400
    assert "is deactivated" in late.problem


async def test_domains_that_were_restricted_since_are_refused(reception: Reception):
    link = await reception.invited()
    await reception.make.change_settings(emails_restricted_to_domains=True)
    reception.server.forget(reception.make.realm_id)
    browser = await reception.visitor()
    assert (await browser.look(link)).status == 400
    assert "not allowed in this organization" in browser.problem


async def test_what_is_typed_wrong_is_shown_again(reception: Reception):
    link = await reception.invited()
    browser = await reception.visitor()
    for name, password in (
        ("Ada|7", PASSWORD),
        ("@all", PASSWORD),
        ("Ada", "short"),
        ("Ada", ""),
        ("Ada", "password1"),
    ):
        answer = await join(browser, link, full_name=name, new_password=password)
        assert answer.status == 400
        assert browser.problem
        assert f'value="{name}"' in browser.page
    assert (await browser.submit(link, full_name="Ada", new_password=PASSWORD)).status == 303


async def test_other_organizations_and_closed_ones_take_no_user(reception: Reception):
    link = await reception.invited()
    other = await new_realm(reception.make.connection)
    there = Visitor(await reception.connect(reception.server, other.realm_id))
    assert (await there.look(link)).status == 404
    await reception.make.connection.execute(
        "UPDATE realms SET deactivated = true WHERE realm_id = %(id)s",
        id=reception.make.realm_id,
    )
    reception.server.forget(reception.make.realm_id)
    browser = await reception.visitor()
    assert (await browser.look(link)).status in (401, 403, 404)
    assert "deactivated" in browser.problem


async def test_a_link_takes_all_users_with_confirmed_addresses(reception: Reception):
    made = (await reception.boss.post("/invites/multiuse", invite_as=GUEST))["invite_link"]
    place = made.partition("://")[2].partition("/")[2]
    for email in ("ada@example.com", "bob@example.com"):
        browser, count = await reception.visitor(), len(reception.sink.mails)
        await browser.look(f"/{place}")
        assert "Boss has made this link." in browser.text
        assert "You join as a guest" in browser.text
        await browser.follow(await browser.submit(f"/{place}", email=email))
        assert "Read your email" in browser.text
        mail = (await reception.mails(count + 1))[-1]
        assert str(mail["To"]) == email
        words = mail.get_body(("plain",))
        assert words is not None
        assert "was entered at a link of Boss" in words.get_content()
        assert (await join(browser, link_of(mail))).status == 303
        assert (await reception.person(email)).role == GUEST
    [listed] = (await reception.boss.get("/invites"))["invites"]
    assert listed["is_multiuse"] is True

    wrong = await reception.visitor()
    await wrong.look(f"/{place}")
    assert (await wrong.submit(f"/{place}", email="nonsense")).status == 400
    assert (await wrong.submit(f"/{place}", email="ADA@example.com")).status == 400
    assert "has an account here already" in wrong.problem
    await wrong.look(f"/{place}")
    await wrong.submit(f"/{place}", email="cyd@example.com")
    late = link_of((await reception.mails(3))[-1])
    await wrong.look(late)
    await reception.boss.delete(f"/invites/multiuse/{listed['id']}")
    answer = await wrong.submit(late, full_name="Cyd", new_password=PASSWORD)
    assert answer.status == 404
    for link in (f"/{place}", late):
        assert (await wrong.look(link)).status == 404
        assert "was revoked" in wrong.problem


async def test_secrets_are_in_mails_alone(reception: Reception):
    link = await reception.invited()
    secret = link.rpartition(".")[2]
    make = reception.make
    number = InvitationId(int(link.rpartition("/")[2].partition(".")[0]))
    row = await invitations.by_id(make.connection, make.realm_id, number)
    assert row is not None
    assert [bytes(each) for each in row.token_digests] == [digest_of(secret)]
    logged = await make.connection.values(
        "SELECT convert_from(body, 'UTF8') FROM event_log WHERE body IS NOT NULL"
    )
    assert logged
    assert not any(secret in str(each) for each in logged)

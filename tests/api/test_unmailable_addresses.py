"""Addresses that mail cannot reach are refused wherever one is given."""

import pytest

from server.domain.access import OWNER
from testkit.clients.invitations import Reception
from testkit.clients.page_client import PASSWORD, give_password

pytestmark = pytest.mark.asyncio

UNREACHABLE = ("jörg@example.com", "王@example.com", "пётр@пример.рф", "ﬀ@example.com")
REACHABLE = ("joerg@bücher.example", "wang@例え.jp")


async def given_everywhere(reception: Reception, owner, email: str) -> dict[str, bool]:
    """Give the address at every entry; whether each took it."""
    made = await owner.post("/invites/multiuse", invite_as=400)
    join = "/" + made["invite_link"].split("/", 3)[3]
    taken = {}
    for place in (join, "/register"):
        browser = await reception.visitor()
        await browser.look(place)
        answer = await browser.submit(place, email=email)
        taken[place] = answer.status < 400 and not browser.problem
    for method, path, fields in (
        ("POST", "/invites", {"invitee_emails": email, "stream_ids": []}),
        ("PATCH", "/settings", {"email": email, "old_password": PASSWORD}),
    ):
        taken[path] = (await owner.call(method, path, **fields)).status == 200
    return taken


@pytest.mark.parametrize("email", UNREACHABLE + REACHABLE)
async def test_an_address_is_taken_everywhere_or_nowhere(reception: Reception, email):
    await reception.make.change_settings(invite_required=False)
    reception.server.forget(reception.make.realm_id)
    row = await reception.make.user(role=OWNER)
    await give_password(reception.make, row)
    owner = await reception.client(row)
    taken = await given_everywhere(reception, owner, email)
    assert set(taken.values()) == {email in REACHABLE}, taken
    if email in UNREACHABLE:
        assert reception.sink.mails == []
        invitations = (await owner.get("/invites"))["invites"]
        assert [each for each in invitations if not each["is_multiuse"]] == []
        facts = {"email": email, "full_name": "王", "password": "correct horse battery"}
        (await owner.call("POST", "/users", **facts)).refused()


@pytest.mark.parametrize("name", ["王", "E", "Ø"])
async def test_a_name_may_have_one_letter(log_in, name):
    client = await log_in()
    await client.patch("/settings", full_name=name)
    assert (await client.get("/users/me"))["full_name"] == name

"""Every act that changes an account's credentials, against everything that may be pending."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest
import pytest_asyncio

from server.actions.credential_changes import Extent
from server.actions.directory_people import write_as_directory_does
from server.actions.passwords import set_password
from server.actions.realm_exports import ask_for_export, keep_export
from server.actions.user_activation import deactivate_user, reactivate_user
from server.domain.access import OWNER
from server.domain.account_news import AccountNews, AddressChanged, Closed, KeysReplaced
from server.domain.account_news import PasswordChanged as Changed
from server.domain.credential_changes import Ended
from server.domain.realm_exports import KEYS
from server.events.realm_exports import ShownExport
from server.jobs import AccountEmail, ConfirmationEmail
from storage import credentials, realm_exports, sessions, users
from storage.blobs import new_key
from storage.users import UserRow
from testkit.clients.api import Client
from testkit.clients.api_keys import new_key as new_named_key
from testkit.clients.mailing_server import Posting
from testkit.clients.page_client import PASSWORD, Visitor, give_password
from testkit.factories import Make
from testkit.services.oauth_provider import CLIENT_ID, SECRET, Provider

pytestmark = pytest.mark.asyncio

NEW = "another good password"
ELSEWHERE = "mallory@example.net"
"""To which a change of the address is pending."""
MOVED = "olga@new.example.org"

Works = Callable[[], Awaitable[bool]]


@dataclass
class World:
    """An owner's account with a password, signed in twice, and a browser that is not."""

    posting: Posting
    make: Make
    provider: Provider
    olga: UserRow
    client: Client
    own: Visitor
    stranger: Visitor
    admin: Client
    held: list[ConfirmationEmail] = field(default_factory=list)
    """Mails that are asked for, and not written yet."""

    async def write(self, action: Callable[[Any], Awaitable[Any]]) -> Any:
        server = self.posting.server
        return await server.app.writers.of(self.make.realm_id).write(action)

    async def row(self) -> UserRow:
        rows = await users.by_ids(self.make.connection, self.make.realm_id, [self.olga.user_id])
        return rows[0]

    async def by_session(self, method: str, path: str, **fields: str) -> Any:
        """A request to the JSON API in the own browser's session."""
        headers = {
            "Content-Type": "application/x-www-form-urlencoded",
            "X-CSRFToken": self.own.cookies["csrftoken"],
        }
        body = urlencode(fields).encode()
        return await self.own.send(method, path, body=body, headers=headers)

    async def asked(self, *, is_mailed: bool) -> str | None:
        """The link of the one mail that was just asked for, if it is written already."""
        [job] = [job for job in await self.posting.jobs() if isinstance(job, ConfirmationEmail)]
        if not is_mailed:
            self.held.append(job)
            return None
        await self.posting.send(job)
        return self.posting.link(self.posting.sink.mails[-1])

    async def link_works(self, link: str | None, job: ConfirmationEmail | None) -> bool:
        """Whether the link leads to a form; of a mail that was held, after it is written."""
        if link is None:
            assert job is not None
            before = len(self.posting.sink.mails)
            await self.posting.send(job)
            if len(self.posting.sink.mails) == before:
                return False
            link = self.posting.link(self.posting.sink.mails[-1])
        answer = await self.stranger.look(link)
        return answer.status == 200

    async def forget(self) -> None:
        self.posting.server.forget(self.make.realm_id)


@pytest.fixture
def posting_settings(provider: Provider) -> dict[str, object]:
    own = {"client_id": CLIENT_ID, "client_secret": SECRET, "issuer": provider.url, "label": "Own"}
    return {"sign_in_providers": {"own": own}}


@pytest_asyncio.fixture
async def server(posting: Posting, make: Make, provider: Provider) -> Any:
    await make.change_settings(authentication_methods=["Email", "OpenID Connect"])
    posting.server.forget(make.realm_id)
    return posting.server


@pytest_asyncio.fixture
async def world(
    server: Any, posting: Posting, make: Make, provider: Provider, visitor: Any, log_in: Any
) -> World:
    olga = await make.user("Olga", email="olga@example.com", role=OWNER)
    await give_password(make, olga)
    client = await log_in(olga)
    own, elsewhere = await visitor(), await visitor()
    for browser in (own, elsewhere):
        await browser.sign_in(olga.email, PASSWORD)
    admin = await log_in(role=OWNER)
    found = World(posting, make, provider, olga, client, own, await visitor(), admin)
    await new_named_key(client, "read")
    await client.post("/users/me/android_gcm_reg_id", token="a phone of hers")
    await posting.jobs()  # of signing in: not what is asked here
    return found


# -- what is pending


async def address_change(world: World, *, is_mailed: bool) -> Works:
    await world.own.look("/account")
    await world.own.submit("/account/email", email=ELSEWHERE, password=PASSWORD)
    link = await world.asked(is_mailed=is_mailed)
    job = world.held[-1] if world.held else None
    return lambda: world.link_works(link, job)


async def reset(world: World, *, is_mailed: bool) -> Works:
    await world.stranger.look("/accounts/password/reset")
    # Not in the letters of the account, as people type it.
    await world.stranger.submit("/accounts/password/reset", email=world.olga.email.upper())
    link = await world.asked(is_mailed=is_mailed)
    job = world.held[-1] if world.held else None
    return lambda: world.link_works(link, job)


async def flow(world: World, *, is_mailed: bool) -> Works:
    """A sign-in at another site, from which the browser has not come back."""
    del is_mailed
    browser = Visitor(world.stranger.client)
    answer = await browser.look("/accounts/login/social/own")
    back = world.provider.sign_in(answer.headers["Location"])

    async def works() -> bool:
        email = (await world.row()).email
        world.provider.claims = {"email": email, "email_verified": True, "name": "Olga"}
        await browser.look(back)
        return "parley_session" in browser.cookies

    return works


async def export_link(world: World, *, is_mailed: bool) -> Works:
    del is_mailed
    server, realm_id = world.posting.server, world.make.realm_id
    actor, now = await world.make.actor(world.olga), server.app.clock.now()
    export_id = await world.write(lambda tx: ask_for_export(tx, actor, 1, now=now))
    incoming, key = await server.app.blobs.receive(), new_key(KEYS, realm_id)
    await incoming.write(b"the data")
    await incoming.keep(key)
    await world.write(
        lambda tx: keep_export(tx, export_id, blob_key=key, size=8, digest=incoming.digest)
    )
    row = await realm_exports.by_id(world.make.connection, realm_id, export_id)
    assert row is not None
    url = ShownExport.of(row, "").export_url
    assert url is not None

    async def works() -> bool:
        return (await world.stranger.client.fetch(urlsplit(url).path)).status == 200

    return works


async def compared_password(world: World, *, is_mailed: bool) -> Works:
    """A sign-in that has compared the password, and has not begun its session yet."""
    del is_mailed
    realm_id = world.make.realm_id
    found = await credentials.by_email(world.make.connection, realm_id, world.olga.email)
    assert found is not None

    async def works() -> bool:
        database = world.posting.server.app.database
        async with database.transaction() as connection:
            return await credentials.hold_unchanged(
                connection, realm_id, found.user_id, changed_at=found.changed_at
            )

    return works


PENDING = {
    "address change": address_change,
    "reset": reset,
    "flow": flow,
    "export link": export_link,
    "compared password": compared_password,
}


# -- what changes credentials


async def without_password(world: World) -> None:
    await world.make.connection.execute(
        "UPDATE users SET password_hash = NULL WHERE user_id = %(id)s", id=world.olga.user_id
    )


async def form_of(world: World, action: str, **fields: str) -> None:
    await world.own.look("/account")
    answer = await world.own.submit(action, password=PASSWORD, **fields)
    assert answer.status in {200, 303}, world.own.problem


async def reset_by_mail(world: World) -> None:
    await world.stranger.look("/accounts/password/reset")
    await world.stranger.submit("/accounts/password/reset", email=world.olga.email)
    link = await world.asked(is_mailed=True)
    assert link is not None
    await world.stranger.look(link)
    assert (await world.stranger.submit(link, new_password=NEW)).status == 303


async def change_password_on_page(world: World) -> None:
    await form_of(world, "/account/password", new_password=NEW)


async def change_password_by_key(world: World) -> None:
    await world.client.patch("/settings", old_password=PASSWORD, new_password=NEW)


async def change_password_by_session(world: World) -> None:
    fields = {"old_password": PASSWORD, "new_password": NEW}
    (await world.by_session("PATCH", "/json/settings", **fields)).succeeded()


async def first_password_on_page(world: World) -> None:
    await without_password(world)
    await form_of(world, "/account/password", new_password=NEW)


async def first_password_by_session(world: World) -> None:
    await without_password(world)
    (await world.by_session("PATCH", "/json/settings", new_password=NEW)).succeeded()


async def password_by_the_operator(world: World) -> None:
    async def set_it(tx: Any) -> Ended:
        [row] = await tx.lock(users.locking(tx.realm_id, [world.olga.user_id]))
        return await set_password(tx, row, "a hash", Extent(sessions=True), by=None)

    await world.write(set_it)


async def another_address_by_mail(world: World) -> None:
    await world.own.look("/account")
    await world.own.submit("/account/email", email=MOVED, password=PASSWORD)
    link = await world.asked(is_mailed=True)
    assert link is not None
    await world.stranger.look(link)
    assert (await world.stranger.submit(link)).status == 303


async def another_address_in_the_directory(world: World) -> None:
    await world.write(lambda tx: write_as_directory_does(tx, world.olga.user_id, MOVED))


async def another_key_on_page(world: World) -> None:
    await world.own.look("/account")
    fields = next(form.fields for form in world.own.forms() if form.action == "/account/api-key")
    fields["password"] = PASSWORD
    assert (await world.own.post("/account/api-key/regenerate", **fields)).status == 200


async def another_key_by_key(world: World) -> None:
    await world.client.post("/users/me/api_key/regenerate")


async def another_key_by_session(world: World) -> None:
    path = "/json/users/me/api_key/regenerate"
    (await world.by_session("POST", path, old_password=PASSWORD)).succeeded()


async def open_again(world: World) -> None:
    now = world.posting.server.app.clock.now()
    await world.write(lambda tx: reactivate_user(tx, world.olga.user_id, now=now))


async def close_on_page(world: World) -> None:
    await form_of(world, "/account/close", sure="on")
    await open_again(world)


async def close_by_key(world: World) -> None:
    await world.client.delete("/users/me")
    await open_again(world)


async def close_by_session(world: World) -> None:
    (await world.by_session("DELETE", "/json/users/me", old_password=PASSWORD)).succeeded()
    await open_again(world)


async def close_as_administrator(world: World) -> None:
    await world.admin.delete(f"/users/{world.olga.user_id}")
    await open_again(world)


async def close_as_operator(world: World) -> None:
    now = world.posting.server.app.clock.now()
    await world.write(lambda tx: deactivate_user(tx, world.olga.user_id, now=now))
    await open_again(world)


ACTS: dict[Callable[[World], Awaitable[None]], type[AccountNews] | None] = {
    reset_by_mail: Changed,
    change_password_on_page: Changed,
    change_password_by_key: Changed,
    change_password_by_session: Changed,
    first_password_on_page: Changed,
    first_password_by_session: Changed,
    password_by_the_operator: Changed,
    another_address_by_mail: AddressChanged,
    another_address_in_the_directory: AddressChanged,
    another_key_on_page: KeysReplaced,
    another_key_by_key: KeysReplaced,
    another_key_by_session: KeysReplaced,
    close_on_page: Closed,
    close_by_key: Closed,
    close_by_session: Closed,
    close_as_administrator: None,
    close_as_operator: None,
}
"""Each act, and what is mailed of it."""

mailed_or_not = pytest.mark.parametrize("is_mailed", [True, False], ids=["mailed", "not mailed"])


async def begin_all(world: World, *, is_mailed: bool) -> dict[str, Works]:
    return {name: await begin(world, is_mailed=is_mailed) for name, begin in PENDING.items()}


@mailed_or_not
async def test_what_is_pending_works_while_nothing_changes(world, is_mailed):
    begun = await begin_all(world, is_mailed=is_mailed)
    assert {name: await works() for name, works in begun.items()} == dict.fromkeys(begun, True)


@mailed_or_not
@pytest.mark.parametrize("act", ACTS, ids=lambda act: act.__name__)
async def test_every_act_ends_all_that_is_pending_and_tells_the_old_address(world, act, is_mailed):
    begun = await begin_all(world, is_mailed=is_mailed)
    live = await live_sessions(world)
    await world.posting.jobs()
    await act(world)
    told = [job for job in await world.posting.jobs() if isinstance(job, AccountEmail)]
    await world.forget()
    assert {name: await works() for name, works in begun.items()} == dict.fromkeys(begun, False)
    kind = ACTS[act]
    if kind is None:
        assert told == []
        return
    [job] = told
    assert isinstance(job.news, Changed | AddressChanged | KeysReplaced | Closed)
    assert job.news.ended is not None
    assert (type(job.news), job.address) == (kind, world.olga.email)
    await check_truth(world, act, job.news.ended, live)
    await world.posting.send(job)
    mail = world.posting.sink.mails[-1]
    assert mail["To"].addresses[0].addr_spec == world.olga.email
    body = mail.get_body(("plain",))
    assert body is not None
    text = " ".join(body.get_content().split())
    if kind is not Closed:
        assert all(sentence in text for sentence in job.news.ended.sentences)
        assert job.news.ended.still_working in text


async def live_sessions(world: World) -> int:
    realm_id, user_id = world.make.realm_id, world.olga.user_id
    return len(await sessions.of_user(world.make.connection, realm_id, user_id))


async def check_truth(world: World, act: Any, ended: Ended, live_before: int) -> None:
    """What is said to have ended is what did, and keys said to work do."""
    # A change of the address that is asked for again replaces the one before by itself.
    asked_again = act is another_address_by_mail
    assert ended.address_changes == (0 if asked_again else 1)
    assert ended.resets == 1
    assert ended.export_links == 1
    assert ended.sessions == live_before - await live_sessions(world)
    row = await world.row()
    assert ended.api_key == (row.api_key != world.olga.api_key)
    own = await world.client.call("GET", "/users/me")
    signed = row.email == world.olga.email
    assert not signed or (own.status == 200) == (not ended.api_key)
    count = await world.make.connection.value(
        "SELECT count(*) FROM api_keys WHERE user_id = %(id)s", id=world.olga.user_id
    )
    assert (ended.named_keys, ended.named_keys_left) == (1 - count, count)
    phones = await world.make.connection.value(
        "SELECT count(*) FROM push_devices WHERE user_id = %(id)s", id=world.olga.user_id
    )
    assert ended.phones == 1 - phones == int(ended.api_key)


@pytest.mark.parametrize("is_ticked", [True, False])
async def test_a_new_password_ends_the_keys_too_for_who_wants_it(world, is_ticked):
    fields = {"end_keys": "on"} if is_ticked else {}
    await world.own.look("/account")
    answer = await world.own.submit(
        "/account/password", password=PASSWORD, new_password=NEW, **fields
    )
    await world.own.follow(answer)
    works = (await world.client.call("GET", "/users/me")).status == 200
    assert works is not is_ticked
    assert ("1 named API key has been revoked." in world.own.text) is is_ticked
    still = "The API key and 1 named API key of the account still work."
    assert (still in world.own.text) is not is_ticked


async def test_a_reset_ends_the_keys_too_for_who_wants_it(world):
    await world.stranger.look("/accounts/password/reset")
    await world.stranger.submit("/accounts/password/reset", email=world.olga.email)
    link = await world.asked(is_mailed=True)
    await world.stranger.look(link)
    answer = await world.stranger.submit(link, new_password=NEW, end_keys="on")
    await world.stranger.follow(answer)
    assert "You have been signed out of 2 other browsers." in world.stranger.text
    assert "The API key has been replaced" in world.stranger.text
    assert "still work" not in world.stranger.text
    (await world.client.call("GET", "/users/me")).refused("INVALID_API_KEY", 401)


@pytest.mark.parametrize(
    "place",
    ["/account?done=password&sessions=%3Cb%3E&resets=99999999", "/account?done=password&api_key=x"],
)
async def test_an_address_says_nothing_in_words_of_its_own(world, place):
    await world.own.look(place)
    assert "signed out of" not in world.own.text
    assert "no longer work" not in world.own.text
    assert "has been replaced" not in world.own.text


async def test_no_session_begins_with_a_password_that_was_just_replaced(world):
    """Whichever comes first, of sign-ins and a change of the password at the same time."""
    old, realm_id = PASSWORD, world.make.realm_id
    for number in range(5):
        new = f"{NEW} {number}"
        browsers = [Visitor(world.stranger.client) for _ in range(3)]
        for browser in browsers:
            await browser.look("/login/")
        sign_ins = [b.submit("/login/", username=world.olga.email, password=old) for b in browsers]
        change = world.client.patch("/settings", old_password=old, new_password=new)
        await asyncio.gather(*sign_ins, change)
        left = await sessions.of_user(world.make.connection, realm_id, world.olga.user_id)
        assert left == []
        old = new

"""Create the first organization, and print how to sign in."""

import os
import re
import secrets
import shlex
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from scripts.cli.realm import found_realm
from scripts.cli.sign_in_links import make_sign_in_link
from scripts.cli.user import UserSpec, create_people

if TYPE_CHECKING:
    from server.app import App
    from server.domain.actor import Actor
    from server.settings import Settings
    from storage.ids import RealmId, UserId
    from storage.users import UserRow

REALM_NAME: Final = "Parley"
OWNER_NAME: Final = "Olivia Owner"
OWNER_EMAIL: Final = "owner@example.com"

PEOPLE: Final = (
    UserSpec(full_name="Ada Lovelace", email="ada@example.com"),
    UserSpec(full_name="Grace Hopper", email="grace@example.com", role="administrator"),
    UserSpec(full_name="Alan Turing", email="alan@example.com"),
    UserSpec(full_name="Gus Guest", email="gus@example.com", role="guest"),
)

CHANNELS: Final = (
    ("general", "For everyone and everything.", True),
    ("design", "How things look, and why.", False),
    ("random", "What has nothing to do with work.", False),
)
"""Name, description, and whether new users are subscribed."""

MESSAGES: Final = (
    (
        OWNER_NAME,
        "general",
        "welcome",
        "This is a topic of the channel **general**: start a new one for each new subject.",
    ),
    (
        "Ada Lovelace",
        "general",
        "welcome",
        "Hello @**Olivia Owner**! Messages understand *Markdown* and mentions like this one.",
    ),
    (
        "Grace Hopper",
        "design",
        "a logo",
        "Something with a table and people around it?\n\n- simple\n- one colour\n- no eagles",
    ),
    ("Alan Turing", "design", "a logo", "As long as it is *decidable* by Friday."),
)
"""Sender, channel, topic, content."""

CLIENT_FILE: Final = "zuliprc"
"""In the data directory: the configuration with which clients and bots sign in as the owner."""

BEGUN_FILE: Final = "first-start"
"""In the data directory: the owner's password, until it has been printed."""

CLIENT_TEXT: Final = re.compile(r"(?P<login>\[api\]\nemail=.+\nkey=.+\n)site=.+\n")
"""The content of the file unless it was edited."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Owner:
    realm_id: "RealmId"
    user_id: "UserId"
    email: str
    password: str
    api_key: str


class OrganizationBootstrap:
    """Create an organization if there is none, and print how to sign in."""

    def __init__(self, settings: "Settings", data: Path | None) -> None:
        """`data` is the data directory of the private Postgres, if there is one."""
        self._settings = settings
        self._data = data
        self._owner: _Owner | None = None
        self._link = ""

    async def prepare(self, app: "App") -> None:
        """Create the organization once; a later start changes nothing.

        A start that was interrupted before it printed the password is completed by the next.
        """
        from storage import realms

        async with app.database.connection() as connection:
            is_new = not await realms.ids(connection)
        if is_new:
            await self._found(app)
        self._owner = await self._not_shown(app)
        if self._owner is None:
            self._renew_client_file()
        else:
            self._write_client_file(self._owner)
            await _fill(app, self._owner.realm_id)
            self._link = await make_sign_in_link(app, self._owner.realm_id, self._owner.user_id)

    async def _found(self, app: "App") -> None:
        """Create the organization with its owner, with the password written to the file first."""
        password = secrets.token_urlsafe(12)
        _write_privately(self._begun_file(), password)
        await found_realm(
            app,
            name=REALM_NAME,
            subdomain="",
            email=OWNER_EMAIL,
            full_name=OWNER_NAME,
            password=password,
            email_confirmed=False,
        )

    async def _not_shown(self, app: "App") -> _Owner | None:
        """Return the owner if the password was not printed and is still valid, else None."""
        from server.domain.passwords import Passwords
        from storage import credentials, realms, users

        password = ""
        with suppress(OSError, UnicodeError):
            password = self._begun_file().read_text()
        if not password:
            return None
        async with app.database.connection() as connection:
            realm_id = (await realms.ids_of_subdomains(connection, [""])).get("")
            if realm_id is None:
                return None
            for row in await users.by_emails(connection, realm_id, [OWNER_EMAIL]):
                known = await credentials.password_hash(connection, realm_id, row.user_id)
                with Passwords(1) as passwords:
                    if (await passwords.verify(password, known)).right:
                        return _Owner(
                            realm_id=realm_id,
                            user_id=row.user_id,
                            email=row.email,
                            password=password,
                            api_key=row.api_key,
                        )
        return None

    def show(self, emails: str | None) -> None:
        """Print the server's URL, the URL of the emails, and at the first start how to use it."""
        if self._owner is not None:
            click.echo(self._instructions(self._owner))
        self._begun_file().unlink(missing_ok=True)
        if self._data is not None:
            click.echo(f"The data is in {self._data}.")
        if emails is not None:
            click.echo(f"Emails are shown at {emails}, as no mail server is set.")
        click.echo(f"Parley is running at {self._settings.public_url} (Ctrl-C stops it).")

    def _instructions(self, owner: _Owner) -> str:
        url = self._settings.public_url
        login = shlex.quote(f"{owner.email}:{owner.api_key}")
        return f"""
There is an organization now, with an owner, four people and three channels. Open it in a browser
within ten minutes, by a link that signs the owner in, once:

  {self._link}

Later, and with clients:

  Address   {url}
  Owner     {owner.email}
  Password  {owner.password}
  API key   {owner.api_key}

This is shown once; `{self._command("user", "sign-in-link")}`
prints another link. Three things to try, in another terminal:

1. Send a message:

   curl -u {login} {url}/api/v1/messages \\
     -d type=channel -d to=general -d topic=welcome -d content='Hello from curl'

2. Watch messages arrive (then send another one):

   queue=$(curl -s -u {login} {url}/api/v1/register \\
     -d 'event_types=["message"]' | sed 's/.*"queue_id":"\\([^"]*\\)".*/\\1/')
   curl -N -u {login} -H 'Accept: text/event-stream' \\
     "{url}/api/v1/events?queue_id=$queue&last_event_id=-1"

3. Create an account:

   {self._command("user", "create", "--email", "you@example.com", "--name", "Your Name")}

Clients and bots of the protocol sign in with {self._client_file()}.
"""

    def _write_client_file(self, owner: _Owner) -> None:
        text = (
            f"[api]\nemail={owner.email}\nkey={owner.api_key}\nsite={self._settings.public_url}\n"
        )
        _write_privately(self._client_file(), text)

    def _renew_client_file(self) -> None:
        """Update the server's URL in the file, unless the file was edited."""
        path = self._client_file()
        unfinished = path.with_suffix(".new")
        with suppress(OSError, UnicodeError):
            if path.is_symlink() or not (ours := CLIENT_TEXT.fullmatch(path.read_text())):
                return
            _write_privately(unfinished, f"{ours['login']}site={self._settings.public_url}\n")
            unfinished.replace(path)

    def _client_file(self) -> Path:
        return self._settings.data_directory / CLIENT_FILE

    def _begun_file(self) -> Path:
        return self._settings.data_directory / BEGUN_FILE

    def _command(self, *arguments: str) -> str:
        """Return a `parley` command line for this server."""
        installed = Path(sys.executable).with_name("parley")
        program = str(installed) if installed.exists() else "parley"
        return shlex.join([program, *arguments, "--data", str(self._settings.data_directory)])


def _write_privately(path: Path, text: str) -> None:
    """Write a file readable by this user only, and flush it to disk."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
        file.flush()
        os.fsync(descriptor)


async def _fill(app: "App", realm_id: "RealmId") -> None:
    """Create example users, channels with all of them as subscribers, and a few messages.

    Existing ones stay unchanged.
    """
    from server.actions.channels.create import ChannelSpec
    from server.actions.subscriptions.subscribe import SubscriptionRequest, subscribe
    from server.domain.channel_creation import ChannelTerms
    from storage import messages

    there = {person.email for person in await _people(app, realm_id)}
    if missing := [person for person in PEOPLE if person.email not in there]:
        await create_people(app, realm_id, missing)
    people = await _people(app, realm_id)
    actors = {person.full_name: await _actor(app, realm_id, person.user_id) for person in people}
    for name, description, is_default in CHANNELS:
        request = SubscriptionRequest(
            wanted=[ChannelSpec(name, description)],
            principals=[person.user_id for person in people],
            terms=ChannelTerms(is_default=is_default),
        )
        await app.writers.of(realm_id).write(
            lambda tx, request=request: subscribe(  # type: ignore[misc]
                tx, actors[OWNER_NAME], request, web_public_enabled=False
            )
        )
    async with app.database.connection() as connection:
        said = await messages.count_by(connection, realm_id, [each.user_id for each in people])
    for name, channel, topic, content in MESSAGES[said:]:
        await _say(app, actors[name], channel, topic, content)


async def _people(app: "App", realm_id: "RealmId") -> "list[UserRow]":
    """Return the owner and the example users that exist, in the order of their creation."""
    from storage import users

    emails = [OWNER_EMAIL, *(person.email for person in PEOPLE)]
    async with app.database.connection() as connection:
        found = await users.by_emails(connection, realm_id, emails)
    return sorted(found, key=lambda person: person.user_id)


async def _say(app: "App", sender: "Actor", channel: str, topic: str, content: str) -> None:
    from server.actions.messages import send
    from server.actions.messages.decide import OutgoingMessage

    draft = OutgoingMessage(type="channel", to=channel, topic=topic, content=content)
    realm_cache = app.realm_caches.of(sender.realm_id)
    decision = await send.prepare(realm_cache, sender, draft, app.database.connection)
    await app.writers.of(sender.realm_id).write(
        lambda tx: send.send_message(tx, sender, draft, decision, app.clock.now())
    )


async def _actor(app: "App", realm_id: "RealmId", user_id: "UserId") -> "Actor":
    from server.domain.actor import Actor

    row = await app.realm_caches.of(realm_id).user(user_id)
    assert row is not None, "it was just made"
    return Actor(realm_id, row, client="parley")

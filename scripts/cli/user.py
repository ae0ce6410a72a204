"""`parley user`: create and manage accounts."""

import asyncio
from collections.abc import Awaitable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from scripts.cli.accounts import COMMANDS
from scripts.cli.erasing import erase
from scripts.cli.failures import Failure, sentences
from scripts.cli.invite_imported import invite_imported
from scripts.cli.listing import list_users
from scripts.cli.options import (
    WHICH_REALM,
    password_option,
    place_options,
    read_password,
    settings_beside,
)
from scripts.cli.passwords import LINK_TEXT, password_link, set_password
from scripts.cli.sign_in_links import sign_in_link

if TYPE_CHECKING:
    from server.actions.users import CreatedUser
    from server.app import App
    from server.domain.passwords import Passwords
    from storage.ids import RealmId

ROLES = ("owner", "administrator", "moderator", "member", "guest")

SIGN_IN_TEXT = """Sign in within ten minutes, once the server runs, by a link that works once:

  {link}
"""
PROGRESS_SECONDS = 2.0
USERS_AT_ONCE = 1_000
"""The maximum number of accounts that a transaction creates."""


class UserSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An account in the file of `--file`."""

    full_name: str
    email: str
    role: str = "member"
    password: str | None = None


class Line(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The output for a new account."""

    user_id: int
    email: str
    role: str
    api_key: str
    password_link: str | None = None
    """A single-use link to choose a password; None if one is set, or passwords are disabled."""
    sign_in_link: str | None = None
    """A single-use link that signs in, of the owner of a new organization."""

    @classmethod
    def of(
        cls,
        user: "CreatedUser",
        password_link: str | None = None,
        sign_in_link: str | None = None,
    ) -> "Line":
        from server.domain.access import ROLE_NAMES

        role = next(name for name, number in ROLE_NAMES.items() if number == user.role)
        return cls(
            user_id=user.user_id,
            email=user.email,
            role=role,
            api_key=user.api_key,
            password_link=password_link,
            sign_in_link=sign_in_link,
        )


@click.group()
def user() -> None:
    """Create and manage accounts."""


for command in (*COMMANDS, erase, invite_imported, list_users, set_password, sign_in_link):
    user.add_command(command)


@user.command()
@click.option("--email", help="The address.")
@click.option("--name", help="The full name.")
@click.option("--role", type=click.Choice(ROLES), default="member", show_default=True)
@password_option
@click.option(
    "--file",
    "many",
    type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path),
    help="Many at once: a JSON array of objects with full_name, email, role, password"
    " (the last two may be missing).",
)
@click.option("--realm", help=WHICH_REALM)
@click.option("--json", "as_json", is_flag=True, help="One line of JSON for each.")
@place_options
def create(
    *,
    email: str | None,
    name: str | None,
    role: str,
    password_file: Path | None,
    many: Path | None,
    realm: str | None,
    as_json: bool,
    config: Path | None,
    data: Path | None,
) -> None:
    """Create one or many accounts, and print their API keys.

    With a running server, its clients get events for the new accounts. For a single account without
    a password, a link is printed to choose one, valid once, for a day; for accounts of a file
    without passwords, use `parley user set-password`.
    """
    with sentences():
        from scripts.cli.session import with_app

        settings = settings_beside(config, data)
        if many is not None:
            wanted = _read_file(many)
        elif email and name:
            password = read_password(password_file)
            wanted = [UserSpec(full_name=name, email=email, role=role, password=password)]
            if problem := _problem(wanted[0]):
                raise Failure(problem)
        else:
            raise Failure("Name an account with --email and --name, or many with --file.")
        with_links = many is None
        lines = with_app(settings, lambda app: _create(app, wanted, realm, with_links=with_links))
    for each in lines:
        show(each, as_json=as_json)


def show(line: Line, *, as_json: bool) -> None:
    """Print an account."""
    if as_json:
        click.echo(msgspec.json.encode(line))
    else:
        click.echo(f"{line.email}  {line.role}  user id {line.user_id}  API key {line.api_key}")
        if line.sign_in_link is not None:
            click.echo(SIGN_IN_TEXT.format(link=line.sign_in_link))
        if line.password_link is not None:
            click.echo(LINK_TEXT.format(link=line.password_link))


def _read_file(path: Path) -> list[UserSpec]:
    from server.runtime.untrusted_json import decode_untrusted

    try:
        with click.open_file(str(path), "rb") as file:
            wanted = decode_untrusted(file.read(), list[UserSpec])
    except (OSError, msgspec.DecodeError) as error:
        raise Failure(f"{path} is not a list of people: {error}") from error
    for number, person in enumerate(wanted, start=1):
        if problem := _problem(person):
            raise Failure(f"{path}, person {number} ({person.email}): {problem}")
    return wanted


def _problem(person: UserSpec) -> str | None:
    """Return the error of an entry of the file, in a sentence."""
    from server.domain.accounts import checked_full_name, checked_new_email, checked_password
    from server.domain.errors import BadRequestError

    if person.role not in ROLES:
        return f"the role `{person.role}` is none of {', '.join(ROLES)}."
    try:
        checked_full_name(person.full_name)
        checked_new_email(person.email)
        checked_password(person.password)
    except BadRequestError as error:
        return error.message
    return None


async def _create(
    app: "App", wanted: Sequence[UserSpec], subdomain: str | None, *, with_links: bool
) -> list[Line]:
    from scripts.cli.session import realm_named

    realm_id = await realm_named(app, subdomain)
    made: list[CreatedUser] = []
    for start in range(0, len(wanted), USERS_AT_ONCE):
        some = wanted[start : start + USERS_AT_ONCE]
        made += await create_people(app, realm_id, some)
    links: dict[str, str | None] = {}
    if with_links:
        for person in wanted:
            if person.password is None:
                links[person.email] = await password_link(app, realm_id, person.email)
    return [Line.of(user, links.get(user.email)) for user in made]


async def create_people(
    app: "App", realm_id: "RealmId", wanted: Sequence[UserSpec]
) -> "list[CreatedUser]":
    """Create all of these accounts, or none."""
    from server.actions.users import NewUser, create_users
    from server.domain.access import ROLE_NAMES

    hashes = await _hashes(app, wanted)
    new = [
        NewUser(
            email=person.email,
            full_name=person.full_name,
            role=ROLE_NAMES[person.role],
            password_hash=hashes.get(person.email),
        )
        for person in wanted
    ]
    return await app.writers.of(realm_id).write(
        lambda tx: create_users(tx, new, now=app.clock.now())
    )


async def _hashes(app: "App", wanted: Sequence[UserSpec]) -> dict[str, str]:
    """Return the password hashes of the accounts with a password."""
    from server.domain.passwords import Passwords

    given = {person.email: person.password for person in wanted if person.password is not None}
    with Passwords(app.settings.hashing_threads) as passwords:
        hashing = passwords.hash_all(list(given.values()))
        hashed = await _with_progress(hashing, passwords, len(given))
    return dict(zip(given, hashed, strict=True))


async def _with_progress(
    hashing: "Awaitable[list[str]]", passwords: "Passwords", count: int
) -> list[str]:
    """Return the hashes, with a progress display."""
    task = asyncio.ensure_future(hashing)
    while not task.done():
        await asyncio.wait([task], timeout=PROGRESS_SECONDS)
        if not task.done():
            click.echo(f"Hashed {passwords.hashed} of {count} passwords ...", err=True)
    return task.result()

"""`parley realm`: create, deactivate and reactivate organizations, and set their quota."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from scripts.cli.abandon_import import abandon_import
from scripts.cli.failures import Failure, sentences
from scripts.cli.options import (
    MAX_NUMBER,
    WHICH_REALM,
    password_option,
    place_options,
    read_password,
    settings_beside,
)

if TYPE_CHECKING:
    from server.actions.realms import CreatedRealm
    from server.app import App
    from server.writer import WriteTx


@click.group()
def realm() -> None:
    """Create, deactivate and reactivate organizations, and set their quota."""


realm.add_command(abandon_import)


@realm.command()
@click.option("--name", required=True, help="What it is called.")
@click.option(
    "--subdomain", default="", help="Where it is reached; nothing: at the server's own address."
)
@click.option("--owner-email", required=True, help="The address of its first owner.")
@click.option("--owner-name", required=True, help="The name of its first owner.")
@password_option
@click.option("--json", "as_json", is_flag=True, help="One line of JSON.")
@place_options
def create(
    *,
    name: str,
    subdomain: str,
    owner_email: str,
    owner_name: str,
    password_file: Path | None,
    as_json: bool,
    config: Path | None,
    data: Path | None,
) -> None:
    """Create an organization with its first owner, and print the owner's API key.

    Two links are printed that work once: one that signs the owner in within ten minutes, and,
    without --password-file, one to choose a password within a day. No mail server is needed.
    """
    with sentences():
        from scripts.cli.passwords import password_link
        from scripts.cli.session import with_app
        from scripts.cli.sign_in_links import make_sign_in_link
        from scripts.cli.user import Line, show
        from server.domain.accounts import checked_password
        from server.domain.errors import BadRequestError

        settings = settings_beside(config, data)
        if subdomain and settings.root_domain is None:
            raise Failure(
                "Organizations at subdomains need PARLEY_ROOT_DOMAIN: without it every address is"
                " the organization at the root. Set it for this command and for the server."
            )
        password = read_password(password_file)
        try:
            checked_password(password)
        except BadRequestError as error:
            raise Failure(error.message) from error

        async def found(app: "App") -> Line:
            await _refuse_taken(app, subdomain)
            made = await found_realm(
                app,
                name=name,
                subdomain=subdomain,
                email=owner_email,
                full_name=owner_name,
                password=password,
            )
            await _open_first_channel(app, made)
            link = None
            if password is None:
                link = await password_link(app, made.realm_id, made.owner.email)
            sign_in_link = await make_sign_in_link(app, made.realm_id, made.owner.user_id)
            return Line.of(made.owner, link, sign_in_link)

        line = with_app(settings, found, may_found=True)
    show(line, as_json=as_json)


@realm.command()
@click.option("--realm", "subdomain", help=WHICH_REALM)
@place_options
def deactivate(*, subdomain: str | None, config: Path | None, data: Path | None) -> None:
    """Deactivate an organization: within a second, all access to it ends.

    Nothing is deleted. Sessions and event queues end, keys and passwords are refused, and scheduled
    messages wait until it is reactivated.
    """
    from server.actions.realm_activation import deactivate_realm, end_queues

    changes = (lambda tx: deactivate_realm(tx, by=None), end_queues)
    realm, done = _change(subdomain, config, data, *changes)
    click.echo(f"{realm} is deactivated." if done else f"{realm} was deactivated already.")


@realm.command()
@click.option("--realm", "subdomain", help=WHICH_REALM)
@place_options
def reactivate(*, subdomain: str | None, config: Path | None, data: Path | None) -> None:
    """Reactivate an organization, as it was when it was deactivated."""
    from server.actions.realm_activation import reactivate_realm

    realm, done = _change(subdomain, config, data, reactivate_realm)
    click.echo(f"{realm} is active again." if done else f"{realm} was active already.")


@realm.command()
@click.option("--realm", "subdomain", help=WHICH_REALM)
@click.option(
    "--mib", type=click.IntRange(0, MAX_NUMBER >> 20), help="How much all files may take together."
)
@click.option("--none", "is_open", is_flag=True, help="As much as there is room for.")
@place_options
def quota(
    *, subdomain: str | None, mib: int | None, is_open: bool, config: Path | None, data: Path | None
) -> None:
    """Set the upload quota of an organization.

    Existing files stay, even if they exceed it; further uploads are refused then.
    """
    if (mib is None) != is_open:
        raise click.UsageError("Say either --mib and how much, or --none.")
    from server.actions.upload_quota import change_upload_quota

    realm, done = _change(subdomain, config, data, lambda tx: change_upload_quota(tx, mib))
    bound = "as much as there is room for" if mib is None else f"up to {mib} MiB"
    click.echo(f"{realm} may upload {bound}{'' if done else ', as before'}.")


def _change(
    subdomain: str | None,
    config: Path | None,
    data: Path | None,
    *changes: "Callable[[WriteTx], Awaitable[bool | None]]",
) -> tuple[str, bool]:
    """Apply the changes in order; return the organization and the result of the first."""

    async def run(app: "App") -> tuple[str, bool]:
        from scripts.cli.session import called, realm_named

        realm_id = await realm_named(app, subdomain)
        writer = app.writers.of(realm_id)
        answers = [await writer.write(change) for change in changes]
        return await called(app, realm_id), bool(answers[0])

    with sentences():
        from scripts.cli.session import with_app

        return with_app(settings_beside(config, data), run)


async def _refuse_taken(app: "App", subdomain: str) -> None:
    from storage import realms

    async with app.database.connection() as connection:
        taken = await realms.ids_of_subdomains(connection, [subdomain])
    if taken:
        place = f"at the subdomain `{subdomain}`" if subdomain else "at the server's own address"
        raise Failure(f"There is an organization {place} already: name another --subdomain.")


async def _open_first_channel(app: "App", made: "CreatedRealm") -> None:
    from server.actions.realms import open_first_channel
    from server.domain.actor import Actor

    row = await app.realm_caches.of(made.realm_id).user(made.owner.user_id)
    assert row is not None, "it was just made"
    owner = Actor(made.realm_id, row, client="parley")
    await app.writers.of(made.realm_id).write(lambda tx: open_first_channel(tx, owner))


async def found_realm(
    app: "App",
    *,
    name: str,
    subdomain: str,
    email: str,
    full_name: str,
    password: str | None,
    email_confirmed: bool = True,
) -> "CreatedRealm":
    """Create an organization and its owner."""
    from server.actions.realms import create_realm
    from server.actions.users import NewUser
    from server.domain.passwords import Passwords

    password_hash = None
    if password is not None:
        with Passwords(1) as passwords:
            password_hash = await passwords.hash(password)
    owner = NewUser(
        email=email,
        full_name=full_name,
        password_hash=password_hash,
        email_confirmed=email_confirmed,
    )
    async with app.database.transaction() as connection:
        return await create_realm(
            connection, name=name, subdomain=subdomain, owner=owner, now=app.clock.now()
        )

"""`parley realm create`: found an organization."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from scripts.cli.failures import Failure, sentences
from scripts.cli.options import password_option, place_options, read_password, read_settings

if TYPE_CHECKING:
    from server.actions.realms import CreatedRealm
    from server.app import App


@click.group()
def realm() -> None:
    """Found organizations."""


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
    """Found an organization with its first owner, and print the owner's API key."""
    with sentences():
        from scripts.cli.session import with_app
        from scripts.cli.user import Line, show
        from server.domain.accounts import checked_password
        from server.domain.errors import BadRequestError

        settings = read_settings(config, data=data)
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

        async def found(app: "App") -> "CreatedRealm":
            return await found_realm(
                app,
                name=name,
                subdomain=subdomain,
                email=owner_email,
                full_name=owner_name,
                password=password,
            )

        made = with_app(settings, found, may_found=True)
    show(Line.of(made.owner), as_json=as_json)


async def found_realm(
    app: "App", *, name: str, subdomain: str, email: str, full_name: str, password: str | None
) -> "CreatedRealm":
    """A new organization and its owner."""
    from server.actions.realms import create_realm
    from server.actions.users import NewUser
    from server.domain.passwords import Passwords

    password_hash = None
    if password is not None:
        with Passwords(1) as passwords:
            password_hash = await passwords.hash(password)
    owner = NewUser(email=email, full_name=full_name, password_hash=password_hash)
    async with app.database.transaction() as connection:
        return await create_realm(
            connection, name=name, subdomain=subdomain, owner=owner, now=app.clock.now()
        )

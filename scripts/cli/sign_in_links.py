"""`parley user sign-in-link`: print a link that signs in once."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from scripts.cli.failures import Failure, sentences
from scripts.cli.options import WHICH_REALM, place_options, settings_beside

if TYPE_CHECKING:
    from server.app import App
    from storage.ids import RealmId, UserId

LINK_TEXT = """Sign in as {email} within ten minutes, by a link that works once{where}:

  {link}
"""


@click.command("sign-in-link")
@click.option("--email", help="The address of the account; the oldest owner's by default.")
@click.option("--realm", help=WHICH_REALM)
@place_options
def sign_in_link(
    *, email: str | None, realm: str | None, config: Path | None, data: Path | None
) -> None:
    """Print a link that signs in to an account, once, within ten minutes.

    No password and no mail server are needed. Where the server is reached at localhost, the link
    works on this machine alone. A change of the account's credentials ends the link.
    """
    with sentences():
        from scripts.cli.session import person_named, realm_named, with_app

        async def work(app: "App") -> str:
            realm_id = await realm_named(app, realm)
            async with app.database.connection() as connection:
                if email is None:
                    user_id = await _oldest_owner(app, realm_id)
                else:
                    user_id = await person_named(connection, realm_id, email)
            return await sign_in_text(app, realm_id, user_id)

        text = with_app(settings_beside(config, data), work)
    click.echo(text)


async def sign_in_text(app: "App", realm_id: "RealmId", user_id: "UserId") -> str:
    """Make a link for the account, and return the text that shows it."""
    row = await app.realm_caches.of(realm_id).user(user_id)
    assert row is not None, "it was just looked up"
    address = await app.realm_caches.of(realm_id).address()
    where = " and on this machine alone" if address.is_loopback else ""
    link = await make_sign_in_link(app, realm_id, user_id)
    return LINK_TEXT.format(email=row.email, where=where, link=link)


async def make_sign_in_link(app: "App", realm_id: "RealmId", user_id: "UserId") -> str:
    """Return a new link for the account."""
    from server.actions.sign_in_links import make_sign_in_token
    from server.domain.confirmations import SIGN_IN, SIGN_IN_HERE, SIGN_IN_LINK

    address = await app.realm_caches.of(realm_id).address()
    purpose = SIGN_IN_HERE if address.is_loopback else SIGN_IN
    token = await app.writers.of(realm_id).write(
        lambda tx: make_sign_in_token(tx, user_id, purpose=purpose)
    )
    return f"{address.url}{SIGN_IN_LINK}#{token}"


async def _oldest_owner(app: "App", realm_id: "RealmId") -> "UserId":
    from server.domain.access import OWNER
    from storage import users

    async with app.database.connection() as connection:
        owners = await users.up_to_role(connection, realm_id, least_role=OWNER, or_among=())
    people = [row.user_id for row in owners if row.bot_type is None]
    if not people:
        raise Failure("The organization has no active owner: name an account with --email.")
    return min(people)

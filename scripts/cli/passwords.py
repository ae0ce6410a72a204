"""`parley user set-password`: set a password from a file, or print a link to choose one."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from scripts.cli.accounts import person_of, person_options
from scripts.cli.failures import Failure, sentences
from scripts.cli.options import password_option, read_password, settings_beside

if TYPE_CHECKING:
    from server.app import App
    from storage.ids import RealmId

LINK_TEXT = """Choose a password within a day, on a page that this link opens once:

  {link}
"""


@click.command("set-password")
@person_options
@password_option
def set_password(
    *,
    email: str,
    realm: str | None,
    password_file: Path | None,
    config: Path | None,
    data: Path | None,
) -> None:
    """Set an account's password; without --password-file, print a link to choose one.

    The link is valid once, for a day. A new password ends all sessions of the account and revokes
    other links of the kind.
    """
    with sentences():
        from scripts.cli.session import with_app

        settings = settings_beside(config, data)
        password = read_password(password_file)

        async def work(app: "App") -> str | None:
            realm_id, _ = await person_of(app, email, realm)
            if password is None:
                link = await password_link(app, realm_id, email)
                if link is None:
                    raise Failure("This organization does not take passwords.")
                return link
            await _keep(app, realm_id, email, password)
            return None

        link = with_app(settings, work)
    click.echo(f"{email} has a new password." if link is None else LINK_TEXT.format(link=link))


async def password_link(app: "App", realm_id: "RealmId", email: str) -> str | None:
    """Return a link to the page where the account's owner chooses a password.

    Returns None if the organization disables passwords. Only a digest of its token is stored.
    """
    from server.actions.passwords import make_password_link
    from server.domain.sign_in import PASSWORDS

    realm_cache = app.realm_caches.of(realm_id)
    if not (await realm_cache.settings()).wants_method(PASSWORDS):
        return None
    path = await app.writers.of(realm_id).write(lambda tx: make_password_link(tx, email))
    return (await realm_cache.address()).url + path


async def _keep(app: "App", realm_id: "RealmId", email: str, password: str) -> None:
    """Hash the password and store it for the account."""
    from server.actions.passwords import give_password
    from server.domain.accounts import checked_password

    checked_password(password)
    new_hash = await app.passwords.hash(password)
    await app.writers.of(realm_id).write(lambda tx: give_password(tx, email, new_hash))

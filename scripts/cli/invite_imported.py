"""`parley user invite-imported`: email people with imported accounts."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from scripts.cli.failures import Failure, sentences
from scripts.cli.options import WHICH_REALM, place_options, settings_beside
from server.runtime.formatting import counted

if TYPE_CHECKING:
    from server.app import App


@click.command("invite-imported")
@click.option("--realm", help=WHICH_REALM)
@place_options
def invite_imported(*, realm: str | None, config: Path | None, data: Path | None) -> None:
    """Email all people with imported accounts a link to choose a password.

    Each link works once, within a week. People who have a password get no email, so the command may
    be run again.
    """
    with sentences():
        from scripts.cli.session import with_app

        count = with_app(settings_beside(config, data), lambda app: _invite(app, realm))
    click.echo(f"{counted(count, 'person is', 'people are')} invited by email.")


async def _invite(app: "App", realm: str | None) -> int:
    from scripts.cli.session import realm_named
    from server.domain.sign_in import PASSWORDS
    from server.imports.inviting import invite_all

    if app.mailer is None:
        raise Failure("This server sends no email: set PARLEY_SMTP_HOST for it and this command.")
    services = app.realm_services(await realm_named(app, realm))
    if not (await services.realm_cache.settings()).wants_method(PASSWORDS):
        raise Failure(
            "This organization does not take passwords: its people sign in by another method."
        )
    return await invite_all(services)

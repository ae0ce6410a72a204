"""`parley user erase`: delete an account and everything it has written."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from scripts.cli.accounts import person_options
from scripts.cli.failures import Failure, sentences
from scripts.cli.options import settings_beside

if TYPE_CHECKING:
    from server.app import App


@click.command()
@person_options
@click.option("--yes", is_flag=True, help="Do not ask.")
def erase(
    *, email: str, realm: str | None, yes: bool, config: Path | None, data: Path | None
) -> None:
    """Delete everything that an account has written, uploaded and stored, permanently.

    The account is deactivated at once and keeps its id, without a name. Messages, reactions and
    files are deleted in batches, with events to all clients that show them; after an interruption
    workers finish the task. What others have written about the user stays, and so do backups.
    """
    if not yes:
        click.confirm(f"Erase {email} and all that they have written? It is for good", abort=True)

    async def run(app: "App") -> None:
        from scripts.cli.session import person_named, realm_named
        from server.actions.erasing import ERASING, erase_person
        from server.actions.stepped_work import finish

        services = app.realm_services(await realm_named(app, realm))
        try:
            async with services.read() as connection:
                user_id = await person_named(connection, services.realm_id, email)
        except Failure as failure:
            raise Failure(f"{failure.message} An erased account has none any more.") from failure
        work_id = await services.write(lambda tx: erase_person(tx, user_id, now=app.clock.now()))
        await finish(services, ERASING, work_id)

    with sentences():
        from scripts.cli.session import with_app

        with_app(settings_beside(config, data), run)
    click.echo(f"{email} is erased. A worker removes the content of their files.")

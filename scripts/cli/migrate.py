"""`parley migrate`: bring the database to this version."""

from pathlib import Path

import click

from scripts.cli.failures import sentences
from scripts.cli.options import place_options, read_settings


@click.command()
@click.option(
    "--before-deploy",
    is_flag=True,
    help="Only what the release that still runs can work with; run without it afterwards.",
)
@place_options
def migrate(*, before_deploy: bool, config: Path | None, data: Path | None) -> None:
    """Bring the database to this version.

    In a rolling upgrade: `parley migrate --before-deploy`, replace all processes, then
    `parley migrate`.
    """
    with sentences():
        from scripts.cli.database import private_database_of
        from storage.migrate import migrate as apply

        settings = read_settings(config, data=data)
        if settings.database_url is not None:
            applied = apply(settings.database_url, before_deploy=before_deploy)
        else:
            with private_database_of(settings) as url:
                applied = apply(url, before_deploy=before_deploy)
    for name in applied:
        click.echo(f"applied {name}")
    if not applied:
        click.echo("Nothing to do: the database has all migrations.")

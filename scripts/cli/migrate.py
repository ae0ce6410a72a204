"""`parley migrate`: apply the database migrations of this release."""

from pathlib import Path

import click

from scripts.cli.failures import sentences
from scripts.cli.options import place_options, settings_beside


@click.command()
@click.option(
    "--before-deploy",
    is_flag=True,
    help="Only what the release that still runs can work with; run without it afterwards.",
)
@place_options
def migrate(*, before_deploy: bool, config: Path | None, data: Path | None) -> None:
    """Apply the database migrations of this release.

    In a rolling upgrade: `parley migrate --before-deploy`, replace all processes, then `parley
    migrate`.
    """
    with sentences():
        from scripts.cli.database import private_database_of
        from scripts.cli.migrating import bring_up_to_date
        from storage.migrate import migrate as apply

        settings = settings_beside(config, data)

        def work(url: str) -> list[str]:
            if before_deploy:
                return apply(url, before_deploy=True)
            return bring_up_to_date(settings, url)

        if settings.database_url is not None:
            applied = work(settings.database_url)
        else:
            with private_database_of(settings) as url:
                applied = work(url)
    for name in applied:
        click.echo(f"applied {name}")
    if not applied:
        click.echo("Nothing to do: the database has all migrations.")

"""`parley export` and `parley import`: move one organization between servers."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from scripts.cli.backup import Progress
from scripts.cli.failures import Failure, sentences
from scripts.cli.moving import ImportChoices, import_from, write_report
from scripts.cli.options import WHICH_REALM, place_options, settings_beside
from server.runtime.formatting import counted, size

if TYPE_CHECKING:
    from server.app import App
    from server.imports.report import ImportReport
    from server.settings import Settings
    from storage.exports import ExportManifest, Scope


@click.command("export")
@click.argument("file", required=False, type=click.Path(dir_okay=False, path_type=Path))
@click.option("--realm", "subdomain", help=WHICH_REALM)
@click.option(
    "--only",
    type=click.Choice(["public", "consented"]),
    help="What every member may read; `consented`: and what those have who allow it.",
)
@click.option(
    "--secrets",
    "with_secrets",
    is_flag=True,
    help="With hashes of passwords, API keys and tokens, so that people go on as they are.",
)
@click.option("--force", is_flag=True, help="Write over a file that is there.")
@place_options
def export_realm(
    *,
    file: Path | None,
    subdomain: str | None,
    only: "Scope | None",
    with_secrets: bool,
    force: bool,
    config: Path | None,
    data: Path | None,
) -> None:
    """Export an organization into FILE, with or without a running server.

    The file is a consistent snapshot of the organization's users, settings, channels, messages,
    read state and files, as lines of JSON in a ZIP archive (docs/exports.md).
    """
    with sentences():
        from scripts.cli.session import realm_named, with_app
        from server.runtime.version import VERSION
        from storage import exports

        if only is not None and with_secrets:
            raise Failure("--secrets goes with everything, not with --only.")

        async def write(app: "App") -> "tuple[Path, ExportManifest]":
            now = app.clock.now()
            realm = await app.realm_caches.of(await realm_named(app, subdomain)).realm()
            path = file or Path(f"{realm.subdomain or 'parley'}-{now:%Y%m%d-%H%M%S}.export")
            if path.exists() and not force:
                raise Failure(f"{path} is there already: name another file, or use --force.")
            wanted = exports.ExportRequest(
                realm_id=realm.realm_id,
                scope=only or "everything",
                secrets=with_secrets,
                version=VERSION,
                now=now,
            )
            url = app.settings.database_url
            assert url is not None
            written = await exports.export(url, path, wanted, app.blobs, Progress("Writing"))
            return path, written

        path, manifest = with_app(settings_beside(config, data), write)
        exports.verify(path, Progress("Comparing"))
    click.echo(f"{path}: {_amount(manifest)} of {manifest.name!r}, {size(path.stat().st_size)}.")


@click.command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--realm",
    "--subdomain",
    "subdomain",
    help="The subdomain of the new organization; '' is the server's own address.",
)
@click.option(
    "--into-existing",
    is_flag=True,
    help="Add to an organization in use; of other programs' exports only.",
)
@click.option("--name", help="What it is called; of other programs' exports only.")
@click.option("--owner", help="The address of its first owner; of other programs' exports only.")
@click.option("--topic", help="The topic of messages outside of threads.")
@click.option(
    "--report",
    "report_path",
    type=click.Path(dir_okay=False, path_type=Path),
    help="A file for the report, as JSON.",
)
@click.option(
    "--slack-token-file",
    "token_file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A file with a token of Slack: fetch files, pictures, emoji and addresses with it.",
)
@click.option(
    "--fetch-pictures",
    is_flag=True,
    help="Fetch profile pictures from the public addresses in an export of Slack.",
)
@click.option("--dry-run", is_flag=True, help="Only read the file, and say what is in it.")
@place_options
def import_realm(
    file: Path,
    *,
    subdomain: str | None,
    into_existing: bool,
    name: str | None,
    owner: str | None,
    topic: str | None,
    report_path: Path | None,
    token_file: Path | None,
    fetch_pictures: bool,
    dry_run: bool,
    config: Path | None,
    data: Path | None,
) -> None:
    """Import an organization from FILE, with or without a running server.

    FILE is an export of Parley, Zulip, Slack, Mattermost or Rocket.Chat (docs/moving.md).

    An export of Parley is imported atomically: message ids and read state are preserved; ids that
    are unique to the server (users, channels) are preserved on a new server, and mapped in all
    references elsewhere. An import from another program that was interrupted continues when the
    same command is run again.

    Import only files that you trust: they say what users have written.
    """
    choices = ImportChoices(
        subdomain=subdomain,
        into_existing=into_existing,
        name=name,
        owner=owner,
        topic=topic,
        report_path=report_path,
        dry_run=dry_run,
        token_file=token_file,
        fetch_pictures=fetch_pictures,
    )
    with sentences():
        _import_any(settings_beside(config, data), file, choices)


def _import_any(settings: "Settings", file: Path, choices: ImportChoices) -> None:
    """Import an export of Parley or of another program."""
    from server.imports.errors import FileRefusedError, ImportStoppedError
    from server.imports.recognition import is_of_parley, source_of

    try:
        source = source_of(file)
        if source is not None:
            import_from(source, settings, file, choices)
            return
    except (FileRefusedError, ImportStoppedError) as error:
        raise Failure(str(error)) from error
    if not is_of_parley(file):
        raise Failure(f"{file} is no export of Parley, Slack, Mattermost, Rocket.Chat or Zulip.")
    if given := choices.not_for_parley():
        raise Failure(
            f"{' and '.join(given)} cannot be given for an export of Parley, which is imported"
            " as it is: leave it out."
        )
    _import_own(settings, file, choices.subdomain, choices.report_path, dry_run=choices.dry_run)


def _import_own(
    settings: "Settings",
    file: Path,
    subdomain: str | None,
    report_path: Path | None,
    *,
    dry_run: bool,
) -> None:
    """Import an export of Parley."""
    from scripts.cli.session import with_app
    from storage import exports

    manifest = exports.verify(file, Progress("Comparing"))
    if problem := exports.refusal_of_version(manifest):
        raise Failure(problem)
    if dry_run:
        write_report(_report_of(manifest), report_path)
        click.echo(f"{_amount(manifest)} of {manifest.name!r} can be imported.")
        return
    place = manifest.subdomain if subdomain is None else subdomain
    check_place(settings, place)
    with_app(settings, lambda app: _import(app, file, place), may_found=True)
    write_report(_report_of(manifest), report_path)
    where = f"at the subdomain `{place}`" if place else "at the server's own address"
    click.echo(f"{_amount(manifest)} of {manifest.name!r} are here, {where}.")
    if not manifest.secrets:
        click.echo("No account has a password, and API keys are new: they were not in the export.")


async def _import(app: "App", file: Path, subdomain: str) -> None:
    from server.domain.api_keys import new_api_key
    from storage import exports
    from storage.migrate import connected

    url = app.settings.database_url
    assert url is not None
    with connected(url) as connection, exports.reading(file) as (archive, manifest):
        numbers = exports.renumbering(connection, manifest, subdomain)
        # Before their rows: content without rows would be removed, but not within a day.
        kept = await exports.take_files(archive, app.blobs, numbers.key, Progress("Importing"))
        try:
            proxy = app.realm_caches.rendering.proxy
            with_own_links = str if proxy is None else proxy.made_own
            place = exports.ImportTarget(subdomain, new_api_key, with_own_links)
            exports.load(connection, archive, manifest, numbers, place, Progress("Importing"))
        except BaseException:
            await exports.drop_files(app.blobs, kept)
            raise


def check_place(settings: "Settings", subdomain: str) -> None:
    """Raise Failure unless the server can have an organization at this subdomain."""
    from server.domain.realms import checked_subdomain

    checked_subdomain(subdomain)
    if subdomain and settings.root_domain is None:
        raise Failure(
            "Organizations at subdomains need PARLEY_ROOT_DOMAIN: without it every address is the"
            " organization at the root. Set it, or use --realm ''."
        )


def _report_of(manifest: "ExportManifest") -> "ImportReport":
    """Return what the export holds; nothing of it is left out."""
    from server.imports.report import ImportReport

    report = ImportReport()
    for table in manifest.tables:
        report.count(table.name, table.rows)
    report.count("files", manifest.files)
    return report


def _amount(manifest: "ExportManifest") -> str:
    messages = next((table.rows for table in manifest.tables if table.name == "messages"), 0)
    parts = (
        counted(messages, "message", "messages"),
        counted(manifest.rows, "row", "rows"),
        counted(manifest.files, "file", "files"),
    )
    return ", ".join(parts[:2]) + f" and {parts[2]}"

"""`parley import` of other programs' exports."""

import asyncio
import json
import os
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

import click

from scripts.cli.backup import PROGRESS_SECONDS
from scripts.cli.failures import Failure
from scripts.cli.options import OwnProcess

if TYPE_CHECKING:
    from server.app import App
    from server.imports.importing import (
        Fetches,
        ImportOptions,
        NewOrganization,
        OrganizationInUse,
    )
    from server.imports.recognition import ImportSource
    from server.imports.report import ImportReport
    from server.settings import Settings
    from storage.ids import RealmId, UserId

    Run: TypeAlias = Callable[[App, NewOrganization | OrganizationInUse], Awaitable[ImportReport]]

NICENESS: Final = 10


class ImportProgress:
    """A progress display for the terminal, with the rate."""

    def __init__(self) -> None:
        self._next_at = time.monotonic() + PROGRESS_SECONDS

    def __call__(self, what: str, done: int, total: int) -> None:
        if time.monotonic() >= self._next_at:
            self._next_at = time.monotonic() + PROGRESS_SECONDS
            of = f" of {total:,}" if total else ""
            click.echo(f"{done:,}{of} {what} ...", err=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportChoices:
    """Options of `parley import`; None: not given."""

    subdomain: str | None
    into_existing: bool
    name: str | None
    owner: str | None
    topic: str | None
    report_path: Path | None
    dry_run: bool
    token_file: Path | None
    fetch_pictures: bool

    def not_for_parley(self) -> list[str]:
        """Return the given options that exports of Parley do not take."""
        given = {
            "--name": self.name,
            "--owner": self.owner,
            "--topic": self.topic,
            "--into-existing": self.into_existing or None,
            "--slack-token-file": self.token_file,
            "--fetch-pictures": self.fetch_pictures or None,
        }
        return [option for option, value in given.items() if value is not None]


def import_from(
    source: "ImportSource", settings: "Settings", file: Path, choices: ImportChoices
) -> None:
    """Import another program's export, or continue; print the report.

    Raises FileRefusedError and ImportStoppedError.
    """
    from server.imports.importing import contents_of

    token = _slack_token(source, choices.token_file, fetch_pictures=choices.fetch_pictures)
    fetches: Fetches = "nothing"
    if token is not None or choices.fetch_pictures:
        fetches = "pictures" if token is None else "everything"
        source = asyncio.run(_completed_slack(settings, token))
    if choices.dry_run:
        report = contents_of(source, file, ImportProgress())
        _show(report, choices.report_path, heading="In the file")
        return
    topic = _checked_topic(choices.topic, source)
    _stand_back()

    async def run(app: "App", target: "NewOrganization | OrganizationInUse") -> "ImportReport":
        from server.imports.importing import ImportOptions

        options = ImportOptions(target=target, topic=topic, fetches=fetches)
        return await _import(app, source, file, options, token)

    if choices.into_existing:
        report, said = _add(settings, file, choices, run)
    else:
        report, said = _found(settings, file, choices, run)
    _show(report, choices.report_path)
    click.echo(said)


def _add(
    settings: "Settings", file: Path, choices: ImportChoices, run: "Run"
) -> "tuple[ImportReport, str]":
    """Import into an organization in use; return the report, and a sentence about the result."""
    from scripts.cli.session import with_app
    from server.imports.importing import OrganizationInUse

    if choices.name is not None:
        raise Failure("--name is for a new organization: one in use keeps its name.")

    async def add(app: "App") -> "tuple[ImportReport, str]":
        realm_id, owner_id, place = await _in_use(app, choices.subdomain, choices.owner)
        report = await run(app, OrganizationInUse(realm_id=realm_id, owner_id=owner_id))
        return report, f"{file.name} is in {place} now. New accounts have no password yet."

    return with_app(settings, add)


def _found(
    settings: "Settings", file: Path, choices: ImportChoices, run: "Run"
) -> "tuple[ImportReport, str]":
    """Import into a new organization; return the report, and a sentence about the result."""
    from scripts.cli.session import with_app
    from scripts.cli.transfer import check_place
    from server.imports.importing import NewOrganization

    subdomain = choices.subdomain or ""
    check_place(settings, subdomain)
    default_name = subdomain or file.stem.removesuffix(".tar").replace("_", " ")
    target = NewOrganization(
        name=choices.name or default_name[:40], subdomain=subdomain, owner_email=choices.owner
    )
    report = with_app(settings, lambda app: run(app, target), may_found=True)
    where = f"at the subdomain `{subdomain}`" if subdomain else "at the server's own address"
    return report, f"{target.name} is here, {where}. No account has a password yet."


def _slack_token(
    source: "ImportSource", token_file: Path | None, *, fetch_pictures: bool
) -> str | None:
    """Return the token for Slack, if there is one. Raises FileRefusedError."""
    from server.imports.recognition import SLACK
    from server.imports.slack_web import token_in

    if source is not SLACK and (token_file is not None or fetch_pictures):
        raise Failure(f"--slack-token-file and --fetch-pictures are of no use to {source.name}.")
    return None if token_file is None else token_in(token_file)


async def _completed_slack(settings: "Settings", token: str | None) -> "ImportSource":
    """Return Slack with what its Web API knows. Raises FileRefusedError."""
    from server.egress import open_egress
    from server.imports.recognition import slack_with
    from server.imports.slack_web import SlackWeb

    async with open_egress(settings) as egress:
        return slack_with(await SlackWeb(egress, token).supplement())


def _stand_back() -> None:
    """Leave the processor to the server, in a process of the command's own."""
    context = click.get_current_context(silent=True)
    if context is not None and isinstance(context.obj, OwnProcess):
        os.nice(NICENESS)


def _checked_topic(topic: str | None, source: "ImportSource") -> str:
    from server.domain.messages import clean_new_topic

    return clean_new_topic(topic or f"imported from {source.name}", "general chat")


async def _in_use(
    app: "App", subdomain: str | None, owner: str | None
) -> "tuple[RealmId, UserId | None, str]":
    """Return the organization, the owner with this address, and what the organization is called."""
    from scripts.cli.session import called, person_named, realm_named
    from server.actions.user_roles import owners_of

    realm_id = await realm_named(app, subdomain)
    owner_id = None
    if owner is not None:
        async with app.database.connection() as connection:
            owner_id = await person_named(connection, realm_id, owner)
            if owner_id not in await owners_of(connection, realm_id):
                raise Failure(f"{owner} is no owner of the organization.")
    return realm_id, owner_id, (await called(app, realm_id)).rstrip(",")


async def _import(
    app: "App",
    source: "ImportSource",
    file: Path,
    options: "ImportOptions",
    token: str | None,
) -> "ImportReport":
    from queue_processors.import_process import services_of
    from server.domain.errors import BadRequestError
    from server.imports.importing import Importer, fingerprint_of
    from server.imports.slack_web import SlackWeb

    downloads = None if options.fetches == "nothing" else SlackWeb(app.egress, token)
    importer = Importer(
        services_of(app, downloads),
        options,
        fingerprint_of(file),
        lambda report: source.opened(file, report),
        ImportProgress(),
    )
    try:
        return await importer.run()
    except BadRequestError as error:
        raise Failure(error.message) from error


def _show(report: "ImportReport", path: Path | None, *, heading: str = "Imported") -> None:
    for line in report.lines(heading):
        click.echo(line)
    write_report(report, path)


def write_report(report: "ImportReport", path: Path | None) -> None:
    """Write the report as JSON, if there is a path for it."""
    if path is not None:
        path.write_text(json.dumps(report.as_json(), indent=1, ensure_ascii=False) + "\n")

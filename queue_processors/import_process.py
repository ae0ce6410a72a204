"""The process of one import that an owner asked for over the API.

It reads what to do from its input, which ends when the process that wants it is gone: then this one
ends too, at any point, since an import goes on where it was.
"""

import asyncio
import os
import pickle
import sys
import tempfile
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import structlog

from server.actions import imports as actions
from server.app import App, open_app
from server.domain.addresses import Addresses
from server.domain.errors import DomainError
from server.domain.messages import clean_new_topic
from server.i18n import Text, _
from server.imports.downloads import Downloads
from server.imports.errors import FileRefusedError, ImportStoppedError
from server.imports.importing import (
    Importer,
    ImportOptions,
    OrganizationInUse,
    contents_of,
    fingerprint_of,
)
from server.imports.recognition import ImportSource, source_of
from server.imports.services import ImportServices
from server.settings import Settings
from server.telemetry.logs import configure_logging
from server.transactions import Tx
from storage import import_requests
from storage.database import RETRYABLE_ERRORS
from storage.ids import ImportRequestId, RealmId
from storage.import_requests import ImportRequestRow

logger = structlog.get_logger(__name__)

TEMPORARY: Final = os.EX_TEMPFAIL
"""Exit code if the database or the store of files does not answer."""
MAX_NAME: Final = 1_000
"""Characters of a name from the file in the sentence about it."""
UNKNOWN: Final = _(
    "The file is no export of Slack, Mattermost, Rocket.Chat or Zulip. An export of Parley becomes"
    " an organization of its own: the operator of the server imports it with `parley import`."
)


@dataclass(frozen=True, slots=True)
class Errand:
    """What the process is to do."""

    settings: Settings
    realm_id: RealmId
    request_id: ImportRequestId


def main() -> None:
    errand = pickle.load(sys.stdin.buffer)  # noqa: S301 - of the parent process
    configure_logging(errand.settings)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        asyncio.run(perform(errand))
    except (*RETRYABLE_ERRORS, OSError):
        logger.exception("imports.postponed", realm_id=errand.realm_id)
        sys.exit(TEMPORARY)


def _end_with_parent() -> None:
    # Not by sys.stdin: this thread would hold its lock when the interpreter ends.
    while os.read(0, 1):
        pass
    os._exit(1)


async def perform(errand: Errand) -> None:
    """Go on with the import to its end, or to the sentence that says why it has none.

    Raises what the database or the store of files raises if it does not answer.
    """
    async with open_app(errand.settings) as app:
        async with app.database.connection() as connection:
            row = await import_requests.by_id(connection, errand.realm_id, errand.request_id)
        if row is None or not row.is_under_way or row.blob_key is None:
            return
        with tempfile.TemporaryDirectory(prefix="parley-import-") as folder:
            # Readers may look at how the name ends.
            path = Path(folder) / f"file{Path(row.file_name).suffix[:8]}"
            await _fetch(app, row.blob_key, path)
            try:
                await _go_on(app, errand, row, path)
            except (FileRefusedError, ImportStoppedError, DomainError) as refusal:
                problem = _with_name_of(row, path, refusal.message)
                now = app.clock.now()
                await _write(
                    app, errand, lambda tx: actions.fail(tx, errand.request_id, problem, now)
                )


def _with_name_of(row: ImportRequestRow, path: Path, problem: str) -> str:
    """Return the sentence with the name by which the owner knows the file, and others cut."""

    def named(text: str) -> str:
        return text.replace(str(path), row.file_name).replace("\0", "")[:MAX_NAME]

    return problem.with_texts(named) if isinstance(problem, Text) else named(problem)


async def _fetch(app: App, blob_key: str, path: Path) -> None:
    with path.open("wb") as file:
        async for chunk in app.blobs.read(blob_key):
            await asyncio.to_thread(file.write, chunk)


async def _go_on(app: App, errand: Errand, row: ImportRequestRow, path: Path) -> None:
    source = source_of(path)
    if source is None:
        raise FileRefusedError(UNKNOWN)
    fingerprint = fingerprint_of(path)
    if row.state == "reading":
        report = await asyncio.to_thread(contents_of, source, path, lambda *_: None)
        await _write(
            app,
            errand,
            lambda tx: actions.note_contents(
                tx,
                errand.request_id,
                source=source.name,
                fingerprint=fingerprint,
                report=report.as_json(),
            ),
        )
        return
    report = await _importer(app, errand, row, source, path).run()
    now = app.clock.now()
    await _write(
        app, errand, lambda tx: actions.finish(tx, errand.request_id, report.as_json(), now)
    )


def _importer(
    app: App, errand: Errand, row: ImportRequestRow, source: ImportSource, path: Path
) -> Importer:
    target = OrganizationInUse(realm_id=errand.realm_id, owner_id=row.acting_user_id)
    topic = row.topic or clean_new_topic(f"imported from {source.name}", "general chat")
    return Importer(
        services_of(app),
        ImportOptions(target=target, topic=topic),
        fingerprint_of(path),
        lambda report: source.opened(path, report),
        lambda *_: None,
    )


def services_of(app: App, downloads: Downloads | None = None) -> ImportServices:
    """Return what an import uses of this process."""
    settings = app.settings
    return ImportServices(
        database=app.database,
        blobs=app.blobs,
        pictures=app.pictures,
        addresses=Addresses(settings.public_url, settings.root_domain, settings.gravatars),
        of_realm=app.uncached_realm_services,
        now=app.clock.now,
        downloads=downloads,
    )


async def _write(app: App, errand: Errand, work: Callable[[Tx], Awaitable[None]]) -> None:
    await app.uncached_realm_services(errand.realm_id).write(work)


if __name__ == "__main__":
    main()

"""Write the exports of their own data that users have asked for."""

import asyncio
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final

import msgspec
import structlog

from queue_processors.archives import store_archive
from server.actions.account_exports import (
    AccountExportArguments,
    give_own_data_up,
    keep_own_data,
)
from server.actions.messages.notices import Notice, deliver
from server.app import App
from server.domain.account_exports import KEYS, RETENTION
from server.domain.user_settings import UserSettings
from server.i18n import _, catalogue_language, translated
from server.runtime.version import VERSION
from storage import account_exports, users
from storage.backups import BackupError
from storage.exports.account_writing import AccountExportRequest, export_account
from storage.ids import AccountExportId, RealmId
from storage.users import UserRow

logger = structlog.get_logger(__name__)

PROGRESS_SECONDS: Final = 2.0


async def make_account_export(app: App, realm_id: RealmId, arguments: bytes) -> None:
    """Write an export, unless it is finished, it was deleted or the account is deactivated."""
    export_id = msgspec.json.decode(arguments, type=AccountExportArguments).export_id
    async with app.database.connection() as connection:
        row = await account_exports.by_id(connection, realm_id, export_id)
        if row is None or not row.is_pending:
            return
        [person] = await users.by_ids(connection, realm_id, [row.user_id])
    services, url = app.realm_services(realm_id), app.settings.database_url
    assert url is not None
    if not person.is_active:
        await services.write(lambda tx: give_own_data_up(tx, export_id, now=app.clock.now()))
        return
    request = AccountExportRequest(
        realm_id=realm_id,
        user_id=row.user_id,
        organization=(await services.realm_cache.realm()).name,
        version=VERSION,
        now=app.clock.now(),
    )
    try:
        async with _noting(app, realm_id, export_id) as progress:
            with tempfile.TemporaryDirectory(prefix="parley-export-") as folder:
                path = Path(folder) / "account.zip"
                await export_account(url, path, request, app.blobs, progress.reach)
                key, size, digest = await store_archive(app, KEYS, realm_id, path)
    except (BackupError, OSError) as error:
        logger.exception("account_export.failed", realm_id=realm_id, error=str(error))
        await services.write(lambda tx: give_own_data_up(tx, export_id, now=app.clock.now()))
        return
    if not await services.write(
        lambda tx: keep_own_data(tx, export_id, blob_key=key, size=size, digest=digest)
    ):
        await app.blobs.delete(key)
        return
    await deliver(services, _notice(person).draft(f"account_export:{export_id}"))


def _notice(row: UserRow) -> Notice:
    """Return the notice that the export is ready, in the user's language."""
    text = _(
        "The export of your data is ready. Download it within {days} days in your"
        " [settings]({link}).",
        days=RETENTION.days,
        link="#settings/account",
    )
    language = catalogue_language(UserSettings.of(row.settings).default_language)
    return Notice(to=[row.user_id], content=translated(text, language))


class _Progress:
    """The latest percentage, which any thread sets."""

    def __init__(self) -> None:
        self.percent = 0

    def reach(self, percent: int) -> None:
        self.percent = percent


@asynccontextmanager
async def _noting(
    app: App, realm_id: RealmId, export_id: AccountExportId
) -> AsyncIterator[_Progress]:
    """Record the progress of an export while it is written."""
    progress = _Progress()

    async def note() -> None:
        noted = 0
        while True:
            await asyncio.sleep(PROGRESS_SECONDS)
            if progress.percent != noted:
                noted = progress.percent
                async with app.database.connection() as connection:
                    await account_exports.note_progress(connection, realm_id, export_id, noted)

    task = asyncio.create_task(note())
    try:
        yield progress
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task

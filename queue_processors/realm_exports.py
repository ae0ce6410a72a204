"""Process the export queue: write the organization archives that administrators requested."""

import tempfile
from pathlib import Path

import msgspec
import structlog

from queue_processors.archives import store_archive
from server.actions.realm_exports import ExportArguments, give_export_up, keep_export
from server.app import App
from server.domain.realm_exports import KEYS, KINDS
from server.runtime.version import VERSION
from storage import exports, realm_exports
from storage.backups import BackupError
from storage.exports import ExportRequest
from storage.ids import RealmId

logger = structlog.get_logger(__name__)


async def make_export(app: App, realm_id: RealmId, arguments: bytes) -> None:
    """Write an export, unless it is finished or its request was deleted."""
    export_id = msgspec.json.decode(arguments, type=ExportArguments).export_id
    async with app.database.connection() as connection:
        row = await realm_exports.by_id(connection, realm_id, export_id)
    if row is None or not row.is_pending:
        return
    services, url = app.realm_services(realm_id), app.settings.database_url
    assert url is not None
    wanted = ExportRequest(
        realm_id=realm_id,
        scope=KINDS[row.export_type],
        secrets=False,
        version=VERSION,
        now=app.clock.now(),
    )
    try:
        with tempfile.TemporaryDirectory(prefix="parley-export-") as folder:
            path = Path(folder) / "organization.zip"
            await exports.export(url, path, wanted, app.blobs, lambda *_: None)
            key, size, digest = await store_archive(app, KEYS, realm_id, path)
    except (BackupError, OSError) as error:
        logger.exception("realm_export.failed", realm_id=realm_id, error=str(error))
        await services.write(lambda tx: give_export_up(tx, export_id, now=app.clock.now()))
        return
    if not await services.write(
        lambda tx: keep_export(tx, export_id, blob_key=key, size=size, digest=digest)
    ):
        await app.blobs.delete(key)

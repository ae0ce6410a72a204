"""Have the thumbnails of imported pictures made."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from server.actions.realm_services import RealmServices
from server.imports.errors import ELSEWHERE, ImportStoppedError
from server.jobs import Thumbnails, enqueue
from server.transactions import Tx
from storage import attachments, imports
from storage.ids import AttachmentId
from storage.imports import ImportRow

BATCH: Final = 100


async def make_thumbnails(services: RealmServices, row: ImportRow) -> ImportRow:
    """Enqueue jobs for the thumbnails of imported pictures; return the progress.

    `done` is the last attachment. Raises ImportStoppedError if another process continues.
    """
    while True:
        async with services.read() as connection:
            ids = await attachments.without_thumbnails(
                connection, services.realm_id, AttachmentId(row.done), limit=BATCH
            )
        if not ids:
            return row
        if not await services.write(partial(_enqueue, row=row, ids=ids)):
            raise ImportStoppedError(ELSEWHERE)
        row = replace(row, done=ids[-1])


async def _enqueue(tx: Tx, *, row: ImportRow, ids: Sequence[AttachmentId]) -> bool:
    """Enqueue jobs for these pictures, unless another process continues the import."""
    connection = await tx.changing()
    advanced = await connection.run(
        imports.advance(tx.realm_id, row, phase=row.phase, done=ids[-1], report=row.report)
    )
    for each in ids if advanced else ():
        enqueue(tx, Thumbnails(realm_id=tx.realm_id, attachment_id=each))
    return bool(advanced)

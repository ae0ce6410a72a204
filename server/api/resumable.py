"""Uploads that come in several requests: kept in parts, and put together at the end."""

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from server.actions import attachments as actions
from server.api.attachments import Uploaded, max_upload_bytes
from server.api.endpoint import Request
from server.domain.attachments import MIB, clean_name, url_of
from server.domain.errors import BadRequestError, DomainError, NotFoundError
from server.messaging.background import running, to_the_end
from storage import attachments, resumable_uploads
from storage.blobs import BlobStoreError, IncomingBlob, new_key
from storage.database import DatabaseUnavailableError, StatementTimeoutError
from storage.resumable_uploads import ResumableRow

PARTS: Final = "parts"
PART_BYTES: Final = 8 * MIB
"""More than this is never lost when the server ends."""
WAITS: Final = timedelta(hours=24)
"""How long an upload waits for its rest."""
MAX_UNFINISHED: Final = 50
"""Of one person."""
CLAIMED: Final = timedelta(seconds=15)
"""Timeout of the claim to assemble an upload; the process that holds it extends it."""
CLAIMING_SECONDS: Final = 4.0
"""How often they say so."""
LOOK_SECONDS: Final = 0.2
LOOKS: Final = 150
"""How often, and so how long, a user looks who waits for them: longer than for a dead process."""


class OffsetConflictError(DomainError):
    """What comes does not follow what is there."""

    status = 409


class LockedError(DomainError):
    """Somebody else is at it."""

    status = 423


class TooLargeError(DomainError):
    status = 413


@dataclass(frozen=True, slots=True)
class Resumable:
    """The unfinished uploads of whoever asks."""

    request: Request

    async def begin(self, size: int, name: str) -> ResumableRow:
        """Return a new one. Raises a DomainError where there is no room for it."""
        request, actor = self.request, self.request.actor
        limit = max_upload_bytes(request.app.settings)
        if size > limit:
            raise TooLargeError(
                f"Uploaded file is larger than the allowed limit of {limit // MIB} MiB"
            )
        row = ResumableRow(
            upload_id=secrets.token_urlsafe(16),
            owner_id=actor.user_id,
            name=clean_name(name),
            size=size,
            received=0,
            blob_key=new_key(actions.UPLOADS, actor.realm_id),
            expires_at=request.app.clock.now() + WAITS,
            is_finished=False,
        )
        quota = (await request.realm_cache.settings()).upload_quota_mib
        async with request.read() as connection:
            await attachments.begin_space(connection, actor.realm_id)
            used = await attachments.space_used(connection, actor.realm_id)
            unfinished = await resumable_uploads.unfinished(
                connection, actor.realm_id, actor.user_id, request.app.clock.now()
            )
            # Of others nothing is counted: no user keeps them from uploading by announcing much.
            actions.check_quota(quota, used + unfinished.bytes, size)
            if unfinished.count >= MAX_UNFINISHED:
                raise BadRequestError(f"Too many unfinished uploads (limit: {MAX_UNFINISHED})")
            await resumable_uploads.insert(connection, actor.realm_id, row)
        return row

    async def find(self, upload_id: str) -> ResumableRow:
        """Return one that may go on. Raises NotFoundError."""
        actor, now = self.request.actor, self.request.app.clock.now()
        async with self.request.read() as connection:
            row = await resumable_uploads.of_owner(
                connection, actor.realm_id, actor.user_id, upload_id, now
            )
        if row is None:
            raise NotFoundError("There is no such upload, or not any more.")
        return row

    async def take(self, row: ResumableRow, content: AsyncIterator[bytes]) -> int:
        """Keep what comes, also if it is cut off. How much is there then.

        Raises a DomainError for more than was announced, or if others have sent it meanwhile.
        """
        start = row.received
        part = await self.request.app.blobs.receive()
        try:
            async for chunk in content:
                if start + part.size + len(chunk) > row.size:
                    raise BadRequestError("More has come than Upload-Length says.")
                await part.write(chunk)
                if part.size >= PART_BYTES:
                    full, part = part, await self.request.app.blobs.receive()
                    start = await to_the_end(self._keep(row, start, full))
        finally:
            start = await to_the_end(self._keep(row, start, part))
        return start

    async def _keep(self, row: ResumableRow, start: int, part: IncomingBlob) -> int:
        """Let the part be there; how much is there with it. An empty one is none."""
        app, realm_id = self.request.app, self.request.actor.realm_id
        try:
            if not part.size:
                return start
            key = new_key(PARTS, realm_id)
            await part.keep(key)
            async with self.request.read() as connection:
                is_next = await resumable_uploads.add_part(
                    connection,
                    realm_id,
                    row.upload_id,
                    start=start,
                    size=part.size,
                    blob_key=key,
                    expires_at=app.clock.now() + WAITS,
                )
            if not is_next:
                await self._drop(key)
                raise OffsetConflictError("Somebody else has sent this meanwhile.")
            return start + part.size
        finally:
            await part.discard()

    async def finish(self, row: ResumableRow) -> Uploaded:
        """Make a file of one that is whole; doing so again gives the same.

        Waits while another user does so: whoever hears that all is there does not ask again.
        Raises LockedError if that takes long, UploadQuotaError, and NotFoundError.
        """
        for _ in range(LOOKS):
            if row.is_finished or await to_the_end(self._assemble(row)):
                url = url_of(actions.path_id_of(row.blob_key, row.name))
                return Uploaded(url=url, uri=url, filename=row.name)
            await asyncio.sleep(LOOK_SECONDS)
            row = await self.find(row.upload_id)
        raise LockedError("This upload is being put together.")

    async def _assemble(self, row: ResumableRow) -> bool:
        """Return whether it is a file now; False: another user is at it."""
        app, realm_id = self.request.app, self.request.actor.realm_id
        now = app.clock.now()
        async with self.request.read() as connection:
            if not await resumable_uploads.claim(
                connection, realm_id, row.upload_id, now=now, until=now + CLAIMED
            ):
                return False
            parts = await resumable_uploads.parts(connection, realm_id, row.upload_id)
        try:
            async with running(self._go_on_claiming(row)):
                await self._join(row, parts)
        except DomainError:
            await self._forget(row, row.blob_key, *parts)
            raise
        except BaseException:
            await self._claim_until(row, None)
            raise
        async with self.request.read() as connection:
            await resumable_uploads.finish(connection, realm_id, row.upload_id)
        await self._drop(*parts)
        return True

    async def _go_on_claiming(self, row: ResumableRow) -> None:
        while True:
            await asyncio.sleep(CLAIMING_SECONDS)
            await self._claim_until(row, self.request.app.clock.now() + CLAIMED)

    async def _claim_until(self, row: ResumableRow, until: datetime | None) -> None:
        with suppress(DatabaseUnavailableError, StatementTimeoutError):
            async with self.request.read() as connection:
                await resumable_uploads.claim_until(
                    connection, self.request.actor.realm_id, row.upload_id, until=until
                )

    async def _join(self, row: ResumableRow, parts: list[str]) -> None:
        """Let the parts be the content of the file; an earlier try may have come as far."""
        app, request, actor = self.request.app, self.request, self.request.actor
        whole = await app.blobs.receive()
        try:
            for key in parts:
                async for chunk in app.blobs.read(key):
                    await whole.write(chunk)
            with suppress(FileExistsError):
                await whole.keep(row.blob_key)
            added = actions.new_attachment(
                actor.realm_id, actor.user_id, row.name, whole, app.clock.now(), key=row.blob_key
            )
        finally:
            await whole.discard()
        assert whole.size == row.size, "parts are what has been counted of them"
        async with request.read() as connection:
            known = await attachments.known_blobs(connection, actor.realm_id, [row.blob_key])
        if not known:
            await request.write(actions.add_attachment, added)

    async def end(self, row: ResumableRow) -> None:
        """Forget it, and what has come of it. Raises LockedError while it is put together."""
        realm_id, now = self.request.actor.realm_id, self.request.app.clock.now()
        async with self.request.read() as connection:
            if await resumable_uploads.is_claimed(connection, realm_id, row.upload_id, now=now):
                raise LockedError("This upload is being put together.")
            parts = await resumable_uploads.parts(connection, realm_id, row.upload_id)
        await self._forget(row, *parts)

    async def _forget(self, row: ResumableRow, *keys: str) -> None:
        async with self.request.read() as connection:
            await resumable_uploads.delete(connection, self.request.actor.realm_id, row.upload_id)
        await self._drop(*keys)

    async def _drop(self, *keys: str) -> None:
        """Delete content of which no row speaks; what stays, the keeper of files finds."""
        with suppress(BlobStoreError):
            for key in keys:
                await self.request.app.blobs.delete(key)

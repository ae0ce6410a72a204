"""Resumable uploads: received in parts, and assembled at the end."""

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from server.actions import attachments as actions
from server.actions import imports
from server.api.endpoint import Request
from server.api.uploads import Uploaded, max_import_bytes, max_upload_bytes
from server.domain.addresses import API_PREFIX
from server.domain.attachments import MIB, clean_name, url_of
from server.domain.errors import BadRequestError, DomainError, NotFoundError
from server.messaging.background import running, to_the_end
from storage import attachments, import_requests, resumable_uploads, upload_space
from storage.blobs import BlobStoreError, IncomingBlob, new_key
from storage.database import DatabaseUnavailableError, StatementTimeoutError
from storage.resumable_uploads import Purpose, ResumableRow

PARTS: Final = "parts"
PART_BYTES: Final = 8 * MIB
"""Maximum size that is lost if the server ends."""
UPLOAD_TIMEOUT: Final = timedelta(hours=24)
"""Timeout of an unfinished upload."""
MAX_UNFINISHED: Final = 50
"""Maximum per user."""
CLAIM_TIMEOUT: Final = timedelta(seconds=15)
"""Timeout of the claim to assemble an upload; the process that holds it extends it."""
CLAIM_RENEWAL_SECONDS: Final = 4.0
"""Interval of extending the claim."""
CHECK_SECONDS: Final = 0.2
MAX_CHECKS: Final = 150
"""Maximum number of polls of a waiting request: longer than the claim of a dead process."""


class OffsetConflictError(DomainError):
    """The chunk does not follow what has been received."""

    status = 409


class LockedError(DomainError):
    """Another request has claimed the upload."""

    status = 423


class TooLargeError(DomainError):
    status = 413


@dataclass(frozen=True, slots=True)
class Resumable:
    """The caller's unfinished uploads."""

    request: Request

    async def begin(self, size: int, name: str, purpose: Purpose = "attachment") -> ResumableRow:
        """Create an upload. Raises a DomainError if there is no room for it."""
        request, actor = self.request, self.request.actor
        settings = request.app.settings
        is_import = purpose == "import"
        if is_import:
            imports.check_owner(actor)
        limit = max_import_bytes(settings) if is_import else max_upload_bytes(settings)
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
            blob_key=new_key(imports.FILES if is_import else actions.UPLOADS, actor.realm_id),
            expires_at=request.app.clock.now() + UPLOAD_TIMEOUT,
            is_finished=False,
            purpose=purpose,
        )
        quota = (await request.realm_cache.settings()).upload_quota_mib
        async with request.read() as connection:
            await upload_space.begin(connection, actor.realm_id)
            used = await upload_space.used(connection, actor.realm_id)
            unfinished = await resumable_uploads.unfinished(
                connection, actor.realm_id, actor.user_id, request.app.clock.now()
            )
            # Uploads of other users do not count: announcing much keeps no one else from uploading.
            if not is_import:
                actions.check_quota(quota, used + unfinished.bytes, size)
            if unfinished.count >= MAX_UNFINISHED:
                raise BadRequestError(f"Too many unfinished uploads (limit: {MAX_UNFINISHED})")
            await resumable_uploads.insert(connection, actor.realm_id, row)
        return row

    async def find(self, upload_id: str) -> ResumableRow:
        """Return an upload that may be resumed. Raises NotFoundError."""
        actor, now = self.request.actor, self.request.app.clock.now()
        async with self.request.read() as connection:
            row = await resumable_uploads.of_owner(
                connection, actor.realm_id, actor.user_id, upload_id, now
            )
        if row is None:
            raise NotFoundError("There is no such upload, or not any more.")
        return row

    async def take(self, row: ResumableRow, content: AsyncIterator[bytes]) -> int:
        """Store what arrives, even if it is cut off; return how much there is then.

        Raises a DomainError for more than was announced, or if another request has sent it
        meanwhile.
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
        """Record the part; return how much there is with it. An empty one is skipped."""
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
                    expires_at=app.clock.now() + UPLOAD_TIMEOUT,
                )
            if not is_next:
                await self._drop(key)
                raise OffsetConflictError("Another request has sent this meanwhile.")
            return start + part.size
        finally:
            await part.discard()

    async def finish(self, row: ResumableRow) -> Uploaded:
        """Assemble the file of a complete upload. Idempotent.

        Waits while another request does so: a client that is told that all is there does not ask
        again. Raises LockedError if that takes long, UploadQuotaError, and NotFoundError.
        """
        for _attempt in range(MAX_CHECKS):
            if row.is_finished or await to_the_end(self._assemble(row)):
                url = await self._url(row)
                return Uploaded(url=url, uri=url, filename=row.name)
            await asyncio.sleep(CHECK_SECONDS)
            row = await self.find(row.upload_id)
        raise LockedError("This upload is being put together.")

    async def _url(self, row: ResumableRow) -> str:
        """Return the address of what the upload has become."""
        if row.purpose == "attachment":
            return url_of(actions.path_id_of(row.blob_key, row.name))
        async with self.request.read() as connection:
            found = await import_requests.by_blob(
                connection, self.request.actor.realm_id, row.blob_key
            )
        if found is None:
            raise NotFoundError("This import was deleted.")
        return f"{API_PREFIX}/imports/{found.request_id}"

    async def _assemble(self, row: ResumableRow) -> bool:
        """Assemble the file; return False if another request has the claim."""
        app, realm_id = self.request.app, self.request.actor.realm_id
        now = app.clock.now()
        async with self.request.read() as connection:
            if not await resumable_uploads.claim(
                connection, realm_id, row.upload_id, now=now, until=now + CLAIM_TIMEOUT
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
            await asyncio.sleep(CLAIM_RENEWAL_SECONDS)
            await self._claim_until(row, self.request.app.clock.now() + CLAIM_TIMEOUT)

    async def _claim_until(self, row: ResumableRow, until: datetime | None) -> None:
        with suppress(DatabaseUnavailableError, StatementTimeoutError):
            async with self.request.read() as connection:
                await resumable_uploads.claim_until(
                    connection, self.request.actor.realm_id, row.upload_id, until=until
                )

    async def _join(self, row: ResumableRow, parts: list[str]) -> None:
        """Concatenate the parts to the content of the file.

        An earlier attempt may have come as far.
        """
        app = self.request.app
        whole = await app.blobs.receive()
        try:
            for key in parts:
                async for chunk in app.blobs.read(key):
                    await whole.write(chunk)
            with suppress(FileExistsError):
                await whole.keep(row.blob_key)
        finally:
            await whole.discard()
        assert whole.size == row.size, "parts are what has been counted of them"
        if row.purpose == "import":
            await self._request_import(row)
        else:
            await self._add_attachment(row, whole)

    async def _add_attachment(self, row: ResumableRow, whole: IncomingBlob) -> None:
        request, actor = self.request, self.request.actor
        async with request.read() as connection:
            known = await attachments.known_blobs(connection, actor.realm_id, [row.blob_key])
        if not known:
            now, name = request.app.clock.now(), row.name
            added = actions.new_attachment(
                actor.realm_id, actor.user_id, name, whole, now, key=row.blob_key
            )
            await request.write(actions.add_attachment, added)

    async def _request_import(self, row: ResumableRow) -> None:
        await self.request.write(
            imports.add_request,
            file_name=row.name,
            size=row.size,
            blob_key=row.blob_key,
            now=self.request.app.clock.now(),
        )

    async def end(self, row: ResumableRow) -> None:
        """Delete the upload and its parts. Raises LockedError while it is assembled."""
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
        """Delete content without a row; what remains, the orphan collector deletes."""
        with suppress(BlobStoreError):
            for key in keys:
                await self.request.app.blobs.delete(key)

"""Import a file: survey, realm, pictures, messages, links, thumbnails, end.

Each step after the survey is a transaction that records the progress, so that the next run
continues where one ended, however it did.
"""

import asyncio
import hashlib
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Final, Literal

from server.domain.access import OWNER
from server.domain.attachments import MIB
from server.domain.markdown import MediaPolicy, MentionedChannel, MentionedUser, Style
from server.domain.realm_settings import RealmSettings
from server.i18n import _, marked
from server.imports.accounts import planned_accounts
from server.imports.batches import BatchWriter, bounded_batch
from server.imports.errors import ELSEWHERE, FileRefusedError, ImportStoppedError
from server.imports.files import FileStore
from server.imports.founding import PICTURES, NewRealm, found_realm
from server.imports.joining import (
    JOINING,
    Beginning,
    Joining,
    added_to_realm,
    begin,
    publish_activity,
)
from server.imports.links import LinkWriter
from server.imports.matching import people_in
from server.imports.pacing import paced
from server.imports.pictures import PictureWriter
from server.imports.recognition import ImportSource
from server.imports.records import Reader
from server.imports.report import ImportReport
from server.imports.resolving import ImportedNames
from server.imports.services import ImportServices
from server.imports.survey import Progress, Survey, survey
from server.imports.texts import ImportedText, TextConverter
from server.imports.thread_topics import Places
from server.imports.thumbnails import make_thumbnails
from server.imports.topic_policies import LEFT_OUT_IN_USE, TopicPolicyWriter
from storage import channels, groups, import_keys, imported_messages, imports, realms, users
from storage.ids import ChannelId, RealmId, UserId
from storage.imports import ImportRow

BATCH: Final = 1_000
"""Messages in a transaction."""
BATCH_IN_USE: Final = 200
LINK_BATCH: Final = 200
POLICY_BATCH: Final = 1_000
KEY_BATCH: Final = 10_000
FINGERPRINT_BYTES: Final = 1024 * 1024

Fetches = Literal["nothing", "pictures", "everything"]

MESSAGES: Final = "messages"
LINKS: Final = "links"
POLICIES: Final = "topic policies"
THUMBNAILS: Final = "thumbnails"
KEYS: Final = "keys"
ENDED: Final = "ended"
"""Phases after PICTURES, in this order."""
_ONLY_SO: Final[Mapping[Fetches, str]] = {
    "nothing": marked(
        "This import was begun without --slack-token-file and --fetch-pictures, and continues only"
        " so."
    ),
    "pictures": marked("This import was begun with --fetch-pictures, and continues only so."),
    "everything": marked("This import was begun with --slack-token-file, and continues only so."),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class NewOrganization:
    """An import into a realm that it creates."""

    name: str
    subdomain: str
    owner_email: str | None = None
    """None: the owner in the file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OrganizationInUse:
    """An import that adds to a realm."""

    realm_id: RealmId
    owner_id: UserId | None = None
    """The requesting owner, who becomes the owner of imported bots and custom emoji.

    None: the realm's first owner.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportOptions:
    """Choices of an import."""

    target: NewOrganization | OrganizationInUse
    topic: str
    """Name of the topic for messages outside of threads."""
    fetches: Fetches = "nothing"
    """What is fetched from the other program. An import continues with the same."""


def fingerprint_of(path: Path) -> bytes:
    """Return a digest of the file's size, beginning and end, which has a ZIP archive's checksums.

    It tells whether a second run gets the same file, without reading all of it.
    """
    size = path.stat().st_size
    digest = hashlib.sha256(size.to_bytes(8, "big"))
    with path.open("rb") as file:
        digest.update(file.read(FINGERPRINT_BYTES))
        file.seek(max(0, size - FINGERPRINT_BYTES))
        digest.update(file.read(FINGERPRINT_BYTES))
    return digest.digest()


class Importer:
    """Imports one file. `open_reader` opens it, given the report of what is read."""

    def __init__(
        self,
        services: ImportServices,
        options: ImportOptions,
        fingerprint: bytes,
        open_reader: Callable[[ImportReport], AbstractContextManager[Reader]],
        progress: Progress,
    ) -> None:
        self._services = services
        self._options = options
        self._fingerprint = fingerprint
        self._open_reader = open_reader
        self._progress = progress

    async def run(self) -> ImportReport:
        """Import the file, or continue; return the report.

        Raises FileRefusedError if nothing was done, and ImportStoppedError.
        """
        target = self._options.target
        found: Survey | None = None
        if isinstance(target, OrganizationInUse):
            realm_id = target.realm_id
            found = await self._joined(target)
        else:
            realm_id = await self._realm_at(target.subdomain) or await self._found(target)
        row = await self._row(realm_id)
        if row is None:
            raise ImportStoppedError(_("The import was abandoned meanwhile."))
        if row.phase != ENDED:
            self._check_fetches(row)
        if row.phase in JOINING:
            row = await self._join(realm_id, row, found)
        if row.phase != ENDED:
            row = await self._continued(realm_id, row)
        return ImportReport.of(row.report)

    def _check_fetches(self, row: ImportRow) -> None:
        """Raise ImportStoppedError unless as much is fetched as when the import began."""
        begun: Fetches = row.options.get("fetches", "nothing")
        if begun != self._options.fetches:
            raise ImportStoppedError(_(_ONLY_SO[begun]))

    def surveyed(self) -> tuple[Survey, ImportReport]:
        """Read the whole file without changing anything; return what it contains."""
        report = ImportReport()
        with self._open_reader(report) as reader:
            found = survey(reader, self._progress)
        return found, report

    async def _realm_at(self, subdomain: str) -> RealmId | None:
        """Return the realm at the subdomain, if this import created it."""
        async with self._services.database.connection() as connection:
            ids = await realms.ids_of_subdomains(connection, [subdomain])
        realm_id = ids.get(subdomain)
        row = None if realm_id is None else await self._row(realm_id)
        if realm_id is not None and (row is None or added_to_realm(row)):
            place = f"at the subdomain `{subdomain}`" if subdomain else "at the server's address"
            raise FileRefusedError(
                f"There is an organization {place} already: name another with --realm."
            )
        return realm_id

    async def _row(self, realm_id: RealmId) -> ImportRow | None:
        async with self._services.database.connection() as connection:
            return await imports.of_file(connection, realm_id, self._fingerprint)

    async def _found(self, target: NewOrganization) -> RealmId:
        found, report = await asyncio.to_thread(self.surveyed)
        services = self._services
        domain = services.addresses.of_realm(target.subdomain).domain
        accounts = planned_accounts(found, target.owner_email, domain, report)
        with self._open_reader(ImportReport()) as reader:
            source = reader.source
        wanted = NewRealm(
            name=target.name,
            subdomain=target.subdomain,
            source=source,
            fingerprint=self._fingerprint,
            options={"topic": self._options.topic, "fetches": self._options.fetches},
        )
        async with services.database.transaction() as connection:
            return await found_realm(connection, wanted, found, accounts, report, services.now())

    # -- an organization in use

    async def _joined(self, target: OrganizationInUse) -> Survey | None:
        """Begin the import, unless it was begun before; return what was surveyed for that."""
        row = await self._row(target.realm_id)
        if row is not None:
            if row.ended_at is not None:
                day = f"{row.ended_at:%Y-%m-%d}"
                raise FileRefusedError(
                    _(
                        "This file is in the organization already, since {day}: nothing comes"
                        " twice.",
                        day=day,
                    )
                )
            return None
        async with self._services.database.connection() as connection:
            realm = await realms.by_id(connection, target.realm_id)
        if realm is None or realm.deactivated:
            raise FileRefusedError(_("The organization is deactivated: reactivate it first."))
        found, report = await asyncio.to_thread(self.surveyed)
        with self._open_reader(ImportReport()) as reader:
            source = reader.source
        wanted = Beginning(
            source=source,
            fingerprint=self._fingerprint,
            options={"topic": self._options.topic, "fetches": self._options.fetches},
            owner_id=target.owner_id,
        )
        domain = self._services.addresses.of_realm(realm.subdomain).domain
        services = self._services.of_realm(target.realm_id)
        await begin(services, self._services.database, wanted, found, domain, report)
        return found

    async def _join(self, realm_id: RealmId, row: ImportRow, found: Survey | None) -> ImportRow:
        """Add what the messages need: people, channels, positions, conversations."""
        surveyed = found or (await asyncio.to_thread(self.surveyed))[0]
        async with self._services.database.connection() as connection:
            realm = await realms.by_id(connection, realm_id)
        assert realm is not None
        domain = self._services.addresses.of_realm(realm.subdomain).domain
        joining = Joining(self._services.of_realm(realm_id), surveyed, domain, self._progress)
        return await self._advance(realm_id, await joining.run(row), PICTURES)

    # -- the phases

    async def _continued(self, realm_id: RealmId, row: ImportRow) -> ImportRow:
        with self._open_reader(ImportReport()) as reader:
            if row.phase == PICTURES:
                row = await self._write_pictures(realm_id, row, reader)
                row = await self._advance(realm_id, row, MESSAGES)
            converter, places, url = await self._converter(realm_id, row, reader)
            if row.phase == MESSAGES:
                row = await self._write_messages(realm_id, row, converter, places)
                services = self._services.of_realm(realm_id)
                row = await publish_activity(services, row, places.channels.values())
                row = await self._advance(realm_id, row, LINKS)
            if row.phase == LINKS:
                writer = LinkWriter(self._services.database, realm_id, converter, url)
                while after := await writer.write(row, limit=LINK_BATCH):
                    row = after
                    self._progress("links", row.done, 0)
                row = await self._advance(realm_id, row, POLICIES)
            if row.phase == POLICIES:
                row = await self._write_topic_policies(realm_id, row, converter)
                row = await self._advance(realm_id, row, THUMBNAILS)
        if row.phase == THUMBNAILS:
            row = await make_thumbnails(self._services.of_realm(realm_id), row)
            row = await self._advance(realm_id, row, KEYS)
        return await self._end(realm_id, row)

    async def _write_pictures(self, realm_id: RealmId, row: ImportRow, reader: Reader) -> ImportRow:
        async with self._services.database.connection() as connection:
            people = await import_keys.keys_of(connection, realm_id, row.import_id, "person")
            owners = await users.up_to_role(connection, realm_id, least_role=OWNER, or_among=())
        asked = [each for each in owners if each.user_id == row.options.get("owner_id")]
        writer = PictureWriter(
            services=self._services.of_realm(realm_id),
            reader=reader,
            blobs=self._services.blobs,
            pictures=self._services.pictures,
            people={key: UserId(each) for key, each in people.items()},
            owner=[*asked, *owners][0],
            downloads=self._services.downloads,
        )
        return await writer.write_all(row)

    async def _converter(
        self, realm_id: RealmId, row: ImportRow, reader: Reader
    ) -> tuple[TextConverter, Places, str]:
        """Return also the realm's address."""
        cache = self._services.of_realm(realm_id).realm_cache
        async with self._services.database.connection() as connection:
            people = await people_in(connection, realm_id, row.import_id)
            user_rows = await users.by_ids(connection, realm_id, list(set(people.values())))
            channel_ids = await import_keys.keys_of(connection, realm_id, row.import_id, "channel")
            channel_rows = await channels.by_ids(
                connection, realm_id, [ChannelId(each) for each in channel_ids.values()]
            )
            conversations = await import_keys.keys_of(
                connection, realm_id, row.import_id, "conversation"
            )
            realm = await realms.by_id(connection, realm_id)
            group_rows = await groups.all_of_realm(connection, realm_id)
        assert realm is not None
        settings = RealmSettings.of(realm.settings)
        accounts = {
            each.user_id: MentionedUser(each.user_id, each.full_name, each.is_active)
            for each in user_rows
        }
        named = {
            each.channel_id: MentionedChannel(each.channel_id, each.name) for each in channel_rows
        }
        url = self._services.addresses.of_realm(realm.subdomain).url
        names = ImportedNames(
            {key: accounts[each] for key, each in people.items()},
            {key: named[ChannelId(each)] for key, each in channel_ids.items()},
            await cache.emoji(),
            url,
            group_rows,
            await cache.linkifiers(),
        )
        style = Style(
            media=MediaPolicy(
                settings.inline_image_preview,
                cache.rendering.media_hosts,
                cache.rendering.proxy,
            ),
            code_language=settings.default_code_block_language,
            origin=url,
        )
        places = Places({key: ChannelId(each) for key, each in channel_ids.items()}, conversations)
        return TextConverter(reader, names, style, cache.rendering.typesetter), places, url

    async def _write_messages(
        self, realm_id: RealmId, row: ImportRow, converter: TextConverter, places: Places
    ) -> ImportRow:
        services = self._services
        files = FileStore(converter.reader, services.blobs, realm_id, services.downloads)
        settings = await services.of_realm(realm_id).realm_cache.settings()
        days, now = settings.message_retention_days, services.now()
        quota = settings.upload_quota_mib
        is_in_use = "owner_id" in row.options
        writer = BatchWriter(
            services.database,
            realm_id,
            converter,
            files,
            places,
            row.options["topic"],
            now,
            kept_since=now - timedelta(days=days) if days > 0 else None,
            space=None if quota is None else quota * MIB,
            # Years of mentions would bury those of the organization in use.
            marks_mentions=not is_in_use,
        )
        # Short transactions where people wait for others.
        size = BATCH_IN_USE if is_in_use else BATCH
        numbered = islice(enumerate(converter.reader.messages()), row.done, None)

        def next_batch() -> tuple[list[ImportedText], ImportReport]:
            report = ImportReport()
            batch = bounded_batch(numbered, size)
            return [converter.converted(*each, report) for each in batch], report

        # While the database inserts a batch, a thread converts the next one.
        converting = asyncio.create_task(asyncio.to_thread(next_batch))
        try:
            while True:
                texts, report = await converting
                if not texts:
                    return row
                converting = asyncio.create_task(asyncio.to_thread(next_batch))
                writing = writer.write(row, texts, report)
                row = await (paced(writing) if is_in_use else writing)
                self._progress("messages", row.done, row.total)
        finally:
            await asyncio.gather(converting, return_exceptions=True)

    async def _write_topic_policies(
        self, realm_id: RealmId, row: ImportRow, converter: TextConverter
    ) -> ImportRow:
        if isinstance(self._options.target, OrganizationInUse):
            # Clients at work would not learn of them.
            report = ImportReport.of(row.report)
            if count := sum(1 for _ in converter.reader.topic_policies()):
                report.remark(LEFT_OUT_IN_USE, count=count)
            return replace(row, report=report.as_json())
        people = {key: each.user_id for key, each in converter.names.people.items()}
        services = self._services
        writer = TopicPolicyWriter(
            services.database, realm_id, converter.reader, people, services.now()
        )
        return await writer.write_all(row, limit=POLICY_BATCH)

    async def _end(self, realm_id: RealmId, row: ImportRow) -> ImportRow:
        """Forget the keys, and let the search index begin again."""
        first: tuple[str, str] | None = ("", "")
        while first is not None:
            async with self._services.database.transaction() as connection:
                first = await import_keys.forget_some(
                    connection, realm_id, row.import_id, first, limit=KEY_BATCH
                )
        async with self._services.database.connection() as connection:
            await connection.run(imported_messages.index_again(realm_id, row.first_position))
        # Names of people stay nowhere but in their accounts, which can be erased.
        kept = replace(row, report=ImportReport.of(row.report).without_examples().as_json())
        await self._advance(realm_id, kept, ENDED, ended_at=self._services.now())
        return row

    async def _advance(
        self, realm_id: RealmId, row: ImportRow, phase: str, *, ended_at: datetime | None = None
    ) -> ImportRow:
        """Begin a phase."""
        async with self._services.database.connection() as connection:
            advanced = await connection.run(
                imports.advance(
                    realm_id, row, phase=phase, done=0, report=row.report, ended_at=ended_at
                )
            )
        if not advanced:
            raise ImportStoppedError(ELSEWHERE)
        return replace(row, phase=phase, done=0, ended_at=ended_at)


def contents_of(source: ImportSource, path: Path, progress: Progress) -> ImportReport:
    """Read the whole file; return what an import would make of it. Raises FileRefusedError."""
    report = ImportReport()
    with source.opened(path, report) as reader:
        found = survey(reader, progress)
    report.count(marked("people and bots"), len(found.people) + len(found.strangers))
    report.count(marked("profile fields"), len(found.fields))
    report.count(marked("channels"), len(found.channels))
    report.count(marked("direct conversations"), len(found.conversations))
    report.count(marked("custom emoji"), found.emoji)
    report.count(marked("messages"), found.messages)
    return report

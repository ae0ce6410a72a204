"""Let people follow and mute the topics that they followed and muted."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from typing import Final

from server.i18n import marked
from server.imports.errors import ELSEWHERE, ImportStoppedError
from server.imports.records import Reader, TopicPolicy
from server.imports.report import ImportReport
from storage import import_keys, imported_people, imports
from storage.database import Database
from storage.ids import RealmId, TopicId, UserId
from storage.imported_people import ImportedTopicPolicy
from storage.imports import ImportRow

LEFT_OUT: Final = marked(
    "topics that people follow or have muted have no messages here, or are hidden from them"
)
LEFT_OUT_IN_USE: Final = marked(
    "followed and muted topics were left out, since the organization is in use"
)


@dataclass(frozen=True, slots=True)
class TopicPolicyWriter:
    """Writes policies in batches, each in a transaction that records the progress."""

    database: Database
    realm_id: RealmId
    reader: Reader
    people: Mapping[str, UserId]
    now: datetime

    async def write_all(self, row: ImportRow, *, limit: int) -> ImportRow:
        """Write the policies from the progress on; return the progress.

        Raises ImportStoppedError if another process continues the import.
        """
        policies = islice(self.reader.topic_policies(), row.done, None)
        while batch := list(islice(policies, limit)):
            row = await self._write(row, batch)
        return row

    async def _write(self, row: ImportRow, batch: list[TopicPolicy]) -> ImportRow:
        keys = [each.thread for each in batch]
        async with self.database.connection() as connection:
            topics = await import_keys.ids_of(
                connection, self.realm_id, row.import_id, "thread", list(dict.fromkeys(keys))
            )
        wanted = [
            ImportedTopicPolicy(
                user_id=self.people[each.person],
                topic_id=TopicId(topics[each.thread]),
                policy=each.policy,
                moment=min(each.moment or self.now, self.now),
            )
            for each in batch
            if each.thread in topics and each.person in self.people
        ]
        async with self.database.transaction() as connection:
            written = await connection.run(
                imported_people.insert_topic_policies(self.realm_id, wanted)
            )
            report = ImportReport.of(row.report)
            report.count(marked("followed and muted topics"), len(written))
            if missing := len(batch) - len(written):
                report.remark(LEFT_OUT, count=missing)
            after = replace(row, done=row.done + len(batch), report=report.as_json())
            advanced = await connection.run(
                imports.advance(
                    self.realm_id, row, phase=row.phase, done=after.done, report=after.report
                )
            )
            if not advanced:
                raise ImportStoppedError(ELSEWHERE)
        return after

"""Replace links to messages of the other program by links to the imported messages."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from server.domain.markdown.links import direct_href, narrow_href
from server.i18n import marked
from server.imports.errors import ELSEWHERE, ImportStoppedError
from server.imports.report import ImportReport
from server.imports.texts import TextConverter
from storage import import_keys, imported_messages, imports
from storage.database import Database
from storage.ids import MessageId, RealmId
from storage.imported_messages import CLIENT, LinkedMessage
from storage.imports import ImportRow

_AMBIGUOUS: Final = re.compile(r"[*`@]|>.*>")
"""What ends a name in that syntax."""


@dataclass(frozen=True, slots=True)
class LinkWriter:
    """Rewrites links in batches, each in a transaction that forgets the keys of its messages."""

    database: Database
    realm_id: RealmId
    converter: TextConverter
    url: str
    """Of the realm, without a trailing slash."""

    async def write(self, row: ImportRow, *, limit: int) -> ImportRow | None:
        """Rewrite links in the next messages; return the progress, or None if none are left."""
        async with self.database.connection() as connection:
            ids = await import_keys.some_ids(
                connection, self.realm_id, row.import_id, "link", limit=limit
            )
            if not ids:
                return None
            message_ids = [MessageId(each) for each in ids]
            contents = await imported_messages.contents(connection, self.realm_id, message_ids)
        targets = await self._targets(row, contents)
        report = ImportReport.of(row.report)
        changed: dict[MessageId, tuple[str, str, str]] = {}
        for message_id, old in contents.items():
            content = self._rewritten(old, targets, report)
            if content != old:
                rendered = await self.converter.typeset(content, share=(self.realm_id, CLIENT))
                changed[message_id] = (old, content, rendered.html)
        after = replace(row, done=row.done + len(ids), report=report.as_json())
        async with self.database.transaction() as connection:
            advanced, *_ = await connection.run_together(
                [
                    imports.advance(
                        self.realm_id, row, phase=row.phase, done=after.done, report=after.report
                    ),
                    imported_messages.update_contents(self.realm_id, changed),
                    import_keys.forget(
                        self.realm_id, row.import_id, "link", [str(each) for each in ids]
                    ),
                ]
            )
            if not advanced:
                raise ImportStoppedError(ELSEWHERE)
        return after

    async def _targets(
        self, row: ImportRow, contents: Mapping[MessageId, str]
    ) -> dict[str, LinkedMessage]:
        """Return the imported messages that the texts link to, by their keys."""
        reader = self.converter.reader
        keys = {
            reader.linked_message(found)
            for content in contents.values()
            for found in reader.message_links.finditer(content)
        }
        async with self.database.connection() as connection:
            ids = await import_keys.ids_of(
                connection, self.realm_id, row.import_id, "message", sorted(keys)
            )
            rows = await imported_messages.linked_messages(
                connection, self.realm_id, [MessageId(each) for each in ids.values()]
            )
        by_id: dict[int, LinkedMessage] = {each.message_id: each for each in rows}
        return {key: by_id[each] for key, each in ids.items() if each in by_id}

    def _rewritten(
        self, content: str, targets: Mapping[str, LinkedMessage], report: ImportReport
    ) -> str:
        reader = self.converter.reader

        def own(found: re.Match[str]) -> str:
            target = targets.get(reader.linked_message(found))
            if target is None:
                report.remark(marked("links lead to messages that are not in the export"), found[0])
                return found[0]
            report.count(marked("links between messages"))
            return self._link(found[0], target)

        return reader.message_links.sub(own, content)

    def _link(self, old: str, target: LinkedMessage) -> str:
        """Return the link that replaces one in our own syntax, or a URL."""
        if old.startswith("#**") and target.channel_id is not None:
            place = f"{self.converter.names.channel_names[target.channel_id]}>{target.topic}"
            if not _AMBIGUOUS.search(place):
                return f"#**{place}@{target.message_id}**"
        return self.url + self._href(target)

    def _href(self, target: LinkedMessage) -> str:
        if target.channel_id is None:
            return direct_href(target.user_ids or (), target.message_id)
        name = self.converter.names.channel_names[target.channel_id]
        return narrow_href(target.channel_id, name, target.topic, target.message_id)

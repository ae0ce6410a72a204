"""Write what an organization and its people have set up: linkifiers, playgrounds, alert words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from server.domain.alert_words import MAX_WORDS, clean_words
from server.domain.errors import DomainError
from server.domain.url_templates import MAX_LINKIFIERS, checked_linkifier, checked_playground
from server.i18n import marked
from server.imports.records import LinkifierRecord, PersonRecord, PlaygroundRecord
from server.imports.report import ImportReport, example
from server.imports.survey import Survey
from storage import alert_words, imported_people, linkifiers, playgrounds
from storage.database import Connection
from storage.ids import RealmId, UserId

_PATTERNS: Final = marked("linkifiers are impossible here, and were left out")


@dataclass(frozen=True, slots=True)
class PreferenceWriter:
    """Writes into the new realm of an import, in the caller's transaction."""

    connection: Connection
    realm_id: RealmId
    people: Mapping[str, UserId]
    """Accounts by the keys of people."""
    report: ImportReport
    now: datetime

    async def write(self, survey: Survey) -> None:
        await self._write_linkifiers(survey.linkifiers)
        await self._write_playgrounds(survey.playgrounds)
        await self._write_words(survey.people)
        await self._mute(survey.people)

    async def _write_linkifiers(self, records: Sequence[LinkifierRecord]) -> None:
        taken: set[str] = set()
        for record in records:
            try:
                pattern, template = checked_linkifier(record.pattern, record.url_template)
            except DomainError as error:
                self.report.remark(_PATTERNS, example(record.pattern, error.message))
                continue
            if pattern in taken or len(taken) >= MAX_LINKIFIERS:
                self.report.remark(_PATTERNS, pattern)
                continue
            taken.add(pattern)
            await linkifiers.insert(
                self.connection, self.realm_id, pattern=pattern, url_template=template
            )
        self.report.count(marked("linkifiers"), len(taken))

    async def _write_playgrounds(self, records: Sequence[PlaygroundRecord]) -> None:
        written: set[tuple[str, str]] = set()
        for record in records:
            try:
                name, language, template = checked_playground(
                    record.name, record.language, record.url_template
                )
            except DomainError as error:
                reason = marked("code playgrounds are impossible here, and were left out")
                self.report.remark(reason, example(record.name, error.message))
                continue
            if (name, language) in written:
                continue
            written.add((name, language))
            await playgrounds.insert(
                self.connection, self.realm_id, name=name, language=language, url_template=template
            )
        self.report.count(marked("code playgrounds"), len(written))

    async def _write_words(self, people: Sequence[PersonRecord]) -> None:
        words: dict[UserId, list[str]] = {}
        for person in people:
            if person.alert_words:
                words.setdefault(self.people[person.key], []).extend(person.alert_words)
        for user_id, wanted in words.items():
            valid: list[str] = []
            for word in wanted:
                try:
                    valid += clean_words([word])
                except DomainError:
                    self.report.remark(marked("alert words are too long, and were left out"), word)
            kept = clean_words(valid)[:MAX_WORDS]
            await alert_words.insert(self.connection, self.realm_id, user_id, kept)
            self.report.count(marked("alert words"), len(kept))

    async def _mute(self, people: Sequence[PersonRecord]) -> None:
        pairs = {
            (self.people[person.key], self.people[muted])
            for person in people
            for muted in person.muted
            if muted in self.people and self.people[muted] != self.people[person.key]
        }
        await imported_people.mute_people(
            self.connection, self.realm_id, sorted(pairs), now=self.now
        )
        self.report.count(marked("people muted by others"), len(pairs))


def remark_on_preferences(survey: Survey, report: ImportReport) -> None:
    """Count what is not added to an organization in use: it has its own."""
    people, channels = survey.people, survey.channels
    counts = {
        marked("groups were left out, since the organization is in use"): len(survey.groups),
        marked("linkifiers were left out, since the organization is in use"): (
            len(survey.linkifiers)
        ),
        marked("code playgrounds were left out, since the organization is in use"): (
            len(survey.playgrounds)
        ),
        marked("alert words were left out, since the organization is in use"): (
            sum(len(person.alert_words) for person in people)
        ),
        marked("people muted by others were left out, since the organization is in use"): (
            sum(len(person.muted) for person in people)
        ),
        marked("choices for channels were left out, since the organization is in use"): (
            sum(len(channel.choices) for channel in channels)
        ),
    }
    for reason, count in counts.items():
        if count:
            report.remark(reason, count=count)

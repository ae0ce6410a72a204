"""Create the custom profile fields of a file, its people's values of them, and their statuses."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from server.actions.user_status import MAX_TEXT_LENGTH as MAX_STATUS_LENGTH
from server.domain.emoji import codes_by_name
from server.domain.errors import DomainError
from server.domain.markdown import render_description
from server.domain.names import composed, unprintable_at
from server.domain.profile_fields import (
    MAX_FIELDS,
    MAX_HINT_LENGTH,
    MAX_IN_SUMMARY,
    MAX_LONG_TEXT,
    MAX_NAME_LENGTH,
    MAX_PEOPLE,
    MAX_SHORT_TEXT,
    FieldDefinition,
    FieldType,
    Value,
    checked_terms,
    checked_value,
    is_rendered,
)
from server.i18n import _, marked
from server.imports.records import FieldValue, ProfileFieldRecord
from server.imports.report import STATUSES, ImportReport, example
from server.imports.survey import Survey
from storage import profile_fields, user_status
from storage.database import Connection
from storage.ids import RealmId, UserId
from storage.imported_people import ImportedValue, insert_profile_values
from storage.profile_fields import FieldRow
from storage.user_status import UserStatusRow

BATCH: Final = 5_000
"""Values in a statement."""
_LIMITS: Final = {
    FieldType.SHORT_TEXT: MAX_SHORT_TEXT,
    FieldType.LONG_TEXT: MAX_LONG_TEXT,
    FieldType.EXTERNAL_ACCOUNT: MAX_SHORT_TEXT,
    FieldType.PRONOUNS: MAX_SHORT_TEXT,
}
"""Characters of texts, by type."""
FULL: Final = marked("profile fields were left out: there are {limit} of them at most")
INVALID: Final = marked("values of profile fields are invalid, and were left out")

Values = Mapping[UserId, FieldValue]


@dataclass(frozen=True, slots=True)
class ProfileWriter:
    """Writes profiles into the realm of an import, in the caller's transaction."""

    connection: Connection
    realm_id: RealmId
    people: Mapping[str, UserId]
    """Accounts by the keys of people."""
    report: ImportReport

    async def write(self, survey: Survey) -> None:
        """Add the fields to those of the realm, with the values, and the statuses."""
        values = self._values(survey)
        rows: list[ImportedValue] = []
        for row, key in await self._fields(survey, values):
            for user_id, value in values.get(key, {}).items():
                rows += self._rows(row, user_id, value)
        for start in range(0, len(rows), BATCH):
            await self.connection.run(
                insert_profile_values(self.realm_id, rows[start : start + BATCH])
            )
        self.report.count(marked("values of profile fields"), len(rows))
        await self._write_statuses(survey)

    def _values(self, survey: Survey) -> dict[str, dict[UserId, FieldValue]]:
        """Return the values by field. Of people who share an account, the first one's are kept."""
        values: dict[str, dict[UserId, FieldValue]] = {}
        for person in survey.people:
            if person.is_bot:
                if person.fields:
                    reason = marked("values of profile fields were left out, since bots have none")
                    self.report.remark(reason, person.full_name, len(person.fields))
                continue
            for key, value in person.fields.items():
                values.setdefault(key, {}).setdefault(self.people[person.key], value)
        return values

    async def _fields(
        self, survey: Survey, values: Mapping[str, Values]
    ) -> list[tuple[FieldRow, str]]:
        """Insert the fields; return them with their keys."""
        there = await profile_fields.of_realm(self.connection, self.realm_id)
        names = {row.name for row in there}
        shown = sum(row.display_in_profile_summary for row in there)
        rows: list[tuple[FieldRow, str]] = []
        for record in survey.fields:
            if len(there) + len(rows) >= MAX_FIELDS:
                self.report.remark(_(FULL, limit=MAX_FIELDS), record.name)
                continue
            try:
                field = checked_terms(
                    self._definition(record, values.get(record.key, {}), names, shown)
                )
            except DomainError as error:
                reason = marked("profile fields are invalid, and were left out")
                self.report.remark(reason, example(record.name, error.message))
                continue
            names.add(field.name)
            shown += field.display_in_profile_summary
            row = FieldRow(
                field_id=await profile_fields.new_id(self.connection),
                field_type=field.field_type,
                name=field.name,
                hint=field.hint,
                field_data=field.data_text,
                required=field.required,
                editable_by_user=field.editable_by_user,
                display_in_profile_summary=field.display_in_profile_summary,
            )
            await profile_fields.insert(self.connection, self.realm_id, row)
            rows.append((row, record.key))
        self.report.count(marked("profile fields"), len(rows))
        return rows

    def _definition(
        self, record: ProfileFieldRecord, values: Values, taken: set[str], shown: int
    ) -> FieldDefinition:
        """Return the field, with a name that no other has, of a type that its values fit into."""
        field_type = record.field_type
        texts = (value for value in values.values() if isinstance(value, str))
        if field_type == FieldType.SHORT_TEXT and any(len(text) > MAX_SHORT_TEXT for text in texts):
            field_type = FieldType.LONG_TEXT
        base = _printable(record.name)[:MAX_NAME_LENGTH].strip() or "?"
        name, number = base, 1
        while name in taken:
            number += 1
            end = f" ({number})"
            name = base[: MAX_NAME_LENGTH - len(end)].rstrip() + end
        if name != record.name:
            self.report.remark(marked("names of profile fields were changed to valid ones"), name)
        has_room = shown < MAX_IN_SUMMARY and field_type != FieldType.LONG_TEXT
        return FieldDefinition(
            field_type=field_type,
            name=name,
            hint=_printable(record.hint)[:MAX_HINT_LENGTH],
            field_data=record.field_data,
            required=record.required,
            editable_by_user=record.editable_by_user,
            display_in_profile_summary=record.in_summary and has_room,
        )

    def _rows(self, field: FieldRow, user_id: UserId, value: FieldValue) -> list[ImportedValue]:
        """Return the row of a value, unless it is empty or invalid."""
        if isinstance(value, str):
            fitting: Value = self._fitting(field, value)
        else:
            ids = dict.fromkeys(self.people[key] for key in value if key in self.people)
            fitting = list(ids)[:MAX_PEOPLE]
        if not fitting:
            return []
        try:
            checked = checked_value(field.name, field.field_type, field.field_data, fitting)
        except DomainError as error:
            self.report.remark(INVALID, error.message)
            return []
        rendered = render_description(checked) if is_rendered(field.field_type) else None
        return [ImportedValue(user_id, field.field_id, checked, rendered)]

    def _fitting(self, field: FieldRow, text: str) -> str:
        """Return a text of people without what a value of the field cannot contain."""
        is_long = field.field_type == FieldType.LONG_TEXT
        text = text.replace("\0", "").strip() if is_long else _printable(text)
        limit = _LIMITS.get(FieldType(field.field_type))
        if limit is None or len(text) <= limit:
            return text
        self.report.remark(
            marked("values of profile fields were cut, since they are too long"), text
        )
        return text[: limit - 1].rstrip() + "…"

    async def _write_statuses(self, survey: Survey) -> None:
        """Write statuses of people; accounts that have one keep it."""
        written: set[UserId] = set()
        for person in survey.people:
            user_id = self.people[person.key]
            if person.status is None or user_id in written:
                continue
            if person.is_bot or not person.is_active:
                self.report.remark(STATUSES, person.full_name)
                continue
            code = codes_by_name().get(person.status.emoji)
            text = " ".join(person.status.text.split())
            if len(text) > MAX_STATUS_LENGTH:
                self.report.remark(marked("statuses were cut, since they are too long"), text)
                text = text[: MAX_STATUS_LENGTH - 1].rstrip() + "…"
            status = UserStatusRow(user_id, away=False, status_text=text)
            if code is not None:
                name = person.status.emoji
                status = replace(
                    status, emoji_name=name, emoji_code=code, reaction_type="unicode_emoji"
                )
            if not text and code is None:
                self.report.remark(STATUSES, person.full_name)
                continue
            written.add(user_id)
            await user_status.put(self.connection, self.realm_id, status)
        self.report.count(marked("statuses"), len(written))


def _printable(text: str) -> str:
    """Return the text in one line, without characters that names cannot contain."""
    line = " ".join(text.split())
    return composed("".join(each for each in line if not unprintable_at(each))).strip()

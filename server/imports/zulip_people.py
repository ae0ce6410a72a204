"""Read people from an export of Zulip: accounts, pictures, profiles, statuses, settings."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec
import orjson

from server.domain.access import ADMINISTRATOR, GUEST, MEMBER, OWNER, ROLES
from server.domain.errors import InvalidParameterError
from server.domain.profile_fields import FieldType
from server.domain.user_settings import DEFAULTS, UserSettings
from server.i18n import marked
from server.imports.records import FieldValue, PersonRecord, ProfileFieldRecord, StatusRecord
from server.imports.report import STATUSES, ImportReport
from server.imports.zulip_files import Row, ZulipFiles, id_of, key_of, text_of, time_of

PEOPLE: Final = ("zerver_userprofile", "zerver_userprofile_mirrordummy")
SYSTEM_BOTS: Final = "zerver_userprofile_crossrealm"
ORIGINAL: Final = ".original"
_HIDDEN: Final = re.compile(r"user[0-9]+@([a-z0-9.-]+(?::[0-9]+)?)", re.IGNORECASE)
"""What others see of an address; its host is the server's."""
_SETTINGS: Final = tuple(UserSettings.__struct_fields__)


def people_in(files: ZulipFiles, report: ImportReport) -> Iterator[PersonRecord]:
    """Yield the accounts, and the bots of the system."""
    pictures = _pictures(files, report)
    fields = {record.key: record for record in profile_fields_in(files)}
    values = _values(files, fields)
    statuses = _statuses(files, report)
    words = _lists(files, "zerver_alertword", "word")
    muted = _lists(files, "zerver_muteduser", "muted_user")
    for table, row in files.realm(*PEOPLE, SYSTEM_BOTS):
        key = key_of(row.get("id"))
        if not key:
            report.remark(marked("accounts without a number were left out"))
            continue
        email = text_of(row.get("delivery_email")) or text_of(row.get("email"))
        name = text_of(row.get("full_name")) or email.partition("@")[0]
        if table == SYSTEM_BOTS:
            yield PersonRecord(key=key, full_name=name, email=email or None, is_bot=True)
            continue
        yield PersonRecord(
            key=key,
            full_name=name,
            email=email or None,
            role=_role(row),
            is_active=row.get("is_active") is True and not row.get("is_mirror_dummy"),
            is_bot=bool(row.get("is_bot")),
            owner=key_of(row.get("bot_owner")) or None,
            timezone=text_of(row.get("timezone")),
            picture=pictures.get(key),
            fields=values.get(key, {}),
            status=statuses.get(key),
            alert_words=words.get(key, ()),
            muted=muted.get(key, ()),
            settings=_settings(row, report),
            joined_at=time_of(row.get("date_joined")),
        )


def host_in(row: Row) -> str | None:
    """Return the server's host, if the account's address is hidden behind one of the server."""
    email = text_of(row.get("email"))
    hidden = _HIDDEN.fullmatch(email)
    if hidden is None or email == row.get("delivery_email"):
        return None
    return hidden[1].casefold()


def profile_fields_in(files: ZulipFiles) -> Iterator[ProfileFieldRecord]:
    """Yield the custom fields of profiles, in their order."""
    rows = [row for _, row in files.realm("zerver_customprofilefield")]
    for row in sorted(rows, key=lambda each: id_of(each.get("order")) or 0):
        key, field_type = key_of(row.get("id")), id_of(row.get("field_type"))
        if key and field_type in set(FieldType):
            yield ProfileFieldRecord(
                key=key,
                name=text_of(row.get("name")),
                field_type=int(field_type or FieldType.SHORT_TEXT),
                hint=text_of(row.get("hint")),
                field_data=_object(row.get("field_data")),
                required=bool(row.get("required")),
                editable_by_user=row.get("editable_by_user") is not False,
                in_summary=bool(row.get("display_in_profile_summary")),
            )


def _values(
    files: ZulipFiles, fields: Mapping[str, ProfileFieldRecord]
) -> dict[str, dict[str, FieldValue]]:
    """Return what people have entered in fields, by their keys."""
    values: dict[str, dict[str, FieldValue]] = {}
    for _, row in files.realm("zerver_customprofilefieldvalue"):
        person, field = key_of(row.get("user_profile")), fields.get(key_of(row.get("field")))
        text = text_of(row.get("value"))
        if field is None or not text:
            continue
        value: FieldValue = text
        if field.field_type == FieldType.USER:
            value = [key for each in _list(text) if (key := key_of(each))]
        values.setdefault(person, {})[field.key] = value
    return values


def _lists(files: ZulipFiles, table: str, name: str) -> dict[str, list[str]]:
    """Return the texts or keys in a column, by the keys of the people that they belong to."""
    lists: dict[str, list[str]] = {}
    for _, row in files.realm(table):
        if value := text_of(row.get(name)) or key_of(row.get(name)):
            lists.setdefault(key_of(row.get("user_profile")), []).append(value)
    return lists


def _statuses(files: ZulipFiles, report: ImportReport) -> dict[str, StatusRecord]:
    statuses: dict[str, StatusRecord] = {}
    for _, row in files.realm("zerver_userstatus"):
        text, emoji = text_of(row.get("status_text")), text_of(row.get("emoji_name"))
        if row.get("scheduled_end_time"):
            report.remark(STATUSES, text)
        elif text or emoji:
            statuses[key_of(row.get("user_profile"))] = StatusRecord(text=text, emoji=emoji)
    return statuses


def _pictures(files: ZulipFiles, report: ImportReport) -> dict[str, str]:
    """Return the best picture of each account that has one."""
    found: dict[str, tuple[int, str]] = {}
    for row in files.records("avatars"):
        key, path = key_of(row.get("user_profile_id")), text_of(row.get("path"))
        member = files.member("avatars", path)
        if member is None:
            report.remark(marked("pictures are not in the export"), path)
            continue
        # The original, the one in use, and a larger form of it.
        rank = 0 if path.endswith(ORIGINAL) else 2 if "-medium" in path else 1
        found[key] = min((rank, member), found.get(key, (3, "")))
    return {key: member for key, (_, member) in found.items()}


def _settings(row: Row, report: ImportReport) -> dict[str, Any]:
    """Return the personal settings that differ from the defaults, and are valid here."""
    settings: dict[str, Any] = {}
    for name in _SETTINGS:
        value = row.get(name, DEFAULTS)
        if value is DEFAULTS or value == getattr(DEFAULTS, name):
            continue
        try:
            UserSettings.of({name: value}).changed({name: value})
        except (msgspec.ValidationError, InvalidParameterError):
            report.remark(
                marked("personal settings have values that are unknown here"), f"{name}: {value}"
            )
            continue
        settings[name] = value
    return settings


def _role(row: Row) -> int:
    """Return the role; older exports have booleans."""
    role = row.get("role")
    if role in ROLES:
        return int(role)
    if row.get("is_realm_owner"):
        return OWNER
    if row.get("is_realm_admin"):
        return ADMINISTRATOR
    return GUEST if row.get("is_guest") else MEMBER


def _object(text: Any) -> dict[str, Any]:
    value = _json(text)
    return value if isinstance(value, dict) else {}


def _list(text: Any) -> list[Any]:
    value = _json(text)
    return value if isinstance(value, list) else []


def _json(text: Any) -> Any:
    try:
        return orjson.loads(text or "null")
    except (orjson.JSONDecodeError, TypeError):
        return None

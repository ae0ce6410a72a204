"""Custom profile fields: validation of fields and of users' values."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from enum import IntEnum
from typing import Any, Final
from urllib.parse import urlsplit

from server.domain.errors import BadRequestError, InvalidParameterError
from server.domain.names import unprintable_at
from server.i18n import _

MAX_FIELDS: Final = 100
"""Maximum per realm: each client gets all of them."""
MAX_IN_SUMMARY: Final = 2
MAX_NAME_LENGTH: Final = 40
MAX_HINT_LENGTH: Final = 80
MAX_CHOICES: Final = 200
MAX_SHORT_TEXT: Final = 50
MAX_LONG_TEXT: Final = 500
MAX_URL_LENGTH: Final = 2_000
MAX_PEOPLE: Final = 100

CUSTOM: Final = "custom"
"""The kind of external account with a URL pattern of the realm's own."""
USERNAME: Final = "%(username)s"
"""Placeholder for the account's name in the URL pattern."""

_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_HOST: Final = re.compile(r"[\w-]+(\.[\w-]+)*\.?|\[[0-9a-fA-F:.]+\]")
_NO_BLANKS: Final = re.compile(r"[^\s\x00-\x1f\x7f<>\"\\^`{|}]+")


class FieldType(IntEnum):
    SHORT_TEXT = 1
    LONG_TEXT = 2
    SELECT = 3
    DATE = 4
    URL = 5
    USER = 6
    EXTERNAL_ACCOUNT = 7
    PRONOUNS = 8


SHOWN_TYPES: Final = {
    FieldType.SHORT_TEXT.name: {"id": 1, "name": "Text (short)"},
    FieldType.LONG_TEXT.name: {"id": 2, "name": "Text (long)"},
    FieldType.DATE.name: {"id": 4, "name": "Date"},
    FieldType.URL.name: {"id": 5, "name": "Link"},
    FieldType.EXTERNAL_ACCOUNT.name: {"id": 7, "name": "External account"},
    FieldType.SELECT.name: {"id": 3, "name": "List of options"},
    FieldType.USER.name: {"id": 6, "name": "Users"},
    FieldType.PRONOUNS.name: {"id": 8, "name": "Pronouns"},
}
"""In the form that clients offer to administrators."""

EXTERNAL_ACCOUNTS: Final[Mapping[str, Mapping[str, str]]] = {
    "github": {
        "name": "GitHub",
        "text": "GitHub",
        "hint": "",
        "url_pattern": "https://github.com/%(username)s",
    },
    "mastodon": {
        "name": "Mastodon",
        "text": "Mastodon",
        "hint": "name@server",
        "url_pattern": "https://mastodon.social/@%(username)s",
    },
    "twitter": {
        "name": "X",
        "text": "X",
        "hint": "",
        "url_pattern": "https://x.com/%(username)s",
    },
}
"""Predefined kinds of external accounts."""

_WITH_DATA: Final = (FieldType.SELECT, FieldType.EXTERNAL_ACCOUNT)
_NOT_IN_SUMMARY: Final = (FieldType.USER,)
"""They take too much room."""
_MATCHED: Final = (
    FieldType.SHORT_TEXT,
    FieldType.EXTERNAL_ACCOUNT,
    FieldType.PRONOUNS,
)
"""Types with values by which people may be found."""
_RENDERED: Final = (FieldType.SHORT_TEXT, FieldType.LONG_TEXT)


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldDefinition:
    """Settings of a field."""

    field_type: int
    name: str
    hint: str
    field_data: Mapping[str, Any]
    required: bool
    editable_by_user: bool
    display_in_profile_summary: bool
    use_for_user_matching: bool = False
    """Whether clients look for the values when they complete names."""

    @property
    def external_account(self) -> str | None:
        """The predefined account kind, which also names the field."""
        subtype = self.field_data.get("subtype")
        of_all = self.field_type == FieldType.EXTERNAL_ACCOUNT and subtype != CUSTOM
        return str(subtype) if of_all else None

    @property
    def data_text(self) -> str:
        """Return `field_data` as stored and sent."""
        return json.dumps(self.field_data) if self.field_data else ""


def field_data_of(text: str) -> dict[str, Any]:
    """Return the `field_data` of a stored text."""
    return dict(json.loads(text)) if text else {}


def is_rendered(field_type: int) -> bool:
    """Return whether values are Markdown."""
    return field_type in _RENDERED


def choices(field_data: str) -> set[str]:
    """Return the values that a field with these choices accepts."""
    return set(field_data_of(field_data))


def checked_terms(terms: FieldDefinition) -> FieldDefinition:
    """Return the normalized field; raise InvalidParameterError."""
    if terms.field_type not in {*FieldType}:
        raise InvalidParameterError("field_type", _("Invalid field type."))
    if terms.display_in_profile_summary and terms.field_type in _NOT_IN_SUMMARY:
        raise InvalidParameterError(
            "display_in_profile_summary",
            _("Field type not supported for display in profile summary."),
        )
    if terms.use_for_user_matching and terms.field_type not in _MATCHED:
        raise InvalidParameterError(
            "use_for_user_matching", _("Field type not supported for user matching.")
        )
    data = terms.field_data if terms.field_type in _WITH_DATA else {}
    if terms.field_type == FieldType.SELECT:
        data = _checked_choices(data)
    name, hint = terms.name, terms.hint
    if terms.field_type == FieldType.EXTERNAL_ACCOUNT:
        known = _checked_account(data)
        if known is not None:
            name, hint, data = known["name"], known["hint"], {"subtype": data["subtype"]}
    return FieldDefinition(
        field_type=terms.field_type,
        name=_checked_label(name),
        hint=_checked_text("hint", hint, MAX_HINT_LENGTH),
        field_data=data,
        required=terms.required,
        editable_by_user=terms.editable_by_user,
        display_in_profile_summary=terms.display_in_profile_summary,
        use_for_user_matching=terms.use_for_user_matching,
    )


def _checked_label(name: str) -> str:
    name = _checked_text("name", name, MAX_NAME_LENGTH)
    if not name:
        raise InvalidParameterError("name", _("Label cannot be blank."))
    return name


def _checked_text(parameter: str, text: str, limit: int) -> str:
    text = text.strip()
    if len(text) > limit:
        raise InvalidParameterError(
            parameter,
            _(
                "{parameter} is too long (limit: {limit} characters)",
                parameter=parameter,
                limit=limit,
            ),
        )
    if place := unprintable_at(text):
        raise InvalidParameterError(
            parameter,
            _(
                "Invalid character in {parameter}, at position {place}.",
                parameter=parameter,
                place=place,
            ),
        )
    return text


def _checked_choices(data: Mapping[str, Any]) -> Mapping[str, Mapping[str, str]]:
    """Return the choices trimmed, because users' values are."""
    if not data:
        raise _bad_data(_("Field must have at least one choice."))
    if len(data) > MAX_CHOICES:
        raise _bad_data(_("Field must have at most {limit} choices.", limit=MAX_CHOICES))
    kept, texts = {}, set()
    for key, choice in data.items():
        if not isinstance(choice, dict) or choice.keys() != {"text", "order"}:
            raise _bad_data('Each choice has a "text" and an "order", and nothing else.')
        text = _checked_part(choice["text"])
        kept[_checked_part(key)] = {"text": text, "order": _checked_part(choice["order"])}
        texts.add(text)
    if min(len(kept), len(texts)) < len(data):
        raise _bad_data(_("Field must not have duplicate choices."))
    return kept


def _checked_part(part: object) -> str:
    text = part.strip() if isinstance(part, str) else ""
    if not 0 < len(text) <= MAX_SHORT_TEXT:
        raise _bad_data(
            _(
                "Values, texts and orders of choices have 1 to {limit} characters.",
                limit=MAX_SHORT_TEXT,
            )
        )
    return text


def _checked_account(data: Mapping[str, Any]) -> Mapping[str, str] | None:
    """Return the predefined account kind; None for a custom one."""
    subtype = data.get("subtype")
    if not isinstance(subtype, str) or not data.keys() <= {"subtype", "url_pattern"}:
        raise _bad_data('field_data has a "subtype", and may have a "url_pattern".')
    if subtype in EXTERNAL_ACCOUNTS:
        return EXTERNAL_ACCOUNTS[subtype]
    if subtype != CUSTOM:
        raise _bad_data("Invalid external account type")
    pattern = data.get("url_pattern")
    if pattern is None:
        raise _bad_data("Custom external account must define URL pattern")
    if (
        not isinstance(pattern, str)
        or pattern.count(USERNAME) != 1
        or not _is_url(pattern.replace(USERNAME, "username"))
    ):
        raise _bad_data(
            _("URL pattern must be an address with '{placeholder}' in it.", placeholder=USERNAME)
        )
    return None


def _bad_data(message: str) -> InvalidParameterError:
    return InvalidParameterError("field_data", message)


def _is_url(text: str) -> bool:
    """Return whether it is an HTTP URL: other schemes may be harmful."""
    if len(text) > MAX_URL_LENGTH or _NO_BLANKS.fullmatch(text) is None:
        return False
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        return False
    shown = f"[{host}]" if ":" in host else host
    return parts.scheme in {"http", "https"} and _HOST.fullmatch(shown) is not None


Value = str | Sequence[int]


def checked_value(name: str, field_type: int, field_data: str, value: Value) -> str:
    """Return the normalized value; named users are checked elsewhere.

    Raises BadRequestError.
    """
    if field_type == FieldType.USER:
        if isinstance(value, str):
            raise BadRequestError(_("{name} is not a list", name=name))
        ids = list(dict.fromkeys(value))
        if len(ids) > MAX_PEOPLE:
            raise BadRequestError(
                _("{name} names too many people (limit: {limit})", name=name, limit=MAX_PEOPLE)
            )
        return json.dumps(ids, separators=(",", ":"))
    if not isinstance(value, str):
        raise BadRequestError(_("{name} is not a string", name=name))
    return _checked_text_value(name, field_type, field_data, value.strip())


def _checked_text_value(name: str, field_type: int, field_data: str, value: str) -> str:
    if field_type == FieldType.SELECT:
        if value not in choices(field_data):
            raise BadRequestError(
                _(
                    "'{value}' is not a valid choice for '{name}'.",
                    value=value[:MAX_SHORT_TEXT],
                    name=name,
                )
            )
    elif field_type == FieldType.DATE:
        if not _is_date(value):
            raise BadRequestError(_("{name} is not a date", name=name))
    elif field_type == FieldType.URL:
        if not _is_url(value):
            raise BadRequestError(_("{name} is not a URL", name=name))
    else:
        limit = MAX_LONG_TEXT if field_type == FieldType.LONG_TEXT else MAX_SHORT_TEXT
        if len(value) > limit:
            raise BadRequestError(
                _("{name} is too long (limit: {limit} characters)", name=name, limit=limit)
            )
        if field_type != FieldType.LONG_TEXT and (place := unprintable_at(value)):
            raise BadRequestError(
                _("Invalid character in {name}, at position {place}.", name=name, place=place)
            )
    return value


def _is_date(text: str) -> bool:
    try:
        return _DATE.fullmatch(text) is not None and bool(date.fromisoformat(text))
    except ValueError:
        return False


def people_in(value: str) -> list[int]:
    """Return the users in a value of a user field."""
    return [int(user_id) for user_id in json.loads(value)]

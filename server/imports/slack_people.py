"""People of an export of Slack, with what their profiles contain."""

import html
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any, Final

from server.domain.access import ADMINISTRATOR, GUEST, MEMBER, OWNER
from server.domain.profile_fields import FieldType
from server.i18n import marked
from server.imports.errors import FileRefusedError
from server.imports.records import PersonRecord, ProfileFieldRecord, RemoteFile, StatusRecord
from server.imports.report import STATUSES_THAT_END, ImportReport
from server.imports.slack_markup import emoji_name
from server.imports.slack_web import SlackSupplement, is_picture_of_slack

_PROFILE_FIELDS: Final = (
    ProfileFieldRecord(key="title", name="Title", in_summary=True),
    ProfileFieldRecord(
        key="pronouns", name="Pronouns", field_type=FieldType.PRONOUNS, in_summary=True
    ),
    ProfileFieldRecord(key="phone", name="Phone number"),
    ProfileFieldRecord(key="skype", name="Skype"),
    ProfileFieldRecord(key="start_date", name="Start date", field_type=FieldType.DATE),
)
"""Fields that every profile of Slack has, by their keys in it."""


class SlackPeople:
    """Reads the users of an export. `users` yields them from the start each time."""

    def __init__(
        self,
        users: Callable[[], Iterator[dict[str, Any]]],
        supplement: SlackSupplement,
        report: ImportReport,
    ) -> None:
        self._users = users
        self._supplement = supplement
        self._report = report

    def records(self) -> Iterator[PersonRecord]:
        """Yield the accounts. Raises FileRefusedError if the token is one of another workspace."""
        for trouble in self._supplement.troubles:
            self._report.remark(trouble)
        teams: set[str] = set()
        for user in self._users():
            key = text_of(user.get("id"))
            if not key:
                self._report.remark(marked("accounts without an id were left out"))
                continue
            teams.add(text_of(user.get("team_id")))
            profile = _profile(user)
            names = (profile.get("real_name"), user.get("real_name"), profile.get("display_name"))
            yield PersonRecord(
                key=key,
                full_name=next(filter(None, map(text_of, (*names, user.get("name")))), key),
                email=text_of(profile.get("email")) or self._supplement.emails.get(key),
                role=_role(user),
                is_active=not user.get("deleted"),
                is_bot=bool(user.get("is_bot")) or key == "USLACKBOT",
                timezone=text_of(user.get("tz")),
                is_first_owner=bool(user.get("is_primary_owner")),
                picture=self._picture(profile, key),
                fields=dict(self._values(profile, key)),
                status=self._status(profile, key),
            )
        self._check_workspace(teams - {""})

    def _check_workspace(self, teams: set[str]) -> None:
        ours = self._supplement.team_ids
        if ours and teams and teams.isdisjoint(ours):
            raise FileRefusedError("The token is one of another workspace than the export.")

    @cached_property
    def fields(self) -> dict[str, ProfileFieldRecord]:
        """The fields that any profile fills in, by their keys."""
        filled: set[str] = set()
        names: dict[str, str] = {}
        for user in self._users():
            profile = _profile(user)
            filled.update(each.key for each in _PROFILE_FIELDS if text_of(profile.get(each.key)))
            for key, value in _custom_values(profile):
                name = self._supplement.field_names.get(key) or text_of(value.get("label"))
                if name:
                    names.setdefault(key, html.unescape(name))
        fields = [each for each in _PROFILE_FIELDS if each.key in filled]
        fields += [ProfileFieldRecord(key=key, name=name) for key, name in names.items()]
        return {each.key: each for each in fields}

    def _values(self, profile: Mapping[str, Any], key: str) -> Iterator[tuple[str, str]]:
        """Yield the values of a profile's fields by their keys."""
        for each in _PROFILE_FIELDS:
            if value := text_of(profile.get(each.key)):
                yield each.key, html.unescape(value)
        for field, custom in _custom_values(profile):
            if field in self.fields:
                yield field, html.unescape(text_of(custom["value"]))
            else:
                reason = marked(
                    "values of profile fields were left out: the export does not name them"
                )
                self._report.remark(reason, key)

    def _status(self, profile: Mapping[str, Any], key: str) -> StatusRecord | None:
        text, emoji = text_of(profile.get("status_text")), text_of(profile.get("status_emoji"))
        if not text and not emoji:
            return None
        if profile.get("status_expiration"):
            self._report.remark(STATUSES_THAT_END, key)
            return None
        return StatusRecord(text=html.unescape(text), emoji=emoji_name(emoji.strip(":")))

    def _picture(self, profile: Mapping[str, Any], key: str) -> RemoteFile | None:
        """Return the picture that the person has chosen, if pictures are fetched."""
        original = text_of(profile.get("image_original"))
        if not profile.get("is_custom_image") and not original:
            return None
        if not self._supplement.has_pictures:
            reason = marked("profile pictures were left out: the export has only their addresses")
            self._report.remark(reason, key)
            return None
        url = text_of(profile.get("image_512")) or original
        if not is_picture_of_slack(url):
            self._report.remark(marked("profile pictures are not on servers of Slack"), key)
            return None
        return RemoteFile(url)


def _profile(user: Mapping[str, Any]) -> Mapping[str, Any]:
    profile = user.get("profile")
    return profile if isinstance(profile, dict) else {}


def _custom_values(profile: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the fields that the workspace has added to profiles, as far as they are filled in."""
    custom = profile.get("fields")
    for key, value in custom.items() if isinstance(custom, dict) else ():
        if isinstance(value, dict) and text_of(value.get("value")):
            yield key, value


def _role(user: Mapping[str, Any]) -> int:
    if user.get("is_restricted") or user.get("is_ultra_restricted"):
        return GUEST
    if user.get("is_owner") or user.get("is_primary_owner"):
        return OWNER
    return ADMINISTRATOR if user.get("is_admin") else MEMBER


def text_of(value: Any) -> str:
    """Return a text or a number of an export as a text; empty for anything else."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    return str(value).replace("\0", "").strip()

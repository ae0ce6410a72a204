"""Register's personal settings: the user's own, in the present and the old form, and defaults."""

from typing import Any, Final, TypedDict, get_type_hints

import msgspec

from server.domain.user_settings import UserSettings
from server.events.user_settings import (
    OLD_DISPLAY_SETTINGS,
    OLD_NOTIFICATION_SETTINGS,
    as_of_old,
)
from server.initial_state.base import Snapshot, StateSection

OLD_DISPLAY_FIELDS: Final = (*OLD_DISPLAY_SETTINGS, "emojiset_choices")
OLD_NOTIFICATION_FIELDS: Final = (*OLD_NOTIFICATION_SETTINGS, "available_notification_sounds")
"""Top-level fields of register's response, for clients that do not support `user_settings`."""


class EmojiSetChoice(TypedDict):
    key: str
    text: str


class SettingDefaults(UserSettings, frozen=True, kw_only=True):
    """Personal settings of new users, and the available choices."""

    available_notification_sounds: list[str]
    emojiset_choices: list[EmojiSetChoice]
    enable_reaction_notifications: bool | msgspec.UnsetType = msgspec.UNSET  # type: ignore[assignment]
    """Only for clients with the capability `reaction_notifications`."""


class OwnSettings(SettingDefaults, frozen=True, kw_only=True):
    """The personal settings of the user, and the available choices."""

    timezone: str


class UserSettingFields(TypedDict):
    user_settings: OwnSettings


class SettingDefaultFields(TypedDict):
    realm_user_settings_defaults: SettingDefaults


def _old_fields(name: str, fields: tuple[str, ...]) -> type:
    hints = get_type_hints(OwnSettings)
    return msgspec.defstruct(
        name,
        [(each, hints[each] | msgspec.UnsetType, msgspec.UNSET) for each in fields],
        kw_only=True,
    )


OldDisplayFields: Final = _old_fields("OldDisplayFields", OLD_DISPLAY_FIELDS)
OldNotificationFields: Final = _old_fields("OldNotificationFields", OLD_NOTIFICATION_FIELDS)


def _own(snapshot: Snapshot) -> dict[str, Any]:
    row = snapshot.actor.row
    settings = UserSettings.of(row.settings)
    return {
        **settings.wire(extended=snapshot.view.reaction_notifications),
        "timezone": row.timezone,
    }


async def fetch(snapshot: Snapshot) -> dict[str, Any]:
    return {"user_settings": _own(snapshot)}


async def fetch_old_display(snapshot: Snapshot) -> dict[str, Any]:
    return _old(snapshot, OLD_DISPLAY_FIELDS)


async def fetch_old_notifications(snapshot: Snapshot) -> dict[str, Any]:
    return _old(snapshot, OLD_NOTIFICATION_FIELDS)


def _old(snapshot: Snapshot, names: tuple[str, ...]) -> dict[str, Any]:
    if snapshot.view.user_settings_object:
        return {}
    own = _own(snapshot)
    return {name: as_of_old(name, own[name]) for name in names}


async def fetch_defaults(snapshot: Snapshot) -> dict[str, Any]:
    defaults = UserSettings.of(snapshot.settings.user_settings_defaults)
    extended = snapshot.view.reaction_notifications
    return {"realm_user_settings_defaults": defaults.wire(extended=extended)}


SECTIONS: Final = (
    StateSection("user_settings", fetch, (UserSettingFields,)),
    StateSection("update_display_settings", fetch_old_display, (OldDisplayFields,)),
    StateSection("update_global_notifications", fetch_old_notifications, (OldNotificationFields,)),
    StateSection("realm_user_settings_defaults", fetch_defaults, (SettingDefaultFields,)),
)

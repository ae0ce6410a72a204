"""Settings of subscriptions: color, pin, mute, notifications."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from server.actions import audit
from server.actions.locked_realm import lock_context
from server.domain.actor import Actor
from server.domain.errors import BadRequestError
from server.events.base import to_users
from server.events.subscriptions import NOTIFICATIONS, PropertyUpdate, settings_events
from server.i18n import _
from server.transactions import Tx
from storage import channels, subscriptions, users
from storage.ids import ChannelId
from storage.subscriptions import SubscriptionRow

COLOR: Final = "color"
MAX_CHANGES: Final = 1_000
"""Maximum per request."""
_DIGITS: Final = 6
_HEX_COLOR: Final = re.compile(r"#(?:[0-9a-fA-F]{3}){1,2}")
_SWITCHES: Final = ("is_muted", "in_home_view", "pin_to_top", *NOTIFICATIONS)


@dataclass(frozen=True, slots=True)
class PropertyChange:
    """A setting of the actor's subscription to a channel."""

    channel_id: ChannelId
    name: str
    value: bool | str


def checked_color(value: bool | str) -> str:  # noqa: FBT001 - a value, not a choice
    """Return the color in the form that all clients parse: # and six lower-case digits.

    Raises BadRequestError for an invalid color.
    """
    if not isinstance(value, str) or not _HEX_COLOR.fullmatch(value):
        raise BadRequestError(_("color is not a valid hex color code"))
    digits = value[1:].lower()
    return f"#{digits if len(digits) == _DIGITS else ''.join(2 * digit for digit in digits)}"


def checked_change(channel_id: ChannelId, name: str, value: bool | str) -> PropertyChange:  # noqa: FBT001 - a value, not a choice
    """Return the normalized change.

    Raises BadRequestError for an unknown setting, or an invalid value. `in_home_view` is older
    clients' inverse of `is_muted`.
    """
    if name == COLOR:
        return PropertyChange(channel_id, name, checked_color(value))
    if name not in _SWITCHES:
        raise BadRequestError(_("Unknown subscription property: {name}", name=name))
    if not isinstance(value, bool):
        raise BadRequestError(_("{name} is not a boolean", name=name))
    if name == "in_home_view":
        return PropertyChange(channel_id, "is_muted", not value)
    return PropertyChange(channel_id, name, value)


async def change_properties(tx: Tx, actor: Actor, changes: Sequence[PropertyChange]) -> None:
    """Change all of these settings, as `set_properties` does.

    Raises BadRequestError for too many, too.
    """
    if len(changes) > MAX_CHANGES:
        raise BadRequestError(_("Too many changes (limit: {limit})", limit=MAX_CHANGES))
    await set_properties(tx, actor, changes)


async def set_properties(tx: Tx, actor: Actor, changes: Sequence[PropertyChange]) -> None:
    """Change all of these settings, or none; the last of two for one setting wins.

    Changes are published to the actor only. Raises BadRequestError for a channel to which the actor
    is not subscribed.
    """
    await lock_context(tx, actor)
    # Changes of own subscriptions lock the actor's own row, so they are serialised.
    await tx.lock(users.locking(tx.realm_id, [actor.user_id]))
    ids = sorted({change.channel_id for change in changes})
    targets = await tx.lock(channels.locking(tx.realm_id, ids).shared()) if ids else []
    archived = {row.channel_id: row.is_archived for row in targets}
    rows = await subscriptions.in_channels(
        await tx.connection(), tx.realm_id, user_ids=[actor.user_id], channel_ids=ids
    )
    old = {row.channel_id: row for row in rows if row.active}
    for channel_id in ids:
        if channel_id not in old:
            raise BadRequestError(
                _("Not subscribed to channel id {channel_id}", channel_id=channel_id)
            )
    new = _changed(old, changes)
    if not new:
        return

    await subscriptions.update_settings(await tx.changing(), tx.realm_id, list(new.values()))
    changed = {
        channel_id: audit.differences(_facts(old[channel_id]), _facts(row))
        for channel_id, row in new.items()
    }
    updates = [
        PropertyUpdate(
            stream_id=channel_id, property=name, value=value, archived=archived[channel_id]
        )
        for channel_id, changes in changed.items()
        for name, value in audit.after(changes).items()
    ]
    own = to_users(actor.user_id)
    first, *_others = [tx.append(event, own) for event in settings_events(actor.user_id, updates)]
    tx.at_position(first, subscriptions.changed(tx.realm_id, actor.user_id, list(new)))
    audit.record_each(tx, first, actor.user_id, "subscription_changed", changed)


def _changed(
    old: Mapping[ChannelId, SubscriptionRow], changes: Sequence[PropertyChange]
) -> dict[ChannelId, SubscriptionRow]:
    """Return the subscriptions that change."""
    new = dict(old)
    for change in changes:
        wanted: dict[str, Any] = {change.name: change.value}
        new[change.channel_id] = replace(new[change.channel_id], **wanted)
    return {channel_id: row for channel_id, row in new.items() if row != old[channel_id]}


def _facts(row: SubscriptionRow) -> dict[str, Any]:
    """Return all settings of a subscription."""
    return {n: getattr(row, n) for n in (COLOR, "is_muted", "pin_to_top", *NOTIFICATIONS)}

"""The organization itself changes."""

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from typing_extensions import override

from server.events.base import Event
from server.realm_cache import REALM
from storage.ids import RealmId


class _OfRealm(Event, frozen=True, kw_only=True):
    """Events that clients know as `realm`."""

    wire_type: ClassVar[str] = "realm"

    type: Literal["realm"] = "realm"

    @override
    def touches(self) -> Sequence[tuple[Any, ...]]:
        return (REALM,)


class RealmSettingChanged(_OfRealm, frozen=True, kw_only=True):
    """One setting has a new value; its name is that in register, without `realm_`."""

    kind: ClassVar[str] = "realm/update"

    op: Literal["update"] = "update"
    property: str
    value: bool | int | str | None


class RealmSettingsChanged(_OfRealm, frozen=True, kw_only=True):
    """Several settings, or such as are not simple values, have changed."""

    kind: ClassVar[str] = "realm/update_dict"

    op: Literal["update_dict"] = "update_dict"
    property: Literal["default", "icon", "logo", "night_logo"] = "default"
    data: dict[str, Any]


class RealmDeactivated(_OfRealm, frozen=True, kw_only=True):
    kind: ClassVar[str] = "realm/deactivated"

    op: Literal["deactivated"] = "deactivated"
    realm_id: RealmId


class RealmReactivated(_OfRealm, frozen=True, kw_only=True):
    """It is open again. No user is there yet who could be told: for the server's caches alone."""

    kind: ClassVar[str] = "realm/reactivated"
    wire_type: ClassVar[str] = ""

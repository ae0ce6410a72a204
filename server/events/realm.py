"""Events of the realm itself."""

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import msgspec
from typing_extensions import override

from server.domain.permission_settings import OWN_PERMISSIONS
from server.events.base import ClientView, Event
from server.realm_cache import REALM
from storage.ids import Position, RealmId


class _OfRealm(Event, frozen=True, kw_only=True):
    """Base of events with the wire type `realm`."""

    wire_type: ClassVar[str] = "realm"

    type: Literal["realm"] = "realm"

    @override
    def touches(self) -> Sequence[tuple[Any, ...]]:
        return (REALM,)


class RealmSettingChanged(_OfRealm, frozen=True, kw_only=True):
    """The new value of one setting, by its name in register without `realm_`."""

    kind: ClassVar[str] = "realm/update"

    op: Literal["update"] = "update"
    property: str
    value: bool | int | str | None


class RealmSettingsChanged(_OfRealm, frozen=True, kw_only=True):
    """New values of several settings, or of ones that are not simple values."""

    kind: ClassVar[str] = "realm/update_dict"
    varies_by: ClassVar[tuple[str, ...]] = ("pins",)

    op: Literal["update_dict"] = "update_dict"
    property: Literal["default", "icon", "logo", "night_logo"] = "default"
    data: dict[str, Any]

    @override
    def wire(self, position: Position, view: ClientView) -> Sequence[Any]:
        if view.pins or OWN_PERMISSIONS.isdisjoint(self.data):
            return (self,)
        data = {name: self.data[name] for name in self.data if name not in OWN_PERMISSIONS}
        return (msgspec.structs.replace(self, data=data),) if data else ()


class RealmDeactivated(_OfRealm, frozen=True, kw_only=True):
    kind: ClassVar[str] = "realm/deactivated"

    op: Literal["deactivated"] = "deactivated"
    realm_id: RealmId


class RealmReactivated(_OfRealm, frozen=True, kw_only=True):
    """The realm is reactivated.

    No user is connected yet: it only invalidates the server's caches.
    """

    kind: ClassVar[str] = "realm/reactivated"
    wire_type: ClassVar[str] = ""

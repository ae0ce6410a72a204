"""Events of realm exports."""

from collections.abc import Sequence
from typing import ClassVar, Literal

import msgspec
from typing_extensions import override

from server.domain.api_keys import Secret
from server.domain.realm_exports import TYPES, ExportType, url_of
from server.events.base import ClientView, Event
from storage.ids import Position, UserId
from storage.realm_exports import ExportRow


class ExportFields(msgspec.Struct, frozen=True, kw_only=True):
    """Fields of a requested export that are the same in the log and for clients."""

    id: int
    acting_user_id: UserId
    export_time: float
    export_url: Secret | None
    """Downloads the file without further authentication. None if there is no file (yet, or any
    more), or the reader's key has no access to secrets.
    """
    deleted_timestamp: float | None
    failed_timestamp: float | None
    pending: bool


class ShownExport(ExportFields, frozen=True, kw_only=True):
    """A requested export, in the form for administrators."""

    export_type: ExportType
    export_from_prior_server: bool
    """Whether it was made before the organization came to this server, which has no file of it."""

    @classmethod
    def of(cls, row: ExportRow, address: str) -> "ShownExport":
        """Build it from a row; `address` is the realm's URL."""
        return LoggedExport.of(row, address).shown()

    def without_secrets(self) -> "ShownExport":
        return msgspec.structs.replace(self, export_url=None)


class LoggedExport(ExportFields, frozen=True, kw_only=True):
    """A requested export, in the form of the log."""

    export_type: int
    export_from_prior_server: bool = False

    @classmethod
    def of(cls, row: ExportRow, address: str) -> "LoggedExport":
        """Build it from a row; `address` is the realm's URL."""
        url = None
        if row.blob_key is not None and row.is_there:
            url = address + url_of(row.blob_key, row.link_secret)
        return cls(
            id=row.export_id,
            acting_user_id=row.acting_user_id,
            export_time=row.requested_at.timestamp(),
            export_type=row.export_type,
            export_url=url,
            deleted_timestamp=None if row.deleted_at is None else row.deleted_at.timestamp(),
            failed_timestamp=None if row.failed_at is None else row.failed_at.timestamp(),
            pending=row.is_pending,
            export_from_prior_server=row.from_prior_server,
        )

    def shown(self) -> ShownExport:
        fields = msgspec.structs.asdict(self)
        return ShownExport(**(fields | {"export_type": TYPES[self.export_type]}))

    def without_secrets(self) -> "LoggedExport":
        return msgspec.structs.replace(self, export_url=None)


class ExportsWire(msgspec.Struct, frozen=True, kw_only=True):
    """All exports, after any change."""

    type: Literal["realm_export"] = "realm_export"
    exports: list[ShownExport]


class ExportsChanged(Event, frozen=True, kw_only=True):
    """Any change of an export."""

    kind: ClassVar[str] = "realm_export"
    wire_type: ClassVar[str] = "realm_export"
    wires: ClassVar[tuple[type, ...]] = (ExportsWire,)

    exports: list[LoggedExport]

    @override
    def wire(self, position: Position, view: ClientView) -> Sequence[ExportsWire]:
        del position, view
        return (ExportsWire(exports=[each.shown() for each in self.exports]),)

    @override
    def without_secrets(self) -> "ExportsChanged":
        return ExportsChanged(exports=[each.without_secrets() for each in self.exports])


class ExportConsentChanged(Event, frozen=True, kw_only=True):
    """A user's new consent to the export of their private data, or its withdrawal."""

    kind: ClassVar[str] = "realm_export_consent"
    wire_type: ClassVar[str] = "realm_export_consent"

    type: Literal["realm_export_consent"] = "realm_export_consent"
    user_id: UserId
    consented: bool

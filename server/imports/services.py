"""Parts of the process that an import uses."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from server.actions.realm_services import RealmServices
from server.domain.addresses import Addresses
from server.imports.downloads import Downloads
from server.pictures.process import Pictures
from storage.blobs import BlobStore
from storage.database import Database
from storage.ids import RealmId


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportServices:
    """Parts of the process that an import uses."""

    database: Database
    blobs: BlobStore
    pictures: Pictures
    addresses: Addresses
    of_realm: Callable[[RealmId], RealmServices]
    now: Callable[[], datetime]
    downloads: Downloads | None = None
    """None: what the file does not contain is not fetched."""

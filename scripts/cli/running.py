"""Where the server of a data directory listens: what `parley run` tells the commands beside it."""

import json
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from server.settings import Settings

FILE_NAME = "listening.json"


def remember_place(settings: "Settings") -> None:
    """Note where this server listens. Only for whoever holds the data directory.

    Nobody stops serving because it cannot be noted.
    """
    file = settings.data_directory / FILE_NAME
    unfinished = file.with_suffix(".new")
    with suppress(OSError):
        tls = None if settings.certificate is None else str(settings.certificate)
        place = {"host": settings.host, "port": settings.port, "certificate": tls}
        unfinished.write_text(json.dumps(place))
        unfinished.replace(file)


def as_it_runs(settings: "Settings", *, host: object = None, port: object = None) -> "Settings":
    """The settings with the place where the server of the data directory listens, if it runs.

    A `host` or `port` from the command line says where to look instead.
    """
    import msgspec

    from storage.embedded import running_url

    if settings.database_url is not None or (host, port) != (None, None):
        return settings
    if running_url(settings.data_directory) is None:
        return settings
    place = _place(settings.data_directory)
    return settings if place is None else msgspec.structs.replace(settings, **place)


def _place(data: Path) -> dict[str, Any] | None:
    """What the file says; None where there is none that can be read."""
    try:
        noted = json.loads((data / FILE_NAME).read_text())
        certificate = noted.get("certificate")
        return {
            "host": str(noted["host"]),
            "port": int(noted["port"]),
            "certificate": None if certificate is None else Path(certificate),
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None

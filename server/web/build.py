"""The build of the browser client: which files its page loads."""

from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Final

import msgspec
import structlog

from server.app import App

logger = structlog.get_logger(__name__)

ENTRY: Final = "src/main.tsx"
MANIFEST: Final = Path(".vite/manifest.json")
PACKAGED: Final = Path(str(files("server.web"))) / "static" / "app"
URL_PREFIX: Final = "/static/app/"
"""Under which the files of the build are served."""


class _Chunk(msgspec.Struct, frozen=True):
    """An entry of the manifest that Vite writes."""

    file: str
    css: tuple[str, ...] = ()
    imports: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """URLs of the files that the page loads at once."""

    script: str
    styles: tuple[str, ...]
    preloads: tuple[str, ...]
    """Modules that the script imports."""


def folder_of(app: App) -> Path:
    """Return the directory of the build, which may be missing."""
    return app.settings.web_client or PACKAGED


def build_of(app: App) -> Build | None:
    """Return the build; None if there is none, or none that can be read.

    A build that replaces another is found without a restart.
    """
    return build_in(folder_of(app))


def build_in(folder: Path) -> Build | None:
    """Return the build in a directory; None if there is none, or none that can be read."""
    manifest = folder / MANIFEST
    try:
        state = manifest.stat()
    except OSError:
        return None
    return _read(manifest, state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=4)
def _read(manifest: Path, _changed_at: int, _size: int) -> Build | None:
    try:
        chunks = msgspec.json.decode(manifest.read_bytes(), type=dict[str, _Chunk])
        return _build(chunks)
    except (OSError, msgspec.DecodeError, KeyError) as error:
        logger.warning("web_client.manifest_invalid", path=str(manifest), error=str(error))
        return None


def _build(chunks: dict[str, _Chunk]) -> Build:
    """Return what the entry loads. Raises KeyError for a chunk that is missing."""
    loaded: dict[str, _Chunk] = {}

    def load(name: str) -> None:
        if name not in loaded:
            loaded[name] = chunks[name]
            for imported in chunks[name].imports:
                load(imported)

    load(ENTRY)
    entry, *imported = loaded.values()
    # Styles of what is imported come first, as in the order in which modules run.
    styles = dict.fromkeys(style for chunk in (*imported, entry) for style in chunk.css)
    return Build(
        script=URL_PREFIX + entry.file,
        styles=tuple(URL_PREFIX + style for style in styles),
        preloads=tuple(URL_PREFIX + chunk.file for chunk in imported),
    )

"""Version of the server."""

from typing import Any, Final

FEATURE_LEVEL: Final = 500
"""All changes of the protocol up to this level are implemented (docs/protocol.md)."""
VERSION: Final = "0.1.0"
MERGE_BASE: Final = VERSION


def announced() -> dict[str, Any]:
    """Return level, version and merge base, by the names of specification and clients."""
    return {
        f"{prefix}_{name}": value
        for prefix in ("service", "zulip")
        for name, value in (
            ("feature_level", FEATURE_LEVEL),
            ("version", VERSION),
            ("merge_base", MERGE_BASE),
        )
    }

"""What the server says it is."""

from typing import Any, Final

FEATURE_LEVEL: Final = 421
"""All changes of the protocol up to this level are in (docs/protocol.md)."""
VERSION: Final = "0.1.0"
MERGE_BASE: Final = VERSION


def announced() -> dict[str, Any]:
    """Level, version and merge base, under the names of the specification and of the clients."""
    return {
        f"{prefix}_{name}": value
        for prefix in ("service", "zulip")
        for name, value in (
            ("feature_level", FEATURE_LEVEL),
            ("version", VERSION),
            ("merge_base", MERGE_BASE),
        )
    }

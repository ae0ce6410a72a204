"""Optional dependencies: the extras of the package."""

from collections.abc import Iterator
from contextlib import contextmanager


class MissingExtraError(Exception):
    """A setting needs packages that are not installed."""


@contextmanager
def extra(name: str, setting: str) -> Iterator[None]:
    """Import packages of an extra in the block. Raises MissingExtraError."""
    try:
        yield
    except ImportError as missing:
        raise MissingExtraError(
            f"{setting} needs packages that are not installed ({missing.name}):"
            f" install parley[{name}]."
        ) from missing

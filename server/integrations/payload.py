"""Read JSON of unknown shape: what is missing is empty, unless it is required."""

from collections.abc import Iterator
from typing import Any, Final

MAX_TEXT: Final = 10_000
"""Maximum length of a text; more than a message may hold."""
MAX_ITEMS: Final = 1_000


class MalformedPayloadError(Exception):
    """The payload lacks what every payload of its service and event has."""


class Payload:
    """A value of a payload, with its path.

    Values that are missing, or of another type than is asked for, are empty: `payload["a"]["b"]`
    exists for any payload, and `text()` of it may be empty. It is true if it has a value that is
    neither null, false, zero nor empty.
    """

    __slots__ = ("_path", "_value")

    def __init__(self, value: Any, path: str = "") -> None:
        self._value = value
        self._path = path

    def __getitem__(self, key: str | int) -> "Payload":
        value, found = self._value, None
        if isinstance(key, str) and isinstance(value, dict):
            found = value.get(key)
        elif isinstance(key, int) and isinstance(value, list) and -len(value) <= key < len(value):
            found = value[key]
        return Payload(found, f"{self._path}.{key}" if self._path else str(key))

    def __bool__(self) -> bool:
        return bool(self._value)

    def __iter__(self) -> Iterator["Payload"]:
        """Iterate over the items of a list."""
        if isinstance(self._value, list):
            for index in range(min(len(self._value), MAX_ITEMS)):
                yield self[index]

    def __len__(self) -> int:
        return len(self._value) if isinstance(self._value, list | dict) else 0

    def __contains__(self, key: str) -> bool:
        return isinstance(self._value, dict) and key in self._value

    @property
    def exists(self) -> bool:
        """Whether it is there and not null."""
        return self._value is not None

    @property
    def is_text(self) -> bool:
        return isinstance(self._value, str)

    def text(self, default: str = "") -> str:
        """Return a text or a number as text, without space around it; else the default."""
        value = self._value
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            return default
        return str(value)[:MAX_TEXT].strip() or default

    def required_text(self) -> str:
        """Return the text. Raises MalformedPayloadError if there is none."""
        text = self.text()
        if not text:
            raise MalformedPayloadError(f"{self._path} is missing")
        return text

    def required(self) -> "Payload":
        """Return itself. Raises MalformedPayloadError if it is missing or null."""
        if self._value is None:
            raise MalformedPayloadError(f"{self._path or 'the payload'} is missing")
        return self

    def number(self, default: float = 0) -> float:
        """Return a number, also one that is written as text; else the default."""
        value = self._value
        if isinstance(value, str):
            try:
                value = float(value[:40])
            except ValueError:
                return default
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return value if is_number else default

    def integer(self, default: int = 0) -> int:
        """Return a whole number, also one that is written as text; else the default."""
        number = self.number(default)
        return int(number) if abs(number) < 2**63 else default  # false for NaN, too

    def flag(self) -> bool:
        """Return whether it is true."""
        return self._value is True

    def fields(self) -> Iterator[tuple[str, "Payload"]]:
        """Iterate over the fields of an object."""
        if isinstance(self._value, dict):
            for key in list(self._value)[:MAX_ITEMS]:
                yield key, self[key]

    def first(self, *keys: str) -> "Payload":
        """Return the first of the fields that has a value, or the last of them."""
        found = self
        for key in keys:
            found = self[key]
            if found:
                return found
        return found

    def raw(self) -> Any:
        """Return the value as it was decoded."""
        return self._value

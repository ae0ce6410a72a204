"""Where the value of a setting comes from."""

from typing import Final, Literal, NamedTuple

from typing_extensions import override

Kind = Literal["default", "command line", "environment", "file", "secret file"]


class SettingSource(NamedTuple):
    """The kind of a source, and its place as sentences name it: a variable, an option, a key."""

    kind: Kind
    place: str

    @override
    def __str__(self) -> str:
        return self.place


DEFAULT: Final = SettingSource("default", "")

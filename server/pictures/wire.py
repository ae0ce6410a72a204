"""What the server gets from the process that makes pictures."""

from typing import Literal

import msgspec

Recipe = Literal["emoji", "avatar", "icon", "logo", "thumbnail"]


class Picture(msgspec.Struct, frozen=True):
    content: bytes
    kind: Literal["png", "gif", "webp"]


class Made(msgspec.Struct, frozen=True):
    """Pictures by name, or why there are none."""

    pictures: dict[str, Picture] = {}
    width: int = 0
    height: int = 0
    """Of the original, standing upright."""
    refusal: str = ""

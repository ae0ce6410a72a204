"""Responses of the picture process."""

from typing import Literal

import msgspec

Recipe = Literal["emoji", "avatar", "icon", "logo", "thumbnail"]


class Picture(msgspec.Struct, frozen=True):
    content: bytes
    kind: Literal["png", "gif", "webp"]


class Made(msgspec.Struct, frozen=True):
    """Pictures by name, or the error."""

    pictures: dict[str, Picture] = {}
    width: int = 0
    height: int = 0
    """Height of the original, upright."""
    refusal: Literal["", "unreadable", "too_large"] = ""

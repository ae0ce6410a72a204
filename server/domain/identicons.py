"""Identicons: generated avatars with a mirrored pattern in one color, deterministic by seed."""

import colorsys
import struct
import zlib
from hashlib import sha256
from typing import Final

CELLS: Final = 5
SMALL: Final = 100
"""Pixels per side."""
MEDIUM: Final = 500
_BACKGROUND: Final = (240, 240, 240)


def identicon(seed: str, size: int) -> bytes:
    """Return a PNG of `size` pixels per side, a multiple of twenty."""
    digest = sha256(b"identicon:" + seed.encode()).digest()
    hue, pattern = digest[0] / 256, int.from_bytes(digest[1:3], "big")
    color = tuple(round(255 * part) for part in colorsys.hls_to_rgb(hue, 0.42, 0.55))
    cell, margin = size * 4 // 25, size // 10
    edge = [False] * margin
    empty = _packed([False] * size)
    rows = [empty] * margin
    for y in range(CELLS):
        cells = [bool(pattern >> (3 * y + min(x, CELLS - 1 - x)) & 1) for x in range(CELLS)]
        pixels = [is_set for is_set in cells for _ in range(cell)]
        rows += [_packed(edge + pixels + edge)] * cell
    return _png(size, (_BACKGROUND, color), rows + [empty] * margin)


def _packed(pixels: list[bool]) -> bytes:
    """Return a row in PNG's format: no filter, eight pixels per byte."""
    bits = "".join("1" if is_set else "0" for is_set in pixels)
    bits += "0" * (-len(bits) % 8)
    return b"\0" + int(bits, 2).to_bytes(len(bits) // 8, "big")


def _png(size: int, palette: tuple[tuple[int, ...], ...], rows: list[bytes]) -> bytes:
    head = struct.pack(">IIBBBBB", size, size, 1, 3, 0, 0, 0)
    chunks = (
        (b"IHDR", head),
        (b"PLTE", bytes(part for color in palette for part in color)),
        (b"IDAT", zlib.compress(b"".join(rows), 9)),
        (b"IEND", b""),
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )

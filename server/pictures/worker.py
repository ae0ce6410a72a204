"""The process that makes one picture, and then ends.

It reads the original from its input and writes what it has made to its output. What it may take of
memory and processor time is bounded, and no picture is decoded before its size is known.
"""

import resource
import sys
import warnings
from io import BytesIO
from typing import Final

import msgspec
from PIL import Image, ImageOps, ImageSequence, UnidentifiedImageError

from server.pictures.wire import Made, Picture, Recipe

MEMORY_BYTES: Final = 1 << 30
CPU_SECONDS: Final = 10
MAX_INPUT_BYTES: Final = 64 * 1024 * 1024
MAX_PIXELS: Final = 40_000_000
"""Of one picture: a camera's largest, and 160 MB."""
MAX_FRAMES: Final = 500
MAX_ANIMATED_PIXELS: Final = 100_000_000
"""Of all frames together."""
FORMATS: Final = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "AVIF")
"""SVG and all that is a program is none of them, and so is what needs another program."""
UNREADABLE: Final = "Could not decode image; did you upload an image file?"
TOO_LARGE: Final = "Image size exceeds limit."

EMOJI_SIZE: Final = (64, 64)
AVATAR_SIZES: Final = {"small": (100, 100), "medium": (500, 500)}
LOGO_SIZE: Final = (800, 100)
THUMBNAIL_SIZE: Final = (840, 560)
MAX_THUMBNAIL_PIXELS: Final = 25_000_000
"""Of all frames of one that moves: about as many as can be made in time."""
EXIF_ORIENTATION: Final = 0x0112
ON_THEIR_SIDE: Final = frozenset({5, 6, 7, 8})


class RefusedError(Exception):
    """The picture cannot be used; the message is for its owner."""


def main() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    content = sys.stdin.buffer.read(MAX_INPUT_BYTES + 1)
    sys.stdout.buffer.write(msgspec.msgpack.encode(answer(sys.argv[1], content)))  # type: ignore[arg-type]


def answer(recipe: Recipe, content: bytes) -> Made:
    """What the recipe makes of the content."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return make(recipe, content)
    except RefusedError as refusal:
        return Made(refusal=str(refusal))
    except (Image.DecompressionBombError, MemoryError):
        return Made(refusal=TOO_LARGE)
    except (UnidentifiedImageError, OSError, ValueError, SyntaxError, EOFError, IndexError):
        return Made(refusal=UNREADABLE)


def make(recipe: Recipe, content: bytes) -> Made:
    if len(content) > MAX_INPUT_BYTES:
        raise RefusedError(TOO_LARGE)
    Image.MAX_IMAGE_PIXELS = MAX_PIXELS
    with Image.open(BytesIO(content), formats=FORMATS) as original:
        _check(original)
        width, height = original.size
        if original.getexif().get(EXIF_ORIENTATION) in ON_THEIR_SIDE:
            width, height = height, width
        return Made(_pictures(recipe, original), width, height)


def _pictures(recipe: Recipe, original: Image.Image) -> dict[str, Picture]:
    match recipe:
        case "emoji":
            return _emoji(original)
        case "avatar":
            return {name: _fitted(original, size) for name, size in AVATAR_SIZES.items()}
        case "icon":
            return {"small": _fitted(original, AVATAR_SIZES["small"])}
        case "logo":
            return {"wide": _contained(original, LOGO_SIZE)}
        case "thumbnail":
            return _thumbnails(original)


def _check(original: Image.Image) -> None:
    pixels = original.width * original.height
    if not 0 < pixels <= MAX_PIXELS:
        raise RefusedError(TOO_LARGE)
    frames = getattr(original, "n_frames", 1)
    if frames > 1 and (frames > MAX_FRAMES or frames * pixels > MAX_ANIMATED_PIXELS):
        raise RefusedError(TOO_LARGE)


def _emoji(original: Image.Image) -> dict[str, Picture]:
    still = _fitted(original, EMOJI_SIZE)
    if getattr(original, "n_frames", 1) == 1:
        return {"image": still}
    frames, durations = [], []
    for frame in ImageSequence.Iterator(original):
        frames.append(ImageOps.fit(frame.convert("RGBA"), EMOJI_SIZE))
        durations.append(max(20, int(frame.info.get("duration") or 100)))
    first, *others = (_seen(frame) for frame in frames)
    target = BytesIO()
    first.save(
        target,
        "GIF",
        save_all=True,
        append_images=others,
        duration=durations,
        loop=0,
        disposal=2,
    )
    return {"image": Picture(target.getvalue(), "gif"), "still": still}


def _thumbnails(original: Image.Image) -> dict[str, Picture]:
    still = _upright(original, THUMBNAIL_SIZE)
    still.thumbnail(THUMBNAIL_SIZE)
    made = {"still": _webp([_seen(still)], [])}
    frames = getattr(original, "n_frames", 1)
    if frames > 1 and frames * still.width * still.height <= MAX_THUMBNAIL_PIXELS:
        moving, durations = [], []
        for frame in ImageSequence.Iterator(original):
            small = frame.convert("RGBA")
            small.thumbnail(THUMBNAIL_SIZE)
            moving.append(_seen(small))
            durations.append(max(20, int(frame.info.get("duration") or 100)))
        made["animated"] = _webp(moving, durations)
    return made


def _webp(frames: list[Image.Image], durations: list[int]) -> Picture:
    target = BytesIO()
    first, *others = frames
    moving = {"save_all": True, "append_images": others, "duration": durations, "loop": 0}
    first.save(target, "WEBP", quality=80, method=2, **(moving if others else {}))
    return Picture(target.getvalue(), "webp")


def _fitted(original: Image.Image, size: tuple[int, int]) -> Picture:
    """The middle of it, in this shape."""
    return _png(ImageOps.fit(_upright(original, size), size))


def _contained(original: Image.Image, size: tuple[int, int]) -> Picture:
    """All of it, no larger than this."""
    upright = _upright(original, size)
    upright.thumbnail(size)
    return _png(upright)


def _upright(original: Image.Image, size: tuple[int, int]) -> Image.Image:
    """The first picture as it is meant to be seen."""
    original.seek(0)
    original.draft("RGB", (2 * size[0], 2 * size[1]))
    return ImageOps.exif_transpose(original).convert("RGBA")


def _seen(picture: Image.Image) -> Image.Image:
    """Its pixels alone: places, names and profiles stay behind."""
    clean = Image.new("RGBA", picture.size)
    clean.paste(picture)
    return clean


def _png(picture: Image.Image) -> Picture:
    target = BytesIO()
    _seen(picture).save(target, "PNG", optimize=True)
    return Picture(target.getvalue(), "png")


if __name__ == "__main__":
    main()

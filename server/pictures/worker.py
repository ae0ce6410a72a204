"""The process that makes one picture, and then exits.

It reads the original from its input and writes the result to its output. Its memory and processor
time are limited, and no picture is decoded before its size is known.
"""

import resource
import sys
import warnings
from io import BytesIO
from typing import Final

import msgspec
import pi_heif
from PIL import Image, ImageOps, ImageSequence, UnidentifiedImageError

from server.pictures.wire import Made, Picture, Recipe

MEMORY_BYTES: Final = 1 << 30
CPU_SECONDS: Final = 10
MAX_INPUT_BYTES: Final = 64 * 1024 * 1024
MAX_PIXELS: Final = 40_000_000
"""Limit of one picture: a camera's largest, and 160 MB."""
MAX_FRAMES: Final = 500
MAX_ANIMATED_PIXELS: Final = 100_000_000
"""Limit for all frames together."""
FORMATS: Final = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "AVIF", "HEIF", "TIFF")
"""Excludes SVG and all other formats with scripts, and those that need another program."""
MOVING: Final = frozenset({"PNG", "GIF", "WEBP", "AVIF"})
"""Formats with frames of an animation; in others they are pages, or one picture for each eye, of
which the first is used.
"""

EMOJI_SIZE: Final = (64, 64)
AVATAR_SIZES: Final = {"small": (100, 100), "medium": (500, 500)}
ICON_SIZES: Final = {"small": (100, 100), "medium": (192, 192), "large": (512, 512)}
LOGO_SIZE: Final = (800, 100)
THUMBNAIL_SIZE: Final = (840, 560)
TRANSCODED_SIZE: Final = (1920, 1080)
UNCOMMON: Final = frozenset({"HEIF", "TIFF"})
"""Formats that browsers cannot display."""
MAX_THUMBNAIL_PIXELS: Final = 25_000_000
"""Limit for all frames of an animated thumbnail: about as many as can be made in time."""
EXIF_ORIENTATION: Final = 0x0112
ON_THEIR_SIDE: Final = frozenset({5, 6, 7, 8})


class PictureTooLargeError(Exception):
    """The picture has more bytes, pixels or frames than are read."""


def main() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    content = sys.stdin.buffer.read(MAX_INPUT_BYTES + 1)
    sys.stdout.buffer.write(msgspec.msgpack.encode(answer(sys.argv[1], content)))  # type: ignore[arg-type]


def answer(recipe: Recipe, content: bytes) -> Made:
    """Return what the recipe makes of the content."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return make(recipe, content)
    except (PictureTooLargeError, Image.DecompressionBombError, MemoryError):
        return Made(refusal="too_large")
    except (UnidentifiedImageError, OSError, ValueError, SyntaxError, EOFError, IndexError):
        return Made(refusal="unreadable")


def make(recipe: Recipe, content: bytes) -> Made:
    if len(content) > MAX_INPUT_BYTES:
        raise PictureTooLargeError
    Image.MAX_IMAGE_PIXELS = MAX_PIXELS
    # One thread: its time is counted, and each more takes memory.
    pi_heif.options.DECODE_THREADS = 1
    pi_heif.register_heif_opener(thumbnails=False)
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
            return {name: _fitted(original, size) for name, size in ICON_SIZES.items()}
        case "logo":
            return {"wide": _contained(original, LOGO_SIZE)}
        case "thumbnail":
            return _thumbnails(original)


def _check(original: Image.Image) -> None:
    pixels = original.width * original.height
    if not 0 < pixels <= MAX_PIXELS:
        raise PictureTooLargeError
    frames = _frames(original)
    if frames > 1 and (frames > MAX_FRAMES or frames * pixels > MAX_ANIMATED_PIXELS):
        raise PictureTooLargeError


def _frames(original: Image.Image) -> int:
    return getattr(original, "n_frames", 1) if original.format in MOVING else 1


def _emoji(original: Image.Image) -> dict[str, Picture]:
    still = _fitted(original, EMOJI_SIZE)
    if _frames(original) == 1:
        return {"image": still}
    frames, durations = [], []
    for frame in ImageSequence.Iterator(original):
        frames.append(ImageOps.fit(_rgba(frame), EMOJI_SIZE))
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
    made: dict[str, Picture] = {}
    if original.format in UNCOMMON:
        still.thumbnail(TRANSCODED_SIZE)
        made["large"] = _webp([_seen(still)], [])
    still.thumbnail(THUMBNAIL_SIZE)
    made["still"] = _webp([_seen(still)], [])
    frames = _frames(original)
    if frames > 1 and frames * still.width * still.height <= MAX_THUMBNAIL_PIXELS:
        moving, durations = [], []
        for frame in ImageSequence.Iterator(original):
            small = _rgba(frame)
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
    """Return the center of it, cropped to this shape."""
    return _png(ImageOps.fit(_upright(original, size), size))


def _contained(original: Image.Image, size: tuple[int, int]) -> Picture:
    """Return all of it, no larger than this."""
    upright = _upright(original, size)
    upright.thumbnail(size)
    return _png(upright)


def _upright(original: Image.Image, size: tuple[int, int]) -> Image.Image:
    """Return the first picture, upright."""
    original.seek(0)
    original.draft("RGB", (2 * size[0], 2 * size[1]))
    return _rgba(ImageOps.exif_transpose(original))


def _rgba(picture: Image.Image) -> Image.Image:
    """Return the picture with eight bits a channel; more are scaled, not clipped."""
    if picture.mode.startswith(("I", "F")):
        scale = _scale(picture)
        deep = picture if picture.mode == "F" else picture.convert("I")
        picture = deep.point(lambda value: value * scale + 0).convert("L")
    return picture.convert("RGBA")


def _scale(picture: Image.Image) -> float:
    """Return the factor that maps white to 255.

    The mode defines white, or, where it has room for anything, the largest value.
    """
    if picture.mode.startswith("I;16"):
        return 255 / 65_535
    _, largest = picture.getextrema()
    assert not isinstance(largest, tuple), "it has one channel"
    if picture.mode == "F" and 0 < largest <= 1:
        return 255.0
    white = next((each for each in (255, 65_535) if largest <= each), largest)
    return 255 / white


def _seen(picture: Image.Image) -> Image.Image:
    """Return its pixels only: locations, names and profiles are removed."""
    clean = Image.new("RGBA", picture.size)
    clean.paste(picture)
    return clean


def _png(picture: Image.Image) -> Picture:
    target = BytesIO()
    _seen(picture).save(target, "PNG", optimize=True)
    return Picture(target.getvalue(), "png")


if __name__ == "__main__":
    main()

"""What becomes of pictures that strangers send: bounded, and stripped of all but what is seen."""

import asyncio
from pathlib import Path

import pytest
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from server.domain.errors import BadImageError
from server.pictures.process import WORKER, Pictures
from server.pictures.worker import MAX_FRAMES, answer
from server.runtime import sandbox
from testkit.images import animation, bomb, deep, opened, pages, photograph, picture


async def pieces(content):
    yield content


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP", "BMP", "AVIF", "TIFF"])
@pytest.mark.parametrize("size", [(1, 1), (1, 999), (999, 1), (640, 480)])
def test_every_kind_and_shape_is_fitted(kind, size):
    made = answer("avatar", picture(kind, size))
    assert made.refusal == ""
    assert {name: opened(each.content).size for name, each in made.pictures.items()} == {
        "small": (100, 100),
        "medium": (500, 500),
    }


@pytest.mark.parametrize("recipe", ["emoji", "avatar", "icon", "logo", "thumbnail"])
def test_photographs_of_phones_are_taken(recipe):
    made = answer(recipe, photograph())
    assert made.refusal == ""
    assert (made.width, made.height) == (64, 48)
    for each in made.pictures.values():
        red, green, blue = _color(each.content)
        assert red > 200
        assert max(green, blue) < 100
        assert b"SECRET" not in each.content


@pytest.mark.parametrize(
    ("kind", "mode", "values"),
    [
        ("PNG", "I;16", [0, 32_768, 65_535]),
        ("TIFF", "I;16", [0, 32_768, 65_535]),
        ("TIFF", "I", [0, 32_768, 65_535]),
        ("TIFF", "I", [0, 128, 255]),
        ("TIFF", "I", [0, 1 << 30, (1 << 31) - 1]),
        ("TIFF", "F", [0.0, 0.5, 1.0]),
        ("TIFF", "F", [0.0, 127.5, 255.0]),
        ("TIFF", "F", [0.0, 3e8, 6e8]),
    ],
)
def test_more_than_eight_bits_are_scaled(kind, mode, values):
    made = answer("logo", deep(kind, mode, values))
    shown = opened(made.pictures["wide"].content).convert("RGB").tobytes()
    assert [*shown] == pytest.approx([0, 0, 0, 128, 128, 128, 255, 255, 255], abs=2)


@pytest.mark.parametrize("value", [0.0, -5.0, float("nan"), float("inf")])
def test_numbers_that_are_no_light_end_nothing(value):
    made = answer("avatar", deep("TIFF", "F", [value, value]))
    assert made.pictures or made.refusal


def test_pages_are_no_animation():
    made = answer("thumbnail", pages(3))
    assert set(made.pictures) == {"large", "still"}
    red, green, _ = _color(made.pictures["still"].content)
    assert red > 200
    assert green < 100
    assert set(answer("emoji", pages(3)).pictures) == {"image"}
    assert answer("thumbnail", pages(MAX_FRAMES + 1)).refusal == ""


def _color(content: bytes) -> tuple[int, int, int]:
    """Of the whole picture together."""
    red, green, blue = opened(content).convert("RGB").resize((1, 1)).tobytes()
    return red, green, blue


def test_a_logo_keeps_its_shape():
    made = answer("logo", picture(size=(1600, 100)))
    assert opened(made.pictures["wide"].content).size == (800, 50)


def test_nothing_is_kept_but_what_is_seen():
    exif = Image.Exif()
    exif[0x010E] = "SECRET"
    notes = PngInfo()
    notes.add_text("Comment", "SECRET")
    notes.add_itxt("XML:com.adobe.xmp", "SECRET")
    for original in (
        picture("JPEG", exif=exif, comment=b"SECRET"),
        picture("PNG", pnginfo=notes, exif=exif, icc_profile=b"SECRET"),
        picture("PNG") + b"SECRET",
        animation() + b"SECRET",
    ):
        assert b"SECRET" in original
        for each in answer("emoji", original).pictures.values():
            assert b"SECRET" not in each.content
            assert {*opened(each.content).info} <= {
                "background",
                "duration",
                "extension",
                "loop",
                "transparency",
                "version",
            }


def test_it_stands_upright():
    exif = Image.Exif()
    exif[0x0112] = 6
    turned = Image.new("RGB", (40, 20), "red")
    turned.paste("blue", (0, 0, 20, 20))
    made = answer("logo", picture("PNG", (40, 20), exif=exif))
    assert opened(made.pictures["wide"].content).size == (20, 40)


@pytest.mark.parametrize(
    "content",
    [
        bomb(30_000, 30_000),
        bomb(2**31 - 1, 1),
        animation((1, 1), MAX_FRAMES + 1),
        animation((2_000, 2_000), 26, gray=True),
    ],
    ids=["wide and high", "wide", "many frames", "many pixels in all frames"],
)
def test_bombs_are_refused_before_they_are_decoded(content):
    assert answer("emoji", content).refusal == "too_large"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"x",
        b"<svg xmlns='http://www.w3.org/2000/svg'/>",
        b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n",
        b"%PDF-1.7",
        b"GIF89a<script>",
        b"\x89PNG\r\n\x1a\n",
        bomb(100, 100)[:50],
    ],
)
def test_what_is_no_picture_says_so(content):
    assert answer("icon", content).refusal == "unreadable"


@pytest.mark.asyncio
async def test_a_process_makes_them():
    made = await Pictures().make("emoji", pieces(picture()))
    assert opened(made.pictures["image"].content).size == (64, 64)
    with pytest.raises(BadImageError):
        await Pictures().make("emoji", pieces(b"no picture"))


@pytest.mark.asyncio
async def test_a_deadline_ends_it():
    with pytest.raises(BadImageError, match="in time"):
        await Pictures(wall_seconds=0.001).make("emoji", pieces(picture()))


@pytest.mark.asyncio
async def test_it_learns_nothing_of_the_server(monkeypatch):
    monkeypatch.setenv("PARLEY_SECRET", "CANARY")
    process = await sandbox.start(WORKER, "emoji")
    try:
        environ, environment = Path(f"/proc/{process.pid}/environ"), b""
        while not environment:  # the kernel says that exec has succeeded before it fills this in
            environment = await asyncio.to_thread(environ.read_bytes)
    finally:
        process.kill()
        await process.wait()
    assert b"LC_ALL" in environment
    assert b"CANARY" not in environment

"""What becomes of pictures that strangers send: bounded, and stripped of all but what is seen."""

import asyncio
from pathlib import Path

import pytest
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from server import confined
from server.domain.errors import BadImageError
from server.pictures import WORKER, Pictures
from server.pictures.worker import MAX_FRAMES, answer
from tests.fixtures.images import animation, bomb, opened, picture


async def pieces(content):
    yield content


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP", "BMP", "AVIF"])
@pytest.mark.parametrize("size", [(1, 1), (1, 999), (999, 1), (640, 480)])
def test_every_kind_and_shape_is_fitted(kind, size):
    made = answer("avatar", picture(kind, size))
    assert made.refusal == ""
    assert {name: opened(each.content).size for name, each in made.pictures.items()} == {
        "small": (100, 100),
        "medium": (500, 500),
    }


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
        animation((2_000, 2_000), 26),
    ],
    ids=["wide and high", "wide", "many frames", "many pixels in all frames"],
)
def test_bombs_are_refused_before_they_are_decoded(content):
    assert answer("emoji", content).refusal == "Image size exceeds limit."


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
    assert answer("icon", content).refusal.startswith("Could not decode image")


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
    process = await confined.start(WORKER, "emoji")
    try:
        environ = Path(f"/proc/{process.pid}/environ")
        environment = await asyncio.to_thread(environ.read_bytes)
    finally:
        process.kill()
        await process.wait()
    assert b"LC_ALL" in environment
    assert b"CANARY" not in environment

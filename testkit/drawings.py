"""Drawn pictures: portraits, and a chart."""

from io import BytesIO
from typing import Final

from PIL import Image, ImageDraw

COLORS: Final = ("#3b6fd4", "#2a9d8f", "#c8553d", "#8a5fbf", "#d08c1d", "#4c8a3f", "#b0477e")


def portrait(index: int) -> bytes:
    """Return a face of a few circles."""
    side = 256
    background = COLORS[index % len(COLORS)]
    skin = ("#f2c9a1", "#8d5a3b", "#e3a97a", "#5c3a26", "#f6d7b8", "#b97a50")[index * 5 % 6]
    hair = ("#2b2118", "#5a3a22", "#1a1a22", "#a5662e", "#7d7d85")[index * 3 % 5]
    shirt = COLORS[(index + 3) % len(COLORS)]
    image = Image.new("RGB", (side, side), background)
    draw = ImageDraw.Draw(image)
    if index % 2:
        draw.ellipse((62, 34, 194, 214), fill=hair)
    else:
        draw.ellipse((66, 34, 190, 150), fill=hair)
    draw.ellipse((38, 186, 218, 366), fill=shirt)
    draw.rounded_rectangle((108, 150, 148, 206), 18, fill=skin)
    draw.ellipse((78, 56, 178, 178), fill=skin)
    draw.chord((74, 44, 182, 140), 180, 360, fill=hair)
    for x in (106, 150):
        draw.ellipse((x - 6, 112, x + 6, 124), fill="#26211c")
    draw.arc((108, 118, 148, 154), 25, 155, fill="#26211c", width=5)
    return _png(image)


def chart() -> bytes:
    """Return a chart of frame times: bars before, and smaller ones after."""
    width, height = 1000, 420
    image = Image.new("RGB", (width, height), "#fbfcfe")
    draw = ImageDraw.Draw(image)
    for line in range(5):
        y = 40 + line * 75
        draw.line((60, y, width - 30, y), fill="#e2e7ef", width=2)
    before = (22, 58, 61, 49, 73, 66, 88, 61, 54, 79, 64, 71, 59, 68)
    after = (14, 15, 13, 16, 15, 14, 21, 14, 13, 17, 14, 15, 13, 14)
    for index, (slow, fast) in enumerate(zip(before, after, strict=True)):
        x = 76 + index * 65
        draw.rounded_rectangle((x, 340 - slow * 3.3, x + 22, 340), 5, fill="#d7664f")
        draw.rounded_rectangle((x + 26, 340 - fast * 3.3, x + 48, 340), 5, fill="#2a9d8f")
    draw.line((60, 340, width - 30, 340), fill="#7a8699", width=3)
    draw.rounded_rectangle((70, 372, 92, 394), 5, fill="#d7664f")
    draw.rounded_rectangle((250, 372, 272, 394), 5, fill="#2a9d8f")
    draw.text((102, 370), "before", fill="#3b4453", font_size=22)
    draw.text((282, 370), "with a cache of tiles", fill="#3b4453", font_size=22)
    return _png(image)


def _png(image: Image.Image) -> bytes:
    target = BytesIO()
    image.save(target, "PNG")
    return target.getvalue()

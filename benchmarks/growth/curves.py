"""Curves as SVG: both axes logarithmic, so that what grows in proportion is a straight slope."""

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Final

WIDTH: Final = 640
HEIGHT: Final = 360
LEFT: Final = 70
RIGHT: Final = 230
TOP: Final = 40
BOTTOM: Final = 45
COLOURS: Final = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#8c564b", "#17becf")
LEAST: Final = 0.001
"""The value at which zero is drawn, for it has no logarithm."""

Points = Sequence[tuple[float, float]]


class _Scale:
    """From the values of an axis to its pixels."""

    def __init__(self, values: Sequence[float], begin: float, end: float) -> None:
        self.low = math.floor(math.log10(max(min(values), LEAST)))
        high = math.ceil(math.log10(max(*values, LEAST)))
        self.high = max(high, self.low + 1)
        self._begin = begin
        self._step = (end - begin) / (self.high - self.low)

    def at(self, value: float) -> float:
        return self._begin + (math.log10(max(value, LEAST)) - self.low) * self._step

    def decades(self) -> list[float]:
        return [10.0**exponent for exponent in range(self.low, self.high + 1)]


def draw(title: str, across: str, unit: str, curves: Mapping[str, Points]) -> str:
    """The curves in one picture, with their names beside it."""
    xs = _Scale([x for points in curves.values() for x, _ in points], LEFT, WIDTH - RIGHT)
    ys = _Scale([y for points in curves.values() for _, y in points], HEIGHT - BOTTOM, TOP)
    fonts = 'font-family="sans-serif" font-size="11"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" {fonts}>',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        _text(LEFT, 20, title, weight="bold"),
        _text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, across, anchor="middle"),
        _text(LEFT, TOP - 8, unit, anchor="end"),
    ]
    for value in xs.decades():
        parts.append(_line(xs.at(value), TOP, xs.at(value), HEIGHT - BOTTOM))
        parts.append(_text(xs.at(value), HEIGHT - BOTTOM + 15, f"{value:,g}", anchor="middle"))
    for value in ys.decades():
        parts.append(_line(LEFT, ys.at(value), WIDTH - RIGHT, ys.at(value)))
        parts.append(_text(LEFT - 6, ys.at(value) + 4, f"{value:,g}", anchor="end"))
    for number, (name, points) in enumerate(curves.items()):
        colour = COLOURS[number % len(COLOURS)]
        places = [(xs.at(x), ys.at(y)) for x, y in points]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in places]
        parts.append(_text(WIDTH - RIGHT + 12, TOP + 10 + 18 * number, name, colour=colour))
    return "\n".join([*parts, "</svg>", ""])


def _line(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="#ddd"/>'


def _text(
    x: float,
    y: float,
    text: str,
    *,
    anchor: str = "start",
    weight: str = "normal",
    colour: str = "#222",
) -> str:
    style = f'text-anchor="{anchor}" font-weight="{weight}" fill="{colour}"'
    return f'<text x="{x:.1f}" y="{y:.1f}" {style}>{escape(text)}</text>'

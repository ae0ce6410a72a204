"""Sizes of what the browser client loads before it shows anything."""

from benchmarks.web.budgets import BUDGETS, SCRIPT, STYLE
from server.web.build import PACKAGED, URL_PREFIX, Build, build_in


def packaged() -> Build:
    build = build_in(PACKAGED)
    assert build is not None, "run ./scripts/build-web"
    return build


def kilobytes(*urls: str) -> float:
    """Return the size of files as browsers get them: compressed with Brotli."""
    names = [url.removeprefix(URL_PREFIX) for url in urls]
    return sum((PACKAGED / f"{name}.br").stat().st_size for name in names) / 1000


def test_scripts_are_within_their_budget():
    """What a view or a dialog needs alone is loaded with it (web/src/ui/lazy.tsx)."""
    build = packaged()
    assert kilobytes(build.script, *build.preloads) <= BUDGETS[SCRIPT]


def test_styles_are_within_their_budget():
    assert kilobytes(*packaged().styles) <= BUDGETS[STYLE]

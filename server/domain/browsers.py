"""Readable names of browsers from their User-Agent header."""

import re
from typing import Final

from server.i18n import _, marked

_BROWSERS: Final = (
    (marked("the desktop app Zulip"), re.compile(r"\bZulip(?:Electron|Desktop)?/")),
    (marked("the app Zulip"), re.compile(r"\bZulip(?:Flutter|Mobile)/")),
    ("Edge", re.compile(r"\bEdgA?(?:iOS)?/")),
    ("Opera", re.compile(r"\bOPR/")),
    ("Samsung Internet", re.compile(r"\bSamsungBrowser/")),
    ("Firefox", re.compile(r"\b(?:Firefox|FxiOS)/")),
    ("Chrome", re.compile(r"(?:\bChrome|\bCriOS|HeadlessChrome)/")),
    ("Safari", re.compile(r"\bVersion/[\d.]+ .*\bSafari/")),
)
"""Most also claim to be one of those that follow."""
_SYSTEMS: Final = (
    (marked("an iPhone"), re.compile(r"\biPhone\b|\(iOS\b")),
    (marked("an iPad"), re.compile(r"\biPad\b")),
    ("Android", re.compile(r"\bAndroid\b")),
    ("Windows", re.compile(r"\bWindows\b")),
    (marked("a Mac"), re.compile(r"\bMac OS X\b|\bMacintosh\b")),
    ("ChromeOS", re.compile(r"\bCrOS\b")),
    ("Linux", re.compile(r"\bLinux\b")),
)

ON: Final = " on "


def browser_name(user_agent: str) -> str:
    """Return a name such as "Firefox on Windows"; an unknown User-Agent is returned as it is."""
    known = known_device(user_agent)
    if known is not None:
        return device_in_words(known)
    return user_agent or _("An unknown browser")


def device_in_words(known: str) -> str:
    """Return what `known_device` has returned, to be translated."""
    browser, _on, system = known.partition(ON)
    if not system:
        return _(browser)
    return _("{browser} on {system}", browser=_(browser), system=_(system))


def known_device(user_agent: str) -> str | None:
    """Return a name such as "Firefox on Windows" in our words alone; None if it is unknown."""
    browser = next((name for name, said in _BROWSERS if said.search(user_agent)), "")
    if not browser:
        return None
    system = next((name for name, said in _SYSTEMS if said.search(user_agent)), "")
    return f"{browser}{ON}{system}" if system else browser

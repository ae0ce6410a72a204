"""What browsers say of themselves, as people would say it."""

import re
from typing import Final

_BROWSERS: Final = (
    ("the desktop app Zulip", re.compile(r"\bZulip(?:Electron|Desktop)?/")),
    ("the app Zulip", re.compile(r"\bZulip(?:Flutter|Mobile)/")),
    ("Edge", re.compile(r"\bEdgA?(?:iOS)?/")),
    ("Opera", re.compile(r"\bOPR/")),
    ("Samsung Internet", re.compile(r"\bSamsungBrowser/")),
    ("Firefox", re.compile(r"\b(?:Firefox|FxiOS)/")),
    ("Chrome", re.compile(r"(?:\bChrome|\bCriOS|HeadlessChrome)/")),
    ("Safari", re.compile(r"\bVersion/[\d.]+ .*\bSafari/")),
)
"""Most also claim to be one of those that follow."""
_SYSTEMS: Final = (
    ("an iPhone", re.compile(r"\biPhone\b|\(iOS\b")),
    ("an iPad", re.compile(r"\biPad\b")),
    ("Android", re.compile(r"\bAndroid\b")),
    ("Windows", re.compile(r"\bWindows\b")),
    ("a Mac", re.compile(r"\bMac OS X\b|\bMacintosh\b")),
    ("ChromeOS", re.compile(r"\bCrOS\b")),
    ("Linux", re.compile(r"\bLinux\b")),
)


def browser_name(user_agent: str) -> str:
    """Like "Firefox on Windows"; what is not known, as it comes."""
    return known_device(user_agent) or user_agent or "An unknown browser"


def known_device(user_agent: str) -> str | None:
    """Like "Firefox on Windows", in our words alone; None where it says nothing that is known."""
    browser = next((name for name, said in _BROWSERS if said.search(user_agent)), "")
    if not browser:
        return None
    system = next((name for name, said in _SYSTEMS if said.search(user_agent)), "")
    return f"{browser} on {system}" if system else browser

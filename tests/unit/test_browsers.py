"""Names of browsers."""

import pytest

from server.domain.browsers import browser_name

APPLE = "AppleWebKit/605.1.15 (KHTML, like Gecko)"
WEBKIT = "AppleWebKit/537.36 (KHTML, like Gecko)"


@pytest.mark.parametrize(
    ("user_agent", "name"),
    [
        (f"Mozilla/5.0 (X11; Linux x86_64) {WEBKIT} Chrome/126.0 Safari/537.36", "Chrome on Linux"),
        (
            f"Mozilla/5.0 (Windows NT 10.0; Win64) {WEBKIT} Chrome/126.0 Safari/537.36 Edg/126.0",
            "Edge on Windows",
        ),
        (
            "Mozilla/5.0 (Windows NT 10.0; rv:127.0) Gecko/20100101 Firefox/127.0",
            "Firefox on Windows",
        ),
        (
            f"Mozilla/5.0 (Linux; Android 14; Pixel 8) {WEBKIT} Chrome/126.0 Mobile Safari/537.36",
            "Chrome on Android",
        ),
        (f"Mozilla/5.0 (iPhone; Mac OS X) {APPLE} Version/17 Safari/604.1", "Safari on an iPhone"),
        (f"Mozilla/5.0 (Macintosh; Mac OS X) {APPLE} Version/17.5 Safari/605.1", "Safari on a Mac"),
        ("Firefox/127.0", "Firefox"),
        ("curl/8.0", "curl/8.0"),
        ("", "An unknown browser"),
    ],
)
def test_browsers_are_called_what_people_call_them(user_agent, name):
    assert browser_name(user_agent) == name

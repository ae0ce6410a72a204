"""Emoji in text: by name between colons, as characters, and as emoticons."""

import re
from functools import lru_cache
from typing import Final

from server.domain.emoji import SERVICE_EMOJI, codes_by_name
from server.domain.markdown.nodes import ImageEmoji, Inline, Text, UnicodeEmoji
from server.domain.markdown.resolver import MentionResolver

_JOINER, _EMOJI_STYLE, _TEXT_STYLE = "\u200d", "\ufe0f", "\ufe0e"
# Text unless their style says otherwise; a backslash makes the sign of a key text.
_KEYCAP = rf"(?<!\\)[#*0-9]{_EMOJI_STYLE}\u20e3"
_STYLED_SIGN = "[\u00a9\u00ae\u203c\u2049\u2122\u2139\u2194-\u2199\u21a9\u21aa]" + _EMOJI_STYLE

TRIGGER: Final = (
    "[\u231a-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff]"
    f"|{_KEYCAP}|{_STYLED_SIGN}|:(?=[a-z0-9_+-])"
)
"""What begins an emoji, by name or as a character; matched case-insensitively."""
EMOTICON_TRIGGER: Final = r"(?<!\S)(?-i::[)(|/DoOpP]|\(:|<3|;\))(?!\S)"

SERVICE_IMAGE: Final = "/static/generated/emoji/images/emoji/unicode/zulip.png"
"""Where clients have the image of the one emoji that is the server's own."""

EMOTICONS: Final = {
    ":)": "smile",
    "(:": "smile",
    ":(": "slightly_frowning_face",
    "<3": "heart",
    ":|": "neutral_face",
    ":/": "confused",
    ";)": "wink",
    ":D": "big_smile",
    ":o": "open_mouth",
    ":O": "open_mouth",
    ":p": "stuck_out_tongue",
    ":P": "stuck_out_tongue",
}

_NAME = re.compile(r":([0-9a-zA-Z_.+-]{1,100}):")
# One character with its modifiers: styles, skin, gender, parts of a family; or a flag.
_PART = f"[^\\s{_JOINER}]{_EMOJI_STYLE}?[\U0001f3fb-\U0001f3ff]?"
_CHARACTER = re.compile(
    "[\U0001f1e6-\U0001f1ff]{2}"
    f"|{_KEYCAP}"
    "|\U0001f3f4[\U000e0061-\U000e007a]{1,8}\U000e007f"
    f"|{_PART}(?:{_JOINER}{_PART}){{0,8}}"
)


def is_character(trigger: str) -> bool:
    """Return whether a match of TRIGGER begins an emoji as a character."""
    return trigger > "\u2300" or _EMOJI_STYLE in trigger


def named_at(text: str, start: int, resolver: MentionResolver) -> tuple[int, Inline] | None:
    """Return the emoji named between the colon at `start` and the next one, and its end."""
    match = _NAME.match(text, start)
    if match is None:
        return None
    name = match[1]
    image = resolver.emoji_image(name) or (SERVICE_IMAGE if name == SERVICE_EMOJI else None)
    if image is not None:
        return match.end(), ImageEmoji(name, image)
    code = codes_by_name().get(name)
    return None if code is None else (match.end(), UnicodeEmoji(name, code))


def character_at(text: str, start: int) -> tuple[int, Inline] | None:
    """Return the emoji character at `start`, and its end."""
    match = _CHARACTER.match(text, start)
    if match is None or text[match.end() : match.end() + 1] == _TEXT_STYLE:
        return None
    code = "-".join(f"{ord(each):04x}" for each in match[0] if each != _EMOJI_STYLE)
    name = _names().get(code)
    if name is not None:
        return match.end(), UnicodeEmoji(name, code)
    # A joined sequence stays together, whatever its parts would be alone.
    return (match.end(), Text(match[0])) if len(match[0]) > 1 else None


def emoticon(text: str) -> UnicodeEmoji:
    """Return the emoji of one of EMOTICONS."""
    name = EMOTICONS[text]
    return UnicodeEmoji(name, codes_by_name()[name])


@lru_cache(maxsize=1)
def _names() -> dict[str, str]:
    """Return the preferred name of each emoji: a word, and a short one."""
    names: dict[str, str] = {}
    for name, code in sorted(
        codes_by_name().items(), key=lambda item: (not item[0][0].isalpha(), len(item[0]), item[0])
    ):
        names.setdefault(code, name)
    return names

"""Exports of Slack, made up: small ones for tests, large ones for benchmarks."""

import itertools
import json
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

FIRST_DAY = datetime(2020, 1, 1, tzinfo=UTC)

WORDS = """
    the deploy of the release went fine and we can look at the numbers of last week again because
    someone asked in the meeting whether the new cache helps with the load on the database
""".split()  # noqa: SIM905 - words that can be read


def person(key: str, name: str, **facts: Any) -> dict[str, Any]:
    profile = {"real_name": name, "email": f"{key.lower()}@example.com"}
    profile |= facts.pop("profile", {})
    return {"id": key, "name": key.lower(), "profile": profile, "tz": "Europe/Berlin", **facts}


def channel(key: str, name: str, members: Iterable[str], **facts: Any) -> dict[str, Any]:
    return {"id": key, "name": name, "members": list(members), "created": 1577836800, **facts}


def message(sender: str, text: str, ts: str, **facts: Any) -> dict[str, Any]:
    return {"type": "message", "user": sender, "text": text, "ts": ts, **facts}


def write_export(
    path: Path,
    *,
    users: Iterable[Mapping[str, Any]],
    messages: Mapping[str, Iterable[Mapping[str, Any]]],
    channels: Iterable[Mapping[str, Any]] = (),
    groups: Iterable[Mapping[str, Any]] = (),
    dms: Iterable[Mapping[str, Any]] = (),
    mpims: Iterable[Mapping[str, Any]] = (),
    files: Mapping[str, bytes] | None = None,
) -> Path:
    """Write an archive; `messages` are by the path of their file, without its ending."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        lists = {"users": users, "channels": channels, "groups": groups, "dms": dms, "mpims": mpims}
        for name, each in lists.items():
            archive.writestr(f"{name}.json", json.dumps(list(each)))
        for name, records in messages.items():
            archive.writestr(f"{name}.json", json.dumps(list(records)))
        for name, content in (files or {}).items():
            archive.writestr(name, content)
    return path


def write_large_export(
    path: Path, *, messages: int, days: int = 500, channels: int = 50, people: int = 500
) -> Path:
    """Write an export of so many messages: a tenth in threads, with mentions, links and code."""
    keys = [f"U{n:05}" for n in range(people)]
    users = [
        person(key, f"Person {n}", is_owner=n == 0, is_primary_owner=n == 0)
        for n, key in enumerate(keys)
    ]
    places = [
        channel(f"C{n:05}", f"channel-{n}", keys[n % 7 :: 7], is_general=n == 0)
        for n in range(channels)
    ]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("users.json", json.dumps(users))
        archive.writestr("channels.json", json.dumps(places))
        numbers = itertools.count()
        a_file = -(-messages // (days * channels))
        for day in range(days):
            for n in range(channels):
                count = min(a_file, messages - day * channels * a_file - n * a_file)
                records = list(_day(n, day, max(count, 0), keys, numbers))
                date = FIRST_DAY + timedelta(days=day)
                archive.writestr(f"channel-{n}/{date:%Y-%m-%d}.json", json.dumps(records))
    return path


def _day(
    place: int, day: int, count: int, keys: list[str], numbers: Iterator[int]
) -> Iterator[dict[str, Any]]:
    start = int((FIRST_DAY + timedelta(days=day)).timestamp())
    root = ""
    for each in range(count):
        number = next(numbers)
        ts = f"{start + each * 86_000 // max(count, 1)}.{place:03}{each % 1000:03}"
        begin = number % len(WORDS)
        text = " ".join((WORDS[begin:] + WORDS)[: 4 + number % 23])
        facts: dict[str, Any] = {}
        if number % 10 == 0:
            text = f"<@{keys[number % len(keys)]}> {text}"
        elif number % 17 == 0:
            text = f"*{text}* <https://example.com/{number}|as written there> :tada:"
        elif number % 23 == 0:
            text = f"{text} `code {number}`"
        if number % 100 == 0:
            root, facts = ts, {"thread_ts": ts, "reply_count": 10}
        elif root and number % 100 <= 10:
            facts = {"thread_ts": root}
        if number % 20 == 0:
            facts["reactions"] = [{"name": "+1", "users": keys[:3], "count": 3}]
        sender = keys[number * 7 % len(keys)]
        rich = {
            "type": "rich_text",
            "elements": [
                {"type": "rich_text_section", "elements": [{"type": "text", "text": text}]}
            ],
        }
        if number % 3 == 0 and "<" not in text and "*" not in text:
            facts["blocks"] = [rich]
        yield message(sender, text, ts, team="T1", client_msg_id=f"{number:032x}", **facts)

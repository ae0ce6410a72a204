"""Exports with odd and hostile content, one of each program: all of it comes, in a valid form."""

import gzip
import json
import zipfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from testkit import rocketchat_exports, slack_exports
from testkit.clients.commands import run
from testkit.clients.server import Server
from testkit.zulip_exports import ZulipExport
from tests.acceptance.test_moving import client_of, history_of

pytestmark = pytest.mark.asyncio

IMPORT = ("--realm", "moved")
LONG = "N\x07\u202e" * 5_000
CHANNEL = "c" * 10_000
THEN, NEVER = datetime(2024, 3, 1, tzinfo=UTC), datetime(3000, 1, 1, tzinfo=UTC)
PLACEHOLDER, INVALID = b"BADBYTES", b"\xff\xc3\x28\x80\xed\xa0\x80\xfe"
"""Bytes that are no UTF-8, and what stands for them until the export is written."""

TEXTS = ("invalid BADBYTES", "of a stranger", "later than now", "of a twin", "of one with a name")
ROOT = "../../../../outside"


def with_invalid_bytes(path: Path) -> Path:
    """Put bytes that are no UTF-8 into the texts."""
    if not zipfile.is_zipfile(path):
        content = gzip.decompress(path.read_bytes())
        path.write_bytes(gzip.compress(content.replace(PLACEHOLDER, INVALID)))
        return path
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content.replace(PLACEHOLDER, INVALID))
        archive.writestr(ROOT, b"outside")
    return path


def slack(path: Path) -> Path:
    def person(key: str, name: str, email: str, **facts: bool) -> dict[str, object]:
        return slack_exports.person(key, name, profile={"email": email}, **facts)

    def stamp(moment: datetime, number: int) -> str:
        return f"{moment.timestamp():.0f}.00000{number}"

    message = slack_exports.message
    messages = [
        message("U1", TEXTS[0], stamp(THEN, 1)),
        message("U9", TEXTS[1], stamp(THEN, 2), user_profile={"real_name": "Stranger"}),
        message("U1", TEXTS[2], stamp(NEVER, 3)),
        message("U4", TEXTS[3], stamp(THEN, 4)),
        message("U2", TEXTS[4], stamp(THEN, 5)),
    ]
    users = [
        person("U1", "Ada", "ada@x.example", is_owner=True),
        person("U2", LONG, "long@x.example"),
        person("U3", "Twin", "twin@x.example"),
        person("U4", "Other twin", "TWIN@x.example"),
    ]
    place = slack_exports.channel("C1", CHANNEL, ["U1", "U2", "U3", "U4"])
    days = {f"{CHANNEL}/2024-03-01": messages}
    return slack_exports.write_export(path, users=users, channels=[place], messages=days)


def mattermost(path: Path) -> Path:
    def user(name: str, full_name: str, email: str, roles: str = "") -> tuple[str, object]:
        teams = [{"name": "t", "channels": [{"name": "c"}]}]
        known = {"username": name, "email": email, "first_name": full_name}
        return "user", {**known, "roles": roles, "teams": teams}

    def post(name: str, number: int, moment: datetime = THEN) -> tuple[str, object]:
        milliseconds = round(moment.timestamp() * 1000) + number
        known = {"team": "t", "channel": "c", "user": name}
        return "post", {**known, "message": TEXTS[number], "create_at": milliseconds}

    lines = [
        ("version", 1),
        ("team", {"name": "t"}),
        ("channel", {"team": "t", "name": "c", "display_name": CHANNEL, "type": "O"}),
        user("ada", "Ada", "ada@x.example", "system_admin"),
        user("long", LONG, "long@x.example"),
        user("twin", "Twin", "twin@x.example"),
        user("other", "Other twin", "TWIN@x.example"),
        post("ada", 0),
        post("stranger", 1),
        post("ada", 2, NEVER),
        post("other", 3),
        post("long", 4),
    ]
    text = "".join(json.dumps({"type": kind, kind: value}) + "\n" for kind, value in lines)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("import.jsonl", text)
    return path


def rocketchat(path: Path) -> Path:
    def user(key: str, name: str, email: str, **facts: object) -> dict[str, object]:
        emails = [{"address": email}]
        return rocketchat_exports.user(key, name, username=key, emails=emails, **facts)

    message = rocketchat_exports.message
    return rocketchat_exports.write_dump(
        path,
        users=[
            user("ada", "Ada", "ada@x.example", roles=["admin"]),
            user("long", LONG, "long@x.example"),
            user("twin", "Twin", "twin@x.example"),
            user("other", "Other twin", "TWIN@x.example"),
        ],
        rocketchat_room=[rocketchat_exports.room("GENERAL", CHANNEL)],
        rocketchat_message=[
            message("1", "ada", TEXTS[0], THEN),
            message("2", "stranger", TEXTS[1], THEN),
            message("3", "ada", TEXTS[2], NEVER),
            message("4", "other", TEXTS[3], THEN),
            message("5", "long", TEXTS[4], THEN),
        ],
    )


def zulip(path: Path) -> Path:
    export = ZulipExport()
    export.person(10, "Ada", role=100, delivery_email="ada@x.example")
    export.person(11, LONG, delivery_email="long@x.example")
    export.person(12, "Twin", delivery_email="twin@x.example")
    export.person(13, "Other twin", delivery_email="TWIN@x.example")
    place = export.channel(1, CHANNEL, [10, 11, 12, 13])
    moments = [THEN, THEN, NEVER, THEN, THEN]
    for number, (sender, moment) in enumerate(zip((10, 99, 10, 13, 11), moments, strict=True)):
        date = moment.timestamp() + number / 10
        export.message(number + 1, sender, place, TEXTS[number], date_sent=date)
    return export.write(path)


@pytest.mark.parametrize("write", [slack, mattermost, rocketchat, zulip])
async def test_odd_content_comes_in_a_valid_form(
    server: Server, tmp_path: Path, write: Callable[[Path], Path]
):
    folder = tmp_path / "a" / "b" / "c" / "d"
    folder.mkdir(parents=True)
    file = with_invalid_bytes(write(folder / ("x.tar.gz" if write is zulip else "x.zip")))
    await run(server, "import", file, *IMPORT, "--report", tmp_path / "report.json")
    ada = await client_of(server, "ada@x.example")
    state = await ada.post("/register")
    active = {each["full_name"] for each in state["realm_users"]}
    gone = {each["full_name"] for each in state["realm_non_active_users"]}
    [long] = [name for name in active if name.startswith("NNN")]
    assert 0 < len(long) <= 100
    # The one with an address who came first; twins share an account.
    assert active >= {"Ada", "Twin", long}
    assert "Other twin" not in active | gone
    assert gone

    seen = await history_of(ada)
    assert len(seen) == len(TEXTS)
    by_text = {each["content"]: each for each in seen}
    [broken] = [text for text in by_text if text.startswith("invalid")]
    assert "\N{REPLACEMENT CHARACTER}" in broken or "?" in broken
    broken.encode()
    assert by_text["of a stranger"]["sender_full_name"] in gone
    assert by_text["of a twin"]["sender_full_name"] == "Twin"
    assert by_text["of one with a name"]["sender_full_name"] == long
    assert all(each["timestamp"] <= server.app.clock.now().timestamp() for each in seen)
    assert seen[-1]["content"] == "later than now"
    assert {each["display_recipient"] for each in seen} == {"c" * 60}

    reasons = [
        each["reason"] for each in json.loads((tmp_path / "report.json").read_text())["remarks"]
    ]
    for part in ("in the future", "address of another", "names were changed", "names of channels"):
        assert [reason for reason in reasons if part in reason], part
    assert names_below(tmp_path) == {"a", "b", "c", "d", file.name, "report.json"}


def names_below(folder: Path) -> set[str]:
    return {each.name for each in folder.rglob("*")}

"""Imports from other programs: streams, order, texts and names, without a database."""

import io
import json
import random
import struct
import zipfile
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from typing_extensions import override

from server.domain.messages import MAX_TOPIC_LENGTH
from server.i18n import _, translated
from server.imports import json_streams
from server.imports.accounts import planned_accounts
from server.imports.archive import ReadableFile
from server.imports.bson_streams import MalformedBsonError, documents_in
from server.imports.errors import FileRefusedError
from server.imports.gridfs import GridFsBucket
from server.imports.json_streams import MalformedJsonError, objects_in
from server.imports.readers.slack import time_of
from server.imports.recognition import source_of
from server.imports.records import PersonRecord, StatusRecord
from server.imports.report import STATUSES_THAT_END, ImportReport, example
from server.imports.slack_markup import emoji_name, markdown_of_slack
from server.imports.slack_web import is_on_slack, is_picture_of_slack
from server.imports.sorting import SortedRecord, sorted_records
from server.imports.survey import Survey, survey
from server.imports.topics import dated_name, numbered_name, topic_name
from testkit.rocketchat_exports import bson, chunks_of, write_dump
from testkit.slack_exports import channel, message, person, write_export


def test_examples_of_a_report_can_be_translated_after_they_were_stored():
    report = ImportReport()
    report.remark(STATUSES_THAT_END, "Ada\0")
    name = "a/b.png\0" + "c" * 1_000
    why = _("{name} in the archive is damaged: {error}.", name=name, error=_("no JSON"))
    report.remark(STATUSES_THAT_END, example("Ada " * 100, why))
    stored = json.loads(json.dumps(report.as_json()))
    [remark] = stored["remarks"]
    assert remark["examples"][1].endswith("cc in the archive is damaged: no JSON.")
    for _again in range(2):
        [(_reason, remark)] = ImportReport.of(stored).remarks.items()
        stored = ImportReport.of(stored).as_json()
    name, in_german = (translated(each, "de") for each in remark.examples)
    assert name == "Ada"
    person, file = ("Ada " * 50), "a/b.png" + "c" * 192
    assert in_german == f"{person}: {file} im Archiv ist beschädigt: kein JSON."


@pytest.mark.parametrize("size", [1, 2, 7, 64, 100_000])
def test_objects_of_an_array_are_found_wherever_chunks_end(monkeypatch, size: int):
    objects = [
        {"text": 'a "quoted" \\ text }]', "deep": {"list": [1, {"x": "]"}]}},
        {"text": "", "empty": {}},
        {"text": "ünï ☃"},
    ]
    monkeypatch.setattr(json_streams, "CHUNK_BYTES", size)
    for text in (json.dumps(objects), json.dumps(objects, indent=4, ensure_ascii=False)):
        found = objects_in(io.BytesIO(b"\xef\xbb\xbf\n " + text.encode() + b"\n"))
        assert [json.loads(each) for each in found] == objects


@pytest.mark.parametrize(
    "text", [b"", b"[", b'[{"a": 1}, {"b"', b'{"a": 1}', b'[{"a": "' + b"x" * 99]
)
def test_what_is_no_whole_array_is_an_error(text: bytes):
    with pytest.raises(MalformedJsonError):
        list(objects_in(io.BytesIO(text)))


def test_an_object_that_is_too_large_is_an_error_before_it_is_in_memory():
    class Endless(io.BytesIO):
        taken = 0

        @override
        def read(self, size: int | None = -1) -> bytes:
            assert size is not None
            self.taken += size
            return b'[{"a": "' if self.taken == size else b"x" * size

    endless = Endless()
    with pytest.raises(MalformedJsonError, match="too large"):
        list(objects_in(endless))
    assert endless.taken < 2 * json_streams.MAX_OBJECT_BYTES


def test_records_are_in_order_also_if_memory_holds_few_of_them():
    choose = random.Random(1)
    keys = [choose.randrange(50) for _ in range(500)]
    records = [SortedRecord(float(k), "c", 10, {"n": n}) for n, k in enumerate(keys)]
    expected = sorted(records, key=lambda each: each.key)
    for max_bytes in (0, 35, 700, 10_000):
        assert list(sorted_records(records, max_bytes=max_bytes)) == expected


def test_a_time_of_slack_is_exact_to_the_microsecond():
    assert time_of("1516524675.000024") == datetime(2018, 1, 21, 8, 51, 15, 24, tzinfo=UTC)
    assert time_of(1516524675) == datetime(2018, 1, 21, 8, 51, 15, tzinfo=UTC)
    wrong: list[Any] = ["", "soon", None, True, "-1", "1" * 12, []]
    assert [time_of(each) for each in wrong] == [None] * 7


class Names:
    def person(self, key: str) -> str | None:
        return {"U1": "@**Ada|7**"}.get(key)

    def channel(self, key: str) -> str | None:
        return {"C1": "#**plans**"}.get(key)

    def channel_url(self, key: str) -> str | None:
        return {"C1": "https://chat.example/#narrow/channel/3-plans"}.get(key)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("hello <@U1> and <@U1|ada>", "hello @**Ada|7** and @**Ada|7**"),
        ("<@U9|someone> in <#C1|old name>, <#C9|other>", "someone in #**plans**, #other"),
        ("*<@U1>* is _here_ <!channel>", "**@**Ada|7**** is *here* @**all**"),
        ("`<@U1>` and ```<@U1> *x*```", "`<@U1>` and ```<@U1> *x*```"),
        (":woman-facepalming: :+1::skin-tone-3: 10:30:45", ":woman_facepalming: :+1: 10:30:45"),
        ("a &lt;b&gt; <https://x.example|x>", "a &lt;b> [x](https://x.example)"),
        ("\ue0000\ue001", "0"),
    ],
)
def test_references_in_texts_of_slack_are_ours(text: str, expected: str):
    assert markdown_of_slack({"text": text}, Names()) == expected


def test_references_in_blocks_and_attachments_are_ours():
    elements = [
        {"type": "user", "user_id": "U1", "style": {"code": True, "bold": True}},
        {"type": "text", "text": " in "},
        {"type": "channel", "channel_id": "C1"},
        {"type": "user", "user_id": "U9"},
        {"type": "emoji", "name": "tada", "unicode": "1f389"},
        {"type": "text", "text": "<@U1>", "style": {"code": True}},
    ]
    block = {"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": elements}]}
    body = {"text": "x", "blocks": [block], "attachments": [{"text": "for <@U1>"}]}
    assert (
        markdown_of_slack(body, Names())
        == "**@**Ada|7**** in #**plans**@U9🎉`<@U1>`\n\nfor @**Ada|7**"
    )
    assert emoji_name("thumbsup::skin-tone-2") == "thumbsup"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("**Deploy** of [the site](https://x.example) @**Ada|7**", "Deploy of the site @Ada"),
        ("✔ ✔ done", "done"),
        ("```\ncode here\n```", "code here"),
        ("", "Thread"),
        ("a\\*b &lt;c", "a*b <c"),
        ("> quoted\n> more", "quoted more"),
    ],
)
def test_a_thread_is_named_by_its_first_words(text: str, expected: str):
    assert topic_name(text) == expected


@pytest.mark.parametrize(
    "text", ["word " * 40, "x" * 10_000, "汉" * 61, "\u0301" * 100, "a\x00\ud800b"]
)
def test_any_text_gives_a_valid_topic(text: str):
    moment = datetime(2020, 1, 2, 3, 4, 5, tzinfo=UTC)
    name = topic_name(text)
    for each in (name, dated_name(name, moment), numbered_name(dated_name(name, moment), 12)):
        assert 0 < len(each) <= MAX_TOPIC_LENGTH
        each.encode()
    assert dated_name(name, moment).endswith("(2020-01-02 03:04:05)")


# -- accounts


def planned(*people: PersonRecord, owner: str | None = None, **strangers: str):
    report = ImportReport()
    found = Survey(
        people=people, strangers=strangers, channels=(), conversations=(), emoji=0, messages=0
    )
    return planned_accounts(found, owner, "moved.example", report), report


def test_of_two_people_with_one_address_those_in_use_have_the_account():
    gone = PersonRecord(key="U1", full_name="Old", email="A@x.example", is_active=False)
    here = PersonRecord(key="U2", full_name="New", email="a@X.example", role=100)
    [account], report = planned(gone, here)
    assert (account.keys, account.new.full_name, account.is_active) == (["U2", "U1"], "New", True)
    assert [each.count for each in report.remarks.values()] == [1]


def test_people_without_a_valid_address_cannot_sign_in():
    owner = PersonRecord(key="U1", full_name="O", email="o@x.example", role=100)
    others = [
        PersonRecord(key="U2", full_name="x" * 10_000),
        PersonRecord(key="U3", full_name="**", email="no address"),
        PersonRecord(key="U4", full_name="Bot", is_bot=True),
        PersonRecord(key="U5", full_name="N", email="notification-bot@zulip.com"),
    ]
    accounts, report = planned(owner, *others, B7="Some bot")
    assert [each.is_active for each in accounts] == [True, False, False, False, True, False]
    assert {each.new.email.partition("@")[2] for each in accounts[1:]} == {"imported.invalid"}
    assert max(len(each.new.full_name) for each in accounts) == 100
    assert sum(each.count for each in report.remarks.values()) == 8


def test_an_owner_is_found_or_named_or_nothing_is_done():
    member = PersonRecord(key="U1", full_name="M", email="m@x.example")
    nameless = PersonRecord(key="U2", full_name="O", role=100, is_first_owner=True)
    with pytest.raises(FileRefusedError, match="--owner"):
        planned(member, nameless)
    accounts, _ = planned(member, nameless, owner="o@x.example")
    assert (accounts[0].keys, accounts[0].new.email) == (["U2"], "o@x.example")
    accounts, _ = planned(member, owner="M@x.example")
    assert (accounts[0].keys, accounts[0].new.role) == (["U1"], 100)
    accounts, _ = planned(member, owner="new@x.example")
    assert (accounts[0].keys, accounts[0].new.email) == ([], "new@x.example")
    bot = PersonRecord(key="B1", full_name="B", email="b@x.example", role=100, is_bot=True)
    with pytest.raises(FileRefusedError):
        planned(bot)


# -- files that are damaged or hostile


def surveyed(path: Path) -> tuple[Survey, ImportReport]:
    report = ImportReport()
    source = source_of(path)
    assert source is not None
    with source.opened(path, report) as reader:
        return survey(reader, lambda *_: None), report


USERS = [person("U1", "Ada", is_owner=True)]
CHANNELS = [channel("C1", "plans", ["U1"])]


def test_records_that_cannot_be_read_are_counted(tmp_path: Path):
    records = [
        message("U1", "fine", "1516524675.000024"),
        message("U1", "the same again", "1516524675.000024"),
        message("U1", "no time", "later"),
        message("U1", "joined", "1516524676.0", subtype="channel_join"),
        message("U1", "gone", "1516524677.0", subtype="tombstone"),
        message("U7", "unknown", "1516524678.0", user_profile={"real_name": "Someone"}),
        {"no": "message"},
    ]
    path = write_export(
        tmp_path / "x.zip",
        users=USERS,
        channels=CHANNELS,
        messages={"plans/2018-01-21": records, "lost/2018-01-21": records},
    )
    found, report = surveyed(path)
    assert found.messages == 2
    assert found.strangers == {"U7": "Someone"}
    assert sum(each.count for each in report.remarks.values()) == 6


def counted(report: ImportReport) -> dict[str, int]:
    return {reason: each.count for reason, each in report.remarks.items()}


def test_profiles_of_slack_have_their_fields(tmp_path: Path):
    custom = {
        "X1": {"value": "Berlin &amp; Bonn", "alt": "", "label": "City"},
        "X2": {"value": "", "label": "Empty"},
        "X3": None,
        "X4": {"value": "of a field that is named elsewhere"},
        "X5": {"value": "of a field without a name"},
    }
    profile = {
        "title": "Engineer",
        "phone": "",
        "pronouns": "she",
        "fields": custom,
        "status_emoji": ":palm_tree:",
        "image_original": "https://x.example/ada.png",
    }
    ending = {"status_text": "at lunch", "status_expiration": 1516524675}
    named = {"fields": {"X4": {"value": "y", "label": "Named"}}, **ending}
    users = [
        *USERS,
        person("U2", "Bob", profile=profile),
        person("U3", "C", profile={"fields": 1}),
        person("U4", "D", profile=named),
    ]
    path = write_export(tmp_path / "x.zip", users=users, channels=CHANNELS, messages={})
    found, report = surveyed(path)
    assert [field.name for field in found.fields] == ["Title", "Pronouns", "City", "Named"]
    bob = found.people[1]
    others = "of a field that is named elsewhere"
    values = {"title": "Engineer", "pronouns": "she", "X1": "Berlin & Bonn", "X4": others}
    assert (bob.fields, bob.status) == (values, StatusRecord(emoji="palm_tree"))
    assert found.people[3].status is None
    pictures = "profile pictures were left out: the export has only their addresses"
    unnamed = "values of profile fields were left out: the export does not name them"
    assert counted(report) == {pictures: 1, unnamed: 1, STATUSES_THAT_END: 1}


def test_only_addresses_of_slack_are_its_own():
    for url in ("https://files.slack.com/f", "https://slack.com/x", "https://a.b.slack.com:443/"):
        assert is_on_slack(url)
    for url in (
        "http://files.slack.com/f",
        "https://files.slack.com:8443/f",
        "https://slack.com.evil.example/",
        "https://evilslack.com/",
        "https://evil.example/slack.com",
        "https://evil.example\\@slack.com",
        "https://[slack.com",
        "",
    ):
        assert not is_on_slack(url)
    assert is_picture_of_slack("https://ca.slack-edge.com/T1-U1-512")
    assert not is_picture_of_slack("https://x.example/p.png")


def test_a_disk_that_fails_amid_a_file_is_a_refusal_and_no_fault_of_ours():
    memory = Path("/proc/self/mem")  # where nothing is mapped at the beginning
    with (
        io.BufferedReader(ReadableFile(memory)) as failing,
        pytest.raises(FileRefusedError) as refused,
    ):
        failing.read(1)
    assert str(refused.value) == "/proc/self/mem cannot be read: Input/output error."


def test_invalid_characters_are_replaced(tmp_path: Path):
    path = tmp_path / "x.zip"
    write_export(path, users=USERS, channels=CHANNELS, messages={})
    with zipfile.ZipFile(path, "a") as archive:
        text = b'[{"type": "message", "user": "U1", "text": "a\xff\\ud800b", "ts": "1516524675.1"}]'
        archive.writestr("plans/2018-01-21.json", text)
    source = source_of(path)
    assert source is not None
    with source.opened(path, report := ImportReport()) as reader:
        [only] = reader.messages()
        assert reader.markdown(only.body, Names()) == "a\N{REPLACEMENT CHARACTER}?b"
    assert len(report.remarks) == 1


def test_a_damaged_archive_is_refused_as_a_whole(tmp_path: Path):
    path, records = tmp_path / "x.zip", [message("U1", "x" * 5000, "1516524675.1")]
    write_export(path, users=USERS, channels=CHANNELS, messages={"plans/2018-01-21": records})
    whole = path.read_bytes()
    path.write_bytes(whole[:-30])
    with pytest.raises(FileRefusedError, match="end of this ZIP archive is missing"):
        source_of(path)
    # What is wrong in the middle shows when it is read.
    place = whole.index(b"plans/2018-01-21.json") + len("plans/2018-01-21.json") + 20
    path.write_bytes(whole[:place] + b"\x00\xff" + whole[place + 2 :])
    with pytest.raises(FileRefusedError, match="damaged"):
        surveyed(path)
    for text in ("{}", "[", "nonsense", "[1, 2"):
        write_export(path, users=USERS, channels=CHANNELS, messages={})
        with zipfile.ZipFile(path, "a") as archive:
            archive.writestr("plans/2018-01-21.json", text)
        with pytest.raises(FileRefusedError, match="not what Slack exports"):
            surveyed(path)


def test_paths_that_lead_out_of_an_archive_lead_nowhere(tmp_path: Path):
    member = "__uploads/F1/../../../../out.txt"
    files = [{"id": "F1", "name": "../../out.txt"}, {"id": "..", "name": "/etc/passwd"}]
    records = [message("U1", "here", "1516524675.1", files=files)]
    path = write_export(
        tmp_path / "x.zip",
        users=USERS,
        channels=CHANNELS,
        messages={"plans/2018-01-21": records, "../plans/2018-01-21": records},
        files={member: b"content"},
    )
    source = source_of(path)
    assert source is not None
    with source.opened(path, report := ImportReport()) as reader:
        [only] = reader.messages()
        assert [each.member for each in only.files] == [member, None]
        with reader.opened(member) as file:
            assert file.read() == b"content"
    assert len(report.remarks) == 1
    assert [each.name for each in tmp_path.iterdir()] == ["x.zip"]


def archive_of(path: Path, program: str, padding: bytes = b"") -> tuple[Path, str]:
    """An export of the program; and the member of it with the messages, which has the padding."""
    if program == "Slack":
        write_export(path, users=USERS, channels=CHANNELS, messages={})
        name, text = "plans/2018-01-21.json", b"[" + padding + b"]"
    elif program == "Mattermost":
        zipfile.ZipFile(path, "w").close()
        name, text = "import.jsonl", b'{"type":"version","version":1}\n' + padding
    else:
        write_dump(path)
        with zipfile.ZipFile(path) as archive:
            members = {each: archive.read(each) for each in archive.namelist()}
        name, text = "dump/rocketchat/rocketchat_message.bson", bson({"msg": padding.decode()})
        del members[name]
        with zipfile.ZipFile(path, "w") as archive:
            for each, content in members.items():
                archive.writestr(each, content)
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, text)
    return path, name


PROGRAMS = pytest.mark.parametrize("program", ["Slack", "Mattermost", "Rocket.Chat"])


@PROGRAMS
def test_an_archive_that_was_cut_is_refused(tmp_path: Path, program: str):
    path, _ = archive_of(tmp_path / "x.zip", program)
    source = source_of(path)
    assert source is not None
    assert source.name == program
    surveyed(path)
    whole = path.read_bytes()
    for length in (0, 1):
        path.write_bytes(whole[:length])
        assert source_of(path) is None
    for length in (30, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(FileRefusedError, match="end of this ZIP archive is missing"):
            source_of(path)


@PROGRAMS
def test_a_member_of_another_size_than_said_is_refused_or_read_as_it_is(
    tmp_path: Path, program: str
):
    padding = b"\n" * 5_000
    path, name = archive_of(tmp_path / "x.zip", program, padding)
    whole = path.read_bytes()
    # The last one of the directory; its size stands 24 bytes from its beginning.
    place = whole.rindex(b"PK\x01\x02") + 24
    [size] = struct.unpack_from("<I", whole, place)
    assert size > len(padding)
    for said in (0, 1, size // 2, size - 1):
        path.write_bytes(whole[:place] + struct.pack("<I", said) + whole[place + 4 :])
        with pytest.raises(FileRefusedError, match=rf"{name}|Line 1|no JSON|not what"):
            surveyed(path)
    path.write_bytes(whole[:place] + struct.pack("<I", size + 1000) + whole[place + 4 :])
    assert surveyed(path)[0].messages == 0


@PROGRAMS
def test_an_archive_that_unpacks_to_too_much_is_refused(tmp_path: Path, program: str):
    path, name = archive_of(tmp_path / "x.zip", program, b"\n" * 40_000_000)
    with pytest.raises(FileRefusedError, match=f"{name} in the archive would unpack to too many"):
        surveyed(path)


@PROGRAMS
def test_a_member_that_is_damaged_or_encrypted_is_refused(tmp_path: Path, program: str):
    path, name = archive_of(tmp_path / "x.zip", program, b"\n" * 5_000)
    whole = path.read_bytes()
    content = whole.rindex(name.encode(), 0, whole.rindex(b"PK\x01\x02")) + len(name)
    flags = whole.rindex(b"PK\x01\x02") + 8
    for place, wrong in ((content + 4, b"\x00\xff\x00"), (flags, b"\x01\x00")):
        path.write_bytes(whole[:place] + wrong + whole[place + len(wrong) :])
        with pytest.raises(FileRefusedError, match="is damaged"):
            surveyed(path)


# -- Mattermost


def lines_of(path: Path, *lines: str) -> Path:
    path.write_text("".join(f"{each}\n" for each in ('{"type":"version","version":1}', *lines)))
    return path


class TeamNames:
    def person(self, key: str) -> str | None:
        return {"ada": "@**Ada|7**", "a.b": "@**A B|8**"}.get(key)

    def channel(self, key: str) -> str | None:
        return {"t/plans": "#**Plans**"}.get(key)

    def channel_url(self, key: str) -> str | None:
        return {"C1": "https://chat.example/#narrow/channel/3-plans"}.get(key)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("@ada, @Ada. @a.b. @nobody x@ada", "@**Ada|7**, @**Ada|7**. @**A B|8**. @nobody x@ada"),
        ("~plans and ~other, ~~gone~~", "#**Plans** and ~other, ~~gone~~"),
        ("`@ada _x_` _x_ __y__ @here", "`@ada _x_` *x* **y** @here"),
        ("@all: look", "@**all**: look"),
        (":man-shrugging: 10:30", ":man_shrugging: 10:30"),
    ],
)
def test_references_in_texts_of_mattermost_are_ours(text: str, expected: str, tmp_path: Path):
    source = source_of(lines_of(tmp_path / "x.jsonl"))
    assert source is not None
    with source.opened(tmp_path / "x.jsonl", ImportReport()) as reader:
        body = {"text": text, "team": "t", "attachments": []}
        assert reader.markdown(body, TeamNames()) == expected


def test_lines_are_read_with_any_blanks_between_their_parts(tmp_path: Path):
    path = tmp_path / "x.jsonl"
    lines: list[dict[str, Any]] = [
        {"type": "version", "version": 1},
        {"type": "user", "user": {"username": "u"}},
        {"type": "post", "post": {"team": "t", "channel": "c", "user": "u", "create_at": 1}},
    ]
    for separators in ((", ", ": "), (",", " :\t")):
        path.write_text("".join(f" {json.dumps(x, separators=separators)}\n" for x in lines))
        found, report = surveyed(path)
        assert (found.messages, len(found.people), report.remarks) == (1, 1, {})
    # The kind need not come first.
    path.write_text(f"{json.dumps(lines[0])}\n" + json.dumps(dict(reversed(lines[2].items()))))
    assert surveyed(path)[0].messages == 1


def test_lines_that_cannot_be_read_are_refused_or_counted(tmp_path: Path):
    good = (
        '{"type":"post","post":{"team":"t","channel":"c","user":"u","message":"m","create_at":1}}'
    )
    strange = [
        '{"type":"post","post":{"team":"t","channel":"c","user":"u","message":"m"}}',
        '{"type":"post","post":{"create_at":true}}',
        '{"type":"post","post":[]}',
        '{"type":"nothing"}',
        "[]",
        "",
    ]
    found, report = surveyed(lines_of(tmp_path / "x.jsonl", good, *strange))
    assert found.messages == 1
    assert sum(each.count for each in report.remarks.values()) == 2
    with pytest.raises(FileRefusedError, match="Line 3"):
        surveyed(lines_of(tmp_path / "x.jsonl", good, good[:-5]))


def test_users_of_mattermost_have_their_fields(tmp_path: Path):
    ada = {"username": "ada", "position": "Engineer", "nickname": "ada", "custom_status": "{}"}
    bob = {"username": "bob", "custom_status": '{"emoji":"calendar","text":"here","duration":""}'}
    eve = {"username": "eve", "custom_status": {"text": "at lunch", "duration": "one_hour"}}
    odd = {"username": "odd", "custom_status": "{"}
    lines = [{"type": "user", "user": each} for each in (ada, bob, eve, odd)]
    found, report = surveyed(lines_of(tmp_path / "x.jsonl", *map(json.dumps, lines)))
    assert [field.name for field in found.fields] == ["Position"]
    assert [each.fields for each in found.people] == [{"position": "Engineer"}, {}, {}, {}]
    status = StatusRecord(text="here", emoji="calendar")
    assert [each.status for each in found.people] == [None, status, None, None]
    assert counted(report) == {STATUSES_THAT_END: 1}


# -- Rocket.Chat


def element(kind: int, name: str, value: bytes) -> bytes:
    return bytes([kind]) + name.encode() + b"\0" + value


def document(*elements: bytes) -> bytes:
    body = b"".join(elements) + b"\0"
    return struct.pack("<i", len(body) + 4) + body


def string(text: bytes) -> bytes:
    return struct.pack("<i", len(text) + 1) + text + b"\0"


def test_documents_of_all_types_are_read():
    text = document(
        element(0x01, "double", struct.pack("<d", 1.5)),
        element(0x02, "string", string("ünï".encode())),
        element(0x02, "invalid", string(b"a\xff")),
        element(0x03, "document", document(element(0x10, "n", struct.pack("<i", -7)))),
        element(0x04, "array", document(element(0x08, "0", b"\1"), element(0x0A, "1", b""))),
        element(0x05, "binary", struct.pack("<i", 3) + b"\0abc"),
        element(0x07, "id", b"x" * 12),
        element(0x09, "moment", struct.pack("<q", 1709280000123)),
        element(0x09, "never", struct.pack("<q", 2**62)),
        element(0x0B, "regex", b"a.*\0i\0"),
        element(0x12, "long", struct.pack("<q", 2**40)),
        element(0x13, "decimal", b"x" * 16),
    )
    [found] = documents_in(io.BytesIO(text))
    assert found == {
        "double": 1.5,
        "string": "ünï",
        "invalid": "a\N{REPLACEMENT CHARACTER}",
        "document": {"n": -7},
        "array": [True, None],
        "binary": None,
        "id": b"x".hex() * 12,
        "moment": datetime(2024, 3, 1, 8, 0, 0, 123000, tzinfo=UTC),
        "never": None,
        "regex": None,
        "long": 2**40,
        "decimal": None,
    }
    [found] = documents_in(io.BytesIO(text), with_bytes=True)
    assert found["binary"] == b"abc"


def test_users_of_rocketchat_have_their_fields(tmp_path: Path):
    custom = document(element(0x02, "team", string(b"x")), element(0x02, "empty", string(b"")))
    user = document(
        element(0x02, "_id", string(b"u1")),
        element(0x02, "bio", string(b"b")),
        element(0x02, "statusText", string(b"away")),
        element(0x02, "avatarOrigin", string(b"upload")),
        element(0x03, "customFields", custom),
    )
    path = tmp_path / "x.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("dump/users.bson", user)
        archive.writestr("dump/rocketchat_room.bson", b"")
        archive.writestr("dump/rocketchat_message.bson", b"")
    found, report = surveyed(path)
    assert [field.name for field in found.fields] == ["Bio", "team"]
    [only] = found.people
    assert only.fields == {"bio": "b", "custom team": "x"}
    assert only.status == StatusRecord(text="away")
    assert counted(report) == {"profile pictures are not in the dump": 1}


def test_no_bytes_are_read_beyond_a_document():
    """Whatever a document says of the sizes of its values."""
    good = document(
        element(0x02, "s", string(b"text")),
        element(0x03, "d", document(element(0x05, "b", struct.pack("<i", 1) + b"\0x"))),
    )
    choose = random.Random(2)
    for _case in range(3_000):
        broken = bytearray(good)
        for _change in range(choose.randrange(1, 4)):
            broken[choose.randrange(len(broken))] = choose.randrange(256)
        with suppress(MalformedBsonError):
            list(documents_in(io.BytesIO(broken)))
    nested = b""
    for _level in range(500):
        nested = element(0x03, "d", document(nested))
    for wrong in (good[:-1], good + b"\1", b"\xff\xff\xff\x7f" + good, document(nested)):
        with pytest.raises(MalformedBsonError):
            list(documents_in(io.BytesIO(wrong)))


def bucket_of(files: dict[str, Any], chunks: list[dict[str, Any]]) -> GridFsBucket:
    listed = [{"_id": key, "length": size} for key, size in files.items()]
    return GridFsBucket(lambda: iter(listed), lambda: iter(chunks))


def test_files_in_chunks_are_whole_in_whatever_order_these_come():
    choose = random.Random(3)
    contents = {f"f{n}": choose.randbytes(n * 97) for n in range(30)}
    chunks = [each for key, content in contents.items() for each in chunks_of(key, content, 100)]
    choose.shuffle(chunks)
    sizes = {key: len(content) for key, content in contents.items()}
    bucket = bucket_of(sizes, [*chunks, {"files_id": "unlisted", "n": 0, "data": b"x" * 99}])
    assert [key in bucket for key in ("f0", "f29", "unlisted", "")] == [True, True, False, False]
    for key, content in contents.items():
        with bucket.opened(key) as file, bucket.opened("f29") as other:
            assert other.read(150) == contents["f29"][:150]
            assert file.read(33) == content[:33]
            assert file.read() == content[33:]
    bucket.close()


@pytest.mark.parametrize(
    "chunks",
    [
        [],
        [{"files_id": "f", "n": 1, "data": b"abcd"}],
        [{"files_id": "f", "n": 0, "data": b"abc"}],
        [{"files_id": "f", "n": 0, "data": b"abcde"}],
        [{"files_id": "f", "n": 0, "data": b"ab"}, {"files_id": "f", "n": 2, "data": b"cd"}],
        [{"files_id": "f", "n": 0, "data": b"abc"}, {"files_id": "f", "n": 0, "data": b"d"}],
        [{"files_id": "f", "n": -1, "data": b"abcd"}, {"files_id": "f", "n": 0.5, "data": b"abcd"}],
        [{"files_id": "f", "n": "0", "data": b"abcd"}, {"files_id": 1, "n": 0, "data": b"abcd"}],
        [{"files_id": "f", "n": 0, "data": None}, {}],
    ],
)
def test_files_of_which_chunks_are_missing_or_wrong_are_damaged(chunks: list[dict[str, Any]]):
    wrong = {"g": "4", "h": -1, "i": float("inf"), "j": float("nan"), "k": 1e300}
    bucket = bucket_of({"f": 4, **wrong}, chunks)
    assert not [key for key in wrong if key in bucket]
    with pytest.raises(FileRefusedError, match="missing"), bucket.opened("f"):
        pass
    bucket.close()

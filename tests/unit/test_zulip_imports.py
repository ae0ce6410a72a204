"""Exports of Zulip: archives, tables and texts, without a database."""

import gzip
import io
import json
import re
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from server.imports import json_streams, sorting
from server.imports.errors import FileRefusedError
from server.imports.json_streams import MalformedJsonError, rows_in
from server.imports.recognition import ZULIP, source_of
from server.imports.records import PostedMessage
from server.imports.report import ImportReport
from server.imports.sorting import SortedRecord, sorted_records
from server.imports.survey import Survey, survey
from server.imports.zulip_files import time_of
from server.imports.zulip_texts import ZulipTexts, referred_in
from testkit.zulip_exports import FOLDER, START, ZulipExport, add

TABLES: dict[str, Any] = {
    "a": [{"x": 1, "y": '}]{"q'}, {"n": {"m": [1, {"k": 2}]}}, {}],
    "import_source": "zulip",
    "skipped": [{"a": {"b": 1}}, {"c": "x"}],
    "object": {"a": [{"z": 1}], "q": {"a": [{"zz": 1}]}},
    "b": [{"é": "ü☃"}],
    "nothing": None,
    "empty": [],
}


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64, 100_000])
def test_rows_of_tables_are_found_wherever_chunks_end(monkeypatch, size: int):
    monkeypatch.setattr(json_streams, "CHUNK_BYTES", size)
    for text in (json.dumps(TABLES), json.dumps(TABLES, indent=2, ensure_ascii=False)):
        found: dict[str, list[Any]] = {}
        for table, row in rows_in(io.BytesIO(text.encode()), {"a", "b", "empty"}):
            found.setdefault(table, []).append(json.loads(row))
        assert found == {"a": TABLES["a"], "b": TABLES["b"]}


@pytest.mark.parametrize(
    "text", [b"", b"{", b'[{"a": 1}]', b'{"a": [{"x": 1}', b'{"a": [{"x": "' + b"y" * 99]
)
def test_what_is_no_whole_object_of_arrays_is_an_error(text: bytes):
    with pytest.raises(MalformedJsonError):
        list(rows_in(io.BytesIO(text), {"a"}))


def test_a_row_that_is_too_large_is_an_error_before_it_is_in_memory():
    rows = b'{"a": [{"x": "' + b"y" * (json_streams.MAX_OBJECT_BYTES + 10 * 2**20)
    file = io.BytesIO(rows)
    with pytest.raises(MalformedJsonError, match="too large"):
        list(rows_in(file, {"a"}))
    assert file.tell() < json_streams.MAX_OBJECT_BYTES + 2**20


def test_more_sorted_files_than_may_be_open_become_larger_ones(monkeypatch):
    monkeypatch.setattr(sorting, "MAX_RUNS", 3)
    records = [SortedRecord(float(n * 7 % 50), "c", 10, n) for n in range(200)]
    expected = sorted(records, key=lambda each: each.key)
    assert list(sorted_records(records, max_bytes=15)) == expected


def test_times_are_exact_and_others_are_none():
    moment = time_of(1409000103.25)
    assert moment is not None
    assert moment.isoformat() == "2014-08-25T20:55:03.250000+00:00"
    wrong: list[Any] = [None, "", "soon", True, 0, -1, 1e300, float("nan"), float("inf"), []]
    assert [time_of(each) for each in wrong] == [None] * len(wrong)


# -- texts


class Names:
    def person(self, key: str) -> str | None:
        return {"10": "@**Ada L|7**", "11": "@**Bob|8**"}.get(key)

    def channel(self, key: str) -> str | None:
        return {"1": "#**plans**"}.get(key)

    def channel_url(self, key: str) -> str | None:
        return {"1": "https://new.example/#narrow/channel/3-plans"}.get(key)


def texts(*hosts: str) -> ZulipTexts:
    return ZulipTexts(
        people={"Ada L": "10", "Bob": "11"},
        channels={"1": "plans", "2": "big plans"},
        hosts=hosts,
        has_file=lambda path: path == "2/ab/x/a.png",
    )


OURS = "https://new.example/#narrow/channel/3-plans"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("@**Bob** @_**Bob|11** @**|11**", "@**Bob|8** @_**Bob|8** @**Bob|8**"),
        ("@**Ada**, once called so", "@**Ada L|7**, once called so"),
        ("@**all** @**topic** @**Nobody**", None),
        ("@**Nobody|99** @_**|98**", "@**Nobody** @_**98**"),
        ("@**everyone|11**", "@**Bob|8**"),
        ("`@**Bob**`\n```\n#**old plans**\n```", None),
        ("#**old plans>a** #**plans** #**other**", "#**plans>a** #**plans** #**other**"),
        ("[x](#narrow/stream/1-plans/topic/y.20z)", f"[x]({OURS}/topic/y.20z)"),
        ("https://old.example/#narrow/channel/1-plans, yes", f"{OURS}, yes"),
        ("(https://old.example/#narrow/channel/1-a.2Fb/topic/ü.)", f"({OURS}/topic/ü.)"),
        ("https://old.example/#narrow/channel/1-plans/topic/y/near/5", None),
        ("https://else.example/#narrow/channel/1-plans", None),
        ("/#narrow/channel/9-gone", None),
        ("[a](https://old.example/user_uploads/2/ab/x/a.png)", "[a](/user_uploads/2/ab/x/a.png)"),
        ("https://else.example/user_uploads/2/ab/y/b.png", None),
        ("<time:1496701800> <time:2024-02-29>", "<time:2017-06-05T22:30:00Z> <time:2024-02-29>"),
    ],
)
def test_references_in_texts_are_ours(text: str, expected: str | None):
    body = {"text": text, "people": {"Ada": "10"}, "channels": {"old plans": "1"}}
    assert texts("old.example").markdown(body, Names()) == (text if expected is None else expected)
    assert "\ue000" not in text


def test_without_a_known_host_a_link_needs_the_name_of_its_channel():
    link = "https://any.example/#narrow/channel/{}"
    markdown = texts().markdown
    assert markdown({"text": link.format("1-plans")}, Names()) == OURS
    assert markdown({"text": link.format("1-other")}, Names()) == link.format("1-other")
    found = texts().message_links.search(link.format("2-big-plans/topic/x/near/55"))
    assert found is not None
    assert texts().linked_message(found) == "55"
    found = texts().message_links.search(link.format("2-small-plans/topic/x/near/55"))
    assert found is not None
    assert texts().linked_message(found) == ""


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("(https://old.example/#narrow/stream/1-plans/subject/a.2Eb/near/5)", ["5"]),
        ("#narrow/dm/10,11-dm/near/6 /#narrow/pm-with/10-pm/with/7", ["6", "7"]),
        ("#**plans>a @ b@8** and #**plans>c** and @**Bob|11**", ["8"]),
        ("https://else.example/#narrow/stream/1-plans/topic/a/near/5", []),
        ("#narrow/stream/1-plans/topic/a", []),
    ],
)
def test_links_to_messages_are_found(text: str, keys: list[str]):
    ours = texts("old.example")
    assert [ours.linked_message(each) for each in ours.message_links.finditer(text)] == keys


def test_html_tells_what_names_meant():
    rendered = (
        '<span class="user-mention" data-user-id="10">@Ada &amp; Co</span> '
        '<span class="user-mention silent" data-user-id="11">Bob</span> '
        '<a class="stream" data-stream-id="1" href="/#narrow/stream/1-x">#x</a> '
        '<a class="stream-topic" data-stream-id="2" href="/#n">#y &gt; z</a>'
    )
    assert referred_in("@ #**", rendered) == {
        "people": {"Ada & Co": "10", "Bob": "11"},
        "channels": {"x": "1", "y": "2"},
    }
    assert referred_in("@ #**", None) == {}
    assert referred_in("plain", rendered) == {}


def test_texts_of_strangers_take_no_time():
    for text in (
        "@**" * 30_000,
        "#**a>" * 20_000,
        "#narrow/stream/1" * 9_000,
        "user_uploads/2/" * 9_000,
    ):
        ours = texts()
        ours.markdown({"text": text}, Names())
        assert len(list(ours.message_links.finditer(text))) < len(text)
        ours.files_in(text)


# -- whole exports


def read(path: Path) -> tuple[Survey, list[PostedMessage], ImportReport]:
    report = ImportReport()
    assert source_of(path) is ZULIP
    with ZULIP.opened(path, report) as reader:
        found = survey(reader, lambda *_: None)
    with ZULIP.opened(path, ImportReport()) as reader:
        return found, list(reader.messages()), report


def small() -> ZulipExport:
    export = ZulipExport()
    export.person(10, "Ada", role=100)
    place = export.channel(1, "plans", [10])
    for n in range(1, 4):
        export.message(n, 10, place, f"text {n}", "Start")
    return export


def test_an_export_may_be_a_tar_or_a_zip(tmp_path: Path):
    import zipfile

    export = small()
    plain = export.write(tmp_path / "a.tar", compressed=False)
    zipped = tmp_path / "a.zip"
    with tarfile.open(plain) as tar, zipfile.ZipFile(zipped, "w") as archive:
        for member in tar:
            content = tar.extractfile(member)
            assert content is not None
            archive.writestr(member.name, content.read())
    expected = read(export.write(tmp_path / "a.tar.gz"))
    assert expected[0].messages == 3
    assert read(plain) == expected
    assert [each.key for each in read(zipped)[1]] == ["1", "2", "3"]


def test_messages_come_in_the_order_of_their_times_with_what_belongs_to_them(tmp_path: Path):
    export = small()
    place = export.messages[0]["recipient"]
    for n in range(4, 2_500):
        export.message(n, 10, place, f"text {n}", "Start", date_sent=START + 9_000 - n)
    export.message(2, 10, place, "again", "Start")
    export.message(9_999, 10, place, "no time", "Start", date_sent=None)
    export.message(0, 10, place, "no number", "Start")
    for n in (1, 2_400):
        export.react(n, 10, "tada")
        export.react(n, 99, "tada")
        export.flags(n, 10, 3)
    export.flags(3, 10, 1)
    found, messages, report = read(export.write(tmp_path / "a.tar.gz"))
    assert found.messages == 2_499
    assert [each.sent_at for each in messages] == sorted(each.sent_at for each in messages)
    assert {each.key for each in messages} == {str(n) for n in range(1, 2_500)}
    by_key = {each.key: each for each in messages}
    for key in ("1", "2400"):
        assert [(each.emoji, each.people) for each in by_key[key].reactions] == [
            ("tada", ["10", "99"])
        ]
        assert by_key[key].starred_by == ("10",)
    assert by_key["3"].starred_by == ()
    assert report.remarks["messages are in the export twice"].count == 1
    reason = "messages without a number, a sender or a time were left out"
    assert report.remarks[reason].count == 2


def test_names_that_stand_for_no_topic_are_none(tmp_path: Path):
    export = small()
    place = export.messages[0]["recipient"]
    for n, topic in enumerate(["", "(no topic)", "general chat", "✔ general chat", "✔ Done"], 4):
        export.message(n, 10, place, "text", topic)
    _, messages, _ = read(export.write(tmp_path / "a.tar.gz"))
    found = [(each.topic, each.is_resolved) for each in messages[3:]]
    assert found == [("", False)] * 4 + [("Done", True)]
    assert len({each.thread for each in messages[3:]}) == 2


def test_odd_records_are_counted_and_no_reason_to_stop(tmp_path: Path):
    export = small()
    export.person(11, "x" * 10_000, delivery_email="ada@example.com", email=None)
    export.person(12, "", delivery_email=None, email="user12@old.example.org", role=7)
    export.realm["zerver_userprofile"] += [
        {"full_name": "No number"},
        {"id": "12"},
        {},
        {"id": True},
    ]
    export.realm["zerver_stream"] += [{"id": None, "name": "x"}, {"id": 5, "name": "y" * 10_000}]
    export.add("zerver_subscription", user_profile=10, recipient=77, active=True)
    export.message(4, 10, 77, "to nowhere")
    export.message(5, 98, 1_000 + 10, "from a stranger")
    export.react(1, 10, "")
    export.file("avatars", "2/gone.png", b"", user_profile_id=10)
    del export.files["avatars/2/gone.png"]
    path = export.write(tmp_path / "a.tar.gz")
    found, messages, report = read(path)
    assert {person.key for person in found.people} == {"4", "10", "11", "12"}
    assert found.strangers == {"98": ""}
    assert [each.key for each in found.channels] == ["1", "5"]
    assert [each.place for each in messages][3:] == ["unknown", "pair 10 98"]
    counts = {reason: remark.count for reason, remark in report.remarks.items()}
    assert counts == {
        "settings of the organization were left out: choose them here": 1,
        "accounts without a number were left out": 4,
        "pictures are not in the export": 1,
        "channels without a number were left out": 1,
        "memberships of unknown conversations were left out": 1,
        "reactions without a user or a message were left out": 1,
    }


def test_tables_and_folders_may_be_missing(tmp_path: Path):
    path = tmp_path / "a.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        add(archive, "realm.json", b'{"zerver_realm": []}')
    found, messages, _ = read(path)
    assert (list(found.people), list(found.channels), messages) == ([], [], [])


def test_invalid_characters_are_replaced(tmp_path: Path):
    path = tmp_path / "a.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        people = b'{"zerver_userprofile": [{"id": 3, "full_name": "A\xff\\ud800\\u0000b"}]}'
        add(archive, "realm.json", people)
    found, _, report = read(path)
    assert [person.full_name for person in found.people] == ["A��b"]
    assert report.remarks["records contain invalid characters, which were replaced"].count >= 1


def rewritten(change: Callable[[tarfile.TarFile], None], path: Path) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        add(archive, "realm.json", b"{}")
        change(archive)
    return path


def _special(name: str, kind: bytes, **facts: Any) -> Callable[[tarfile.TarFile], None]:
    def change(archive: tarfile.TarFile) -> None:
        member = tarfile.TarInfo(name)
        member.type = kind
        for key, value in facts.items():
            setattr(member, key, value)
        archive.addfile(member)

    return change


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_special("x/link", tarfile.SYMTYPE, linkname="/etc/passwd"), "neither file nor folder"),
        (_special("x/link", tarfile.LNKTYPE, linkname="x/realm.json"), "neither file nor folder"),
        (_special("x/pipe", tarfile.FIFOTYPE), "neither file nor folder"),
        (_special("x/../../etc/passwd", tarfile.REGTYPE), "leads out of it"),
        (_special("/etc/passwd", tarfile.REGTYPE), "leads out of it"),
        (_special("x/holes", tarfile.GNUTYPE_SPARSE, size=0), "neither file nor folder"),
        (_special("x/lies", tarfile.REGTYPE, size=2**40), "damaged"),
    ],
)
def test_what_exports_do_not_contain_is_refused(
    change: Callable[[tarfile.TarFile], None], said: str, tmp_path: Path
):
    path = rewritten(change, tmp_path / "a.tar.gz")
    with pytest.raises(FileRefusedError, match=said):
        read(path)


def test_a_member_that_is_longer_than_said_is_refused(tmp_path: Path):
    path = tmp_path / "a.tar.gz"
    small().write(tmp_path / "a.tar", compressed=False)
    content = bytearray((tmp_path / "a.tar").read_bytes())
    # The size in the first header, with a right checksum: shorter than the content.
    content[124:136] = b"00000000003\0"
    content[148:156] = b" " * 8
    content[148:156] = b"%06o\0 " % sum(content[:512])
    path.write_bytes(gzip.compress(bytes(content)))
    with pytest.raises(FileRefusedError, match="damaged"):
        read(path)


def test_an_archive_that_ends_too_early_is_refused(tmp_path: Path):
    whole = small().write(tmp_path / "a.tar.gz").read_bytes()
    for path, content in (
        (tmp_path / "b.tar.gz", whole[:-50]),
        (tmp_path / "c.tar.gz", whole[:-8] + b"\0" * 8),
        (tmp_path / "d.tar", gzip.decompress(whole)[:2_000]),
        (tmp_path / "e.tar", gzip.decompress(whole)[:3_072]),
    ):
        path.write_bytes(content)
        with pytest.raises(FileRefusedError, match=re.escape(str(path)) + "|damaged"):
            read(path)


def test_a_bomb_is_refused_before_it_fills_the_disk(tmp_path: Path, monkeypatch):
    monkeypatch.setattr("server.imports.tar_archive.MIN_BOMB_BYTES", 100_000)
    path = rewritten(
        lambda archive: add(archive, "uploads/x", b"\0" * 50_000_000), tmp_path / "a.tar.gz"
    )
    with pytest.raises(FileRefusedError, match="too many bytes"):
        read(path)


def test_a_name_of_many_megabytes_is_refused(tmp_path: Path):
    path = rewritten(_special("x/" + "y" * 2_000_000, tarfile.REGTYPE), tmp_path / "a.tar.gz")
    with pytest.raises(FileRefusedError, match="too long a description"):
        read(path)


def test_damaged_tables_are_refused_with_their_file(tmp_path: Path):
    cut = b'{"zerver_userprofile": [{"id": 1}'
    for number, text in enumerate((cut, b'{"zerver_userprofile": [{x}]}', b"[]")):
        path = tmp_path / f"{number}.tar.gz"
        with tarfile.open(path, "w:gz") as archive:
            add(archive, "realm.json", text)
        with pytest.raises(FileRefusedError, match=f"{FOLDER}/realm.json .* is damaged"):
            read(path)


def test_other_archives_are_no_exports_of_zulip(tmp_path: Path):
    path = tmp_path / "a.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        add(archive, "deeper/realm.json", b"{}")
        add(archive, "messages.json", b"{}")
    assert source_of(path) is None
    (tmp_path / "x.gz").write_bytes(gzip.compress(b"text"))
    assert source_of(tmp_path / "x.gz") is None

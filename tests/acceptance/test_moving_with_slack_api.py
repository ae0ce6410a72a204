"""`parley import` of an export of Slack that its Web API completes."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from server.imports import batches, slack_web
from testkit.clients.commands import parley, refusal, run
from testkit.clients.server import Server
from testkit.images import picture
from testkit.services.slack_api import TOKEN, SlackApi, slack_api, slow_down
from testkit.services.web_server import Received, answering, web_at
from testkit.slack_exports import channel, message, person, write_export
from tests.acceptance.test_moving import client_of, here, history_of, realms

pytestmark = pytest.mark.asyncio

IMPORT = ("--realm", "moved")
ALLOWED = {"PARLEY_EGRESS_ALLOW": "127.0.0.1/32"}


@pytest_asyncio.fixture
async def api(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[SlackApi]:
    async with slack_api() as api:
        monkeypatch.setattr(slack_web, "API_URL", api.url)
        yield api


@pytest.fixture
def token(tmp_path: Path) -> Path:
    file = tmp_path / "token"
    file.write_text(f"{TOKEN}\n")
    return file


def shared(api: SlackApi, key: str, path: str, **facts: Any) -> dict[str, Any]:
    url = api.web.url(path)
    name = path.rpartition("/")[2]
    link = f"https://x.slack.com/files/{key}"
    return {"id": key, "name": name, "url_private": url, "permalink": link, **facts}


def said(text: str, number: int, **facts: Any) -> dict[str, Any]:
    return message("U1", text, f"17092800{number:02}.000100", **facts)


def export(path: Path, api: SlackApi, *messages: dict[str, Any], **facts: Any) -> Path:
    """An export without addresses, as Slack makes them for all but the highest plans."""
    no_address = {"email": None}
    photo = {"image_512": api.web.url("/public/ada.png"), "is_custom_image": True}
    fields = {"fields": {"Xf1": {"value": "Berlin"}}}
    users = [
        person(
            "U1", "Ada", is_primary_owner=True, team_id="T1", profile=no_address | photo | fields
        ),
        person("U2", "Bob", team_id="T1", profile=no_address),
        person("U3", "Eve", team_id="T1", profile=no_address),
    ]
    place = channel("C1", "plans", ["U1", "U2"], is_general=True)
    days = {"plans/2024-03-01": list(messages)}
    return write_export(path, users=users, channels=[place], messages=days, **facts)


def complete(api: SlackApi) -> None:
    api.users = [
        {"id": key, "profile": {"email": f"{key.lower()}@x.example"}} for key in ("U1", "U2", "U3")
    ]
    api.fields = [{"id": "Xf1", "label": "City", "hint": ""}]
    api.files["/public/ada.png"] = answering(200, picture(), content_type="image/png")
    api.files["/public/ours.png"] = answering(200, picture(), content_type="image/png")
    api.emoji = {
        "party-parrot": api.web.url("/public/ours.png"),
        "also": "alias:party-parrot",
        "yes": "alias:thumbsup",
        "circle": "alias:circle",
        "elsewhere": "https://tracker.example/x.png",
    }


async def test_what_an_export_lacks_is_fetched(
    server: Server, api: SlackApi, token: Path, tmp_path: Path
):
    complete(api)
    content = bytes(range(256)) * 1000
    api.files["/files/a.png"] = answering(200, picture(), content_type="image/png")
    api.files["/files/b.bin"] = answering(200, content, content_type="application/octet-stream")
    api.before["/files/b.bin"] = [slow_down(), answering(503), _cut]
    api.before["/api/users.list"] = [slow_down()]
    file = export(
        tmp_path / "x.zip",
        api,
        said(
            "two", 1, files=[shared(api, "F1", "/files/a.png"), shared(api, "F2", "/files/b.bin")]
        ),
        said("again :yes: `:yes:` :party-parrot:", 2, files=[shared(api, "F2", "/files/b.bin")]),
        said("gone", 3, files=[shared(api, "F3", "/files/none.txt")]),
        said("html", 4, files=[shared(api, "F4", "/files/sign-in", mimetype="image/png")]),
        said("size", 5, files=[shared(api, "F5", "/files/a.png", size=1)]),
        said(
            "kept elsewhere",
            6,
            files=[{"id": "F6", "name": "doc", "url_private": "https://docs.example/d"}],
            reactions=[{"name": each, "users": ["U2"]} for each in ("also", "yes", "circle")],
        ),
    )
    api.files["/files/sign-in"] = answering(200, "<form>", content_type="text/html")
    options = (*IMPORT, "--slack-token-file", token, "--report", tmp_path / "report.json")
    output = await run(server, "import", file, *options, **ALLOWED)

    ada = await client_of(server, "u1@x.example")
    state = await ada.post("/register")
    people = {each["full_name"]: each for each in state["realm_users"]}
    assert people["Ada"]["avatar_url"].startswith("/user_avatars/")
    assert people.keys() >= {"Ada", "Bob", "Eve"}
    assert [each["name"] for each in state["custom_profile_fields"]] == ["City"]
    names = {each["name"] for each in state["realm_emoji"].values()}
    assert names == {"party-parrot", "also"}
    seen = {each["content"].partition("\n")[0]: each for each in await history_of(ada)}
    links = [line.partition("](")[2][:-1] for line in seen["two"]["content"].split("\n")[1:]]
    assert (await ada.fetch(links[0])).content == picture()
    assert (await ada.fetch(links[1])).content == content
    again = seen["again :thumbsup: `:yes:` :party-parrot:"]
    assert again["content"].endswith(f"({links[1]})")
    for text, key in (("gone", "F3"), ("html", "F4"), ("size", "F5")):
        assert seen[text]["content"].endswith(f"(https://x.slack.com/files/{key})")
    reactions = seen["kept elsewhere"]["reactions"]
    assert {each["emoji_name"] for each in reactions} == {"also", "thumbsup"}

    shown = json.loads((tmp_path / "report.json").read_text())
    assert (shown["imported"]["files"], shown["imported"]["custom emoji"]) == (2, 2)
    counts = {each["reason"]: each["count"] for each in shown["remarks"]}
    assert counts["files could not be fetched: messages link to them there"] == 3
    assert counts["files are not in the export: messages link to them there"] == 1
    assert counts["custom emoji are not on servers of Slack"] == 1
    # The file that is shared twice was fetched once, after what went wrong.
    assert len(api.requests("/files/b.bin")) == 4
    assert len(api.requests("/api/users.list")) == 3
    await _assert_token_is_nowhere(server, output, json.dumps(shown))


async def _cut(_: Received, writer: asyncio.StreamWriter) -> None:
    """The beginning of an answer that ends too early."""
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 256000\r\n\r\n" + bytes(1000))
    await writer.drain()


async def _assert_token_is_nowhere(server: Server, *texts: str) -> None:
    async with server.app.database.connection() as connection:
        rows = await connection.values("SELECT i::text FROM imports i")
    assert rows
    assert not [text for text in (*texts, *rows) if TOKEN in text]


async def test_what_is_fetched_comes_into_an_organization_in_use(
    server: Server, api: SlackApi, token: Path, tmp_path: Path
):
    complete(api)
    api.files["/files/a.txt"] = answering(200, "content")
    there = write_export(
        tmp_path / "there.zip",
        users=[person("U1", "Owner", is_primary_owner=True)],
        channels=[],
        messages={},
    )
    await run(server, "import", there, *IMPORT)
    file = export(
        tmp_path / "x.zip", api, said("held", 1, files=[shared(api, "F1", "/files/a.txt")])
    )
    options = ("--into-existing", "--slack-token-file", token)
    await run(server, "import", file, *IMPORT, *options, **ALLOWED)
    ada = await client_of(server, "u1@x.example")
    state = await ada.post("/register")
    people = {each["full_name"]: each for each in state["realm_users"]}
    assert people["Ada"]["avatar_url"].startswith("/user_avatars/")
    assert {each["name"] for each in state["realm_emoji"].values()} == {"party-parrot", "also"}
    [held] = await history_of(ada, [["channel", "plans"]])
    link = held["content"].partition("](")[2][:-1]
    assert (await ada.fetch(link)).content == b"content"


async def test_the_token_goes_to_slack_only(
    server: Server, api: SlackApi, token: Path, tmp_path: Path
):
    complete(api)
    async with web_at("127.0.0.1") as other:
        other.answers = [answering(200, "content", content_type="text/plain")]
        api.files["/files/moved.txt"] = answering(302, Location=other.url("/there"))
        api.files["/files/round.txt"] = answering(302, Location=api.web.url("/files/round.txt"))
        foreign = {"id": "F2", "name": "f", "url_private": other.url("/foreign")}
        file = export(
            tmp_path / "x.zip",
            api,
            said("moved", 1, files=[shared(api, "F1", "/files/moved.txt"), foreign]),
            said("round", 2, files=[shared(api, "F3", "/files/round.txt")]),
        )
        options = (*IMPORT, "--slack-token-file", token)
        await run(server, "import", file, *options, **ALLOWED)
        assert [each.target for each in other.requests] == ["/there"]
        assert "authorization" not in other.requests[0].headers
    assert all("authorization" in each.headers for each in api.requests("/api/auth.test"))
    assert all(TOKEN not in each.target + each.body.decode() for each in api.web.requests)
    assert len(api.requests("/files/round.txt")) == 4


async def test_nothing_is_fetched_unless_it_is_asked_for(
    server: Server, api: SlackApi, tmp_path: Path
):
    complete(api)
    file = export(tmp_path / "x.zip", api, said("f", 1, files=[shared(api, "F1", "/files/a")]))
    owner = (*IMPORT, "--owner", "u1@x.example")
    output = await run(server, "import", file, *owner, **ALLOWED)
    assert api.web.requests == []
    assert "1 profile pictures were left out" in output
    output = await run(
        server, "import", file, "--realm", "other", *owner[2:], "--fetch-pictures", **ALLOWED
    )
    assert [each.target for each in api.web.requests] == ["/public/ada.png"]
    assert "authorization" not in api.web.requests[0].headers
    ada = await client_of(server, "u1@x.example", "other")
    state = await ada.post("/register")
    people = {each["full_name"]: each for each in state["realm_users"]}
    assert people["Ada"]["avatar_url"].startswith("/user_avatars/")


async def test_a_token_that_is_of_no_use_is_refused_before_anything_is_done(
    server: Server, api: SlackApi, token: Path, tmp_path: Path
):
    before = await realms(server)
    file = export(tmp_path / "x.zip", api, said("x", 1))
    environment = here(server) | ALLOWED

    async def refused(*options: str | Path) -> str:
        arguments = ("import", file, *IMPORT, "--slack-token-file", *options)
        said = await asyncio.to_thread(refusal, *arguments, **environment)
        assert "xox" not in said
        return said

    wrong = tmp_path / "wrong"
    wrong.write_text("xoxp-other-token")
    assert "Slack answers: invalid_auth" in await refused(wrong)
    wrong.write_text("xoxp-one and more")
    assert "no token of Slack" in await refused(wrong)
    wrong.write_bytes(b"\xff" * 20)
    assert "cannot be read" in await refused(wrong)
    api.scopes = "users:read"
    assert "lacks the scopes users:read.email, emoji:read, files:read" in await refused(token)
    api.scopes, api.team_id = None, "T2"
    assert "another workspace" in await refused(token)
    mattermost = tmp_path / "x.jsonl"
    mattermost.write_text('{"type":"version","version":1}\n')
    arguments = ("import", mattermost, *IMPORT, "--fetch-pictures")
    assert "of no use to Mattermost" in await asyncio.to_thread(refusal, *arguments, **environment)
    assert await realms(server) == before
    # What a token without a scope of minor use cannot ask is counted.
    api.team_id = "T1"
    api.before["/api/team.profile.get"] = [
        answering(200, '{"ok": false, "error": "missing_scope"}')
    ]
    complete(api)
    output = await run(server, "import", file, "--dry-run", "--slack-token-file", token, **ALLOWED)
    assert "calls of Slack's team.profile.get failed: Slack answers: missing_scope" in output


async def test_an_import_continues_when_slack_can_be_reached_again(
    server: Server, api: SlackApi, token: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    complete(api)
    monkeypatch.setattr(slack_web, "MAX_ATTEMPTS", 1)
    monkeypatch.setattr(slack_web, "MAX_UNREACHABLE", 3)
    monkeypatch.setattr(batches, "MAX_REMOTE_FILES", 2)
    files = [shared(api, f"F{n}", f"/files/{n}.txt") for n in range(9)]
    file = export(tmp_path / "x.zip", api, *(said(f"m{n}", n, files=[files[n]]) for n in range(9)))
    for n in range(9):
        api.files[f"/files/{n}.txt"] = answering(200, f"content {n}")
        if n > 3:
            api.before[f"/files/{n}.txt"] = [_hang_up]
    options = ("import", file, *IMPORT, "--slack-token-file", token)
    stopped = await asyncio.to_thread(refusal, *options, **here(server), **ALLOWED)
    assert "Slack cannot be reached any more" in stopped
    unlike = await asyncio.to_thread(refusal, *options[:4], **here(server), **ALLOWED)
    assert "was begun with --slack-token-file" in unlike
    api.before.clear()
    done = await asyncio.to_thread(parley, *options, **here(server), **ALLOWED)
    assert done.exit_code == 0, done.output
    ada = await client_of(server, "u1@x.example")
    seen = await history_of(ada)
    assert [each["content"].partition("\n")[0] for each in seen] == [f"m{n}" for n in range(9)]
    # Those that failed before the third in a row were in a batch that was written.
    links = ["/user_uploads/" in each["content"] for each in seen]
    assert links == [True] * 4 + [False] * 2 + [True] * 3
    assert len(api.requests("/files/0.txt")) == 1


async def _hang_up(_: Received, writer: asyncio.StreamWriter) -> None:
    writer.close()

"""The page of the browser client, its files, and what browsers need to install it."""

import gzip
import json
import os
import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import pytest_asyncio

from testkit.clients.page_client import FORM, PASSWORD, Visitor
from testkit.clients.web_build import BROTLI, SCRIPT, SOUND, STYLE, write_build
from testkit.factories import new_realm

pytestmark = pytest.mark.asyncio

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:;"
    " connect-src 'self'; worker-src 'self'; manifest-src 'self'; media-src 'self';"
    " font-src 'self'; require-trusted-types-for 'script';"
    " trusted-types parley-parse parley-message parley-script; base-uri 'none';"
    " form-action 'self'; frame-ancestors 'none'"
)
SPECTATORS = {"enable_spectator_access": True}


@pytest.fixture
def build(tmp_path: Path) -> Path:
    return write_build(tmp_path / "client")


@pytest.fixture
def options() -> dict[str, object]:
    """Further settings of the server."""
    return {}


@pytest_asyncio.fixture
async def with_client(serving_with, connect, make, build, options):
    """`await with_client()`: a new visitor of a server that has a build."""
    async with serving_with(web_client=build, gravatars=False, **options) as server:

        async def visitor() -> Visitor:
            return Visitor(await connect(server, make.realm_id))

        visitor.server = server  # type: ignore[attr-defined]
        yield visitor


@pytest_asyncio.fixture
async def browser(with_client, ada) -> Visitor:
    """One in which Ada has signed in."""
    found: Visitor = await with_client()
    await found.sign_in(ada.email, PASSWORD)
    return found


async def set_in_realm(make, server, **settings):
    await make.connection.execute(
        "UPDATE realms SET settings = settings || %(new)s::jsonb WHERE realm_id = %(id)s",
        new=json.dumps(settings),
        id=make.realm_id,
    )
    server.forget(make.realm_id)


# -- the page


async def test_users_get_the_client(browser: Visitor):
    answer = await browser.look("/")
    assert answer.status == 200
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    page = browser.page
    assert '<div id="app"></div>' in page
    assert '<script type="module" src="/static/app/assets/main-1a2b.js"></script>' in page
    assert re.findall(r'rel="stylesheet" href="(.*?)"', page) == [
        "/static/app/assets/vendor-6a7b.css",
        "/static/app/assets/main-3c4d.css",
    ]
    assert re.findall(r'rel="modulepreload" href="(.*?)"', page) == [
        "/static/app/assets/vendor-4e5f.js"
    ]
    assert '<link rel="manifest" href="/manifest.webmanifest">' in page
    assert '<html lang="en" dir="ltr">' in page
    assert page.count('name="theme-color"') == 2
    assert "The chat needs JavaScript" in page
    for url in re.findall(r'(?:src|href)="(.*?)"', page):
        assert (await browser.look(url)).status == 200, url


async def test_its_policy_lets_nothing_of_other_hosts_in(browser: Visitor):
    assert (await browser.look("/")).headers["Content-Security-Policy"] == POLICY


@pytest.mark.parametrize("options", [{"media_hosts": "films.example.com"}])
async def test_its_policy_lets_in_what_the_operator_has_named(browser: Visitor):
    policy = (await browser.look("/")).headers["Content-Security-Policy"]
    assert "img-src 'self' data: blob: https://films.example.com;" in policy
    assert "media-src 'self' https://films.example.com;" in policy


async def test_its_token_is_that_of_the_api_for_browsers(browser: Visitor):
    await browser.look("/")
    [token] = re.findall(r'<meta name="csrf-token" content="(.*?)">', browser.page)
    body = b"slim_presence=true"
    assert (await browser.send("POST", "/json/register", body=body, headers=FORM)).status == 403
    headers = {**FORM, "X-CSRFToken": token}
    assert (await browser.send("POST", "/json/register", body=body, headers=headers)).status == 200


async def test_it_is_in_the_language_of_its_reader(browser: Visitor, make, ada, with_client):
    await make.connection.execute(
        'UPDATE users SET settings = settings || \'{"default_language": "ar"}\''
        " WHERE user_id = %(id)s",
        id=ada.user_id,
    )
    with_client.server.forget(make.realm_id)
    await browser.look("/")
    assert '<html lang="ar" dir="rtl">' in browser.page


async def test_names_of_organizations_are_escaped(browser: Visitor, make, with_client):
    await make.connection.execute(
        "UPDATE realms SET name = '</title><b>قهوة' WHERE realm_id = %(id)s", id=make.realm_id
    )
    with_client.server.forget(make.realm_id)
    await browser.look("/")
    assert "<title>&lt;/title&gt;&lt;b&gt;قهوة</title>" in browser.page


async def test_it_is_asked_for_again_and_sent_only_if_it_has_changed(
    browser: Visitor, with_client, make, ada
):
    first = await browser.look("/")
    assert first.headers["Cache-Control"] == "private, no-cache"
    known = {"If-None-Match": first.headers["ETag"]}
    again = await browser.look("/", headers=known)
    assert (again.status, again.content) == (304, b"")
    assert "Content-Length" not in again.headers
    assert again.headers["Content-Security-Policy"] == POLICY
    other = await with_client()
    await other.sign_in(ada.email, PASSWORD)
    assert (await other.look("/", headers=known)).status == 200
    assert (await browser.send("HEAD", "/")).headers["Content-Length"] == str(len(first.content))


async def test_another_build_is_served_at_once(browser: Visitor, build: Path):
    manifest = build / ".vite" / "manifest.json"
    manifest.write_text(manifest.read_text().replace("main-1a2b.js", "main-2b3c.js"))
    os.utime(manifest, ns=(1, 1))
    await browser.look("/")
    assert "/static/app/assets/main-2b3c.js" in browser.page


@pytest.mark.parametrize("manifest", ["", "{", "{}", "[]", '{"src/main.tsx": {"file": 1}}'])
async def test_a_build_that_cannot_be_read_is_none(browser: Visitor, build, manifest):
    (build / ".vite" / "manifest.json").write_text(manifest)
    await browser.look("/")
    assert "This server has no chat in the browser." in browser.text


async def test_without_a_build_users_learn_how_to_connect_clients(visitor, ada):
    browser = await visitor()
    assert (await browser.look("/")).headers["Location"] == "/login/"
    await browser.sign_in(ada.email, PASSWORD)
    assert (await browser.look("/")).status == 200
    assert "This server has no chat in the browser." in browser.text
    await browser.look("/clients")
    assert "This server has no chat in the browser." in browser.text


async def test_the_page_of_clients_leads_to_the_chat(browser: Visitor):
    await browser.look("/clients")
    assert '<a href="/">Chat in this browser</a>' in browser.page


# -- visitors


async def test_visitors_sign_in_first(with_client, ada):
    stranger = await with_client()
    assert (await stranger.look("/")).headers["Location"] == "/login/"
    answer = await stranger.look("/?share_text=soup")
    assert answer.headers["Location"] == "/login/?next=%2F%3Fshare_text%3Dsoup"


@pytest.mark.parametrize("options", [{"web_public_channels": True}])
async def test_spectators_get_the_client_where_there_is_something_to_read(with_client, make):
    stranger = await with_client()
    await set_in_realm(make, with_client.server, **SPECTATORS)
    assert (await stranger.look("/")).headers["Location"] == "/login/"
    await make.channel("news", is_web_public=True)
    answer = await stranger.look("/")
    assert answer.status == 200
    assert '<meta name="csrf-token" content="">' in stranger.page
    assert "Set-Cookie" not in answer.headers
    assert '<html lang="en"' in stranger.page
    answer = await stranger.look("/", headers={"Accept-Language": "de"})
    assert '<html lang="de"' in stranger.page
    assert "Accept-Language" in answer.headers["Vary"]
    await set_in_realm(make, with_client.server, enable_spectator_access=False)
    assert (await stranger.look("/")).headers["Location"] == "/login/"
    await set_in_realm(make, with_client.server, **SPECTATORS)
    await make.connection.execute(
        "UPDATE realms SET deactivated = true WHERE realm_id = %(id)s", id=make.realm_id
    )
    with_client.server.forget(make.realm_id)
    assert (await stranger.look("/")).headers["Location"] == "/login/"


async def test_the_place_that_was_asked_for_outlasts_signing_in(with_client, ada):
    stranger = await with_client()
    answer = await stranger.look("/login/")
    assert "script-src 'self';" in answer.headers["Content-Security-Policy"]
    [script] = re.findall(r'<script type="module" src="(.*?)"', stranger.page)
    answer = await stranger.look(script)
    assert answer.headers["Content-Type"] == "text/javascript; charset=utf-8"
    assert b"location.hash" in answer.content
    wanted = "/#narrow/channel/46-policy/topic/x.20y/near/123"
    await stranger.look("/login/")
    answer = await stranger.submit("/login/", username=ada.email, password=PASSWORD, next=wanted)
    assert answer.headers["Location"] == wanted


# -- files


async def test_files_with_a_hash_are_kept_for_ever(with_client):
    stranger = await with_client()
    answer = await stranger.look("/static/app/assets/main-1a2b.js")
    assert answer.content == SCRIPT
    assert answer.headers["Content-Type"] == "text/javascript; charset=utf-8"
    assert answer.headers["Cache-Control"] == "public, max-age=31536000, immutable"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Vary"] == "Accept-Encoding"
    answer = await stranger.look("/static/app/assets/main-3c4d.css")
    assert (answer.content, answer.headers["Content-Type"]) == (STYLE, "text/css; charset=utf-8")
    assert (await stranger.look("/static/app/assets/old-ffff.js")).status == 200


@pytest.mark.parametrize(
    ("accepted", "encoding"),
    [
        ("gzip, deflate, br, zstd", "br"),
        ("gzip;q=1.0, br;q=0", "gzip"),
        ("gzip;q=0.5", "gzip"),
        ("GZIP", "gzip"),
        ("br; q=0.000, gzip; q=0", None),
        ("identity", None),
        ("", None),
    ],
)
async def test_what_is_compressed_is_sent_to_who_can_read_it(with_client, accepted, encoding):
    stranger = await with_client()
    path = "/static/app/assets/main-1a2b.js"
    answer = await stranger.look(path, headers={"Accept-Encoding": accepted})
    assert answer.headers.get("Content-Encoding") == encoding
    assert answer.headers["Vary"] == "Accept-Encoding"
    content = {"br": BROTLI, "gzip": SCRIPT, None: SCRIPT}[encoding]
    read = gzip.decompress(answer.content) if answer.content[:2] == b"\x1f\x8b" else answer.content
    assert read == content
    known = {"Accept-Encoding": accepted, "If-None-Match": answer.headers["ETag"]}
    assert (await stranger.look(path, headers=known)).status == 304
    other = {"Accept-Encoding": "x", "If-None-Match": answer.headers["ETag"]}
    assert (await stranger.look(path, headers=other)).status == (200 if encoding else 304)


async def test_heads_of_files_say_how_long_they_are(with_client):
    answer = await (await with_client()).send("HEAD", "/static/app/assets/main-3c4d.css")
    assert (answer.status, answer.content) == (200, b"")
    assert answer.headers["Content-Length"] == str(len(STYLE))


@pytest.mark.parametrize(
    ("wanted", "status", "content"),
    [
        ("bytes=0-1", 206, SOUND[:2]),
        ("bytes=250-", 206, SOUND[250:]),
        ("bytes=-6", 206, SOUND[-6:]),
        ("bytes=256-", 416, b""),
        ("lines=1-2", 200, SOUND),
    ],
)
async def test_players_get_the_part_of_a_sound_that_they_ask_for(
    with_client, wanted, status, content
):
    path = "/static/app/assets/ring-0a1b.mp3"
    answer = await (await with_client()).look(path, headers={"Range": wanted})
    assert (answer.status, answer.content) == (status, content)
    assert answer.headers["Content-Type"] == "audio/mpeg"


@pytest.mark.parametrize(
    "name",
    [
        "../../style.css",
        "..%2f..%2fstyle.css",
        "assets/../../secret",
        "%2e%2e/secret",
        "assets//main-1a2b.js",
        "/etc/passwd",
        "%5c..%5csecret",
        ".vite/manifest.json",
        "assets",
        "assets/",
        "assets/nothing.js",
        f"assets/{'x' * 300}.js",
    ],
)
async def test_nothing_else_is_served(with_client, build: Path, name):
    (build.parent / "secret").write_text("a secret")
    answer = await (await with_client()).look(f"/static/app/{name}")
    assert answer.status == 404
    assert b"secret" not in answer.content


async def test_a_null_in_a_name_is_refused(with_client):
    assert (await (await with_client()).look("/static/app/assets/%00")).status == 400


async def test_the_service_worker_is_never_stale_and_may_serve_all_pages(with_client):
    answer = await (await with_client()).look("/sw.js")
    assert answer.status == 200
    assert answer.headers["Content-Type"] == "text/javascript; charset=utf-8"
    assert answer.headers["Cache-Control"] == "no-cache"
    assert answer.headers["Service-Worker-Allowed"] == "/"
    assert "connect-src 'self'" in answer.headers["Content-Security-Policy"]


async def test_without_a_build_there_is_no_service_worker(visitor):
    assert (await (await visitor()).look("/sw.js")).status == 404


# -- installation


async def test_each_organization_is_installed_under_its_name(with_client, make, connect):
    other = await new_realm(make.connection)
    await make.connection.execute(
        "UPDATE realms SET name = 'Café Ж' WHERE realm_id = %(id)s", id=other.realm_id
    )
    stranger = Visitor(await connect(with_client.server, other.realm_id))
    answer = await stranger.look("/manifest.webmanifest")
    assert answer.headers["Content-Type"] == "application/manifest+json"
    manifest = json.loads(answer.content)
    assert manifest["name"] == manifest["short_name"] == "Café Ж"
    assert (manifest["display"], manifest["start_url"], manifest["scope"]) == (
        "standalone",
        "/",
        "/",
    )
    assert manifest["share_target"] == {
        "action": "/",
        "method": "GET",
        "params": {"title": "share_title", "text": "share_text", "url": "share_url"},
    }
    assert {"192x192", "512x512"} <= {icon["sizes"] for icon in manifest["icons"]}
    assert "maskable" in {icon["purpose"] for icon in manifest["icons"]}
    for icon in manifest["icons"]:
        answer = await stranger.look(icon["src"])
        assert (answer.status, answer.headers["Content-Type"]) == (200, icon["type"])


async def test_the_icon_is_the_organizations_own(with_client, make):
    stranger = await with_client()
    answer = await stranger.look("/favicon.ico")
    assert (answer.status, answer.headers["Content-Type"]) == (200, "image/x-icon")
    key = f"icon/{make.realm_id}/abcd.png"
    await set_in_realm(make, with_client.server, icon_key=key)
    answer = await stranger.look("/favicon.ico")
    assert answer.status == 302
    assert urlsplit(answer.headers["Location"]).path.endswith("/abcd.png")
    manifest = json.loads((await stranger.look("/manifest.webmanifest")).content)
    assert manifest["icons"][0]["src"] == answer.headers["Location"]
    assert "512x512" in {icon["sizes"] for icon in manifest["icons"][1:]}, "the product's"
    await set_in_realm(make, with_client.server, icon_key=key, icon_sizes=[192, 512])
    manifest = json.loads((await stranger.look("/manifest.webmanifest")).content)
    names = [icon["src"].rsplit("/", 1)[1] for icon in manifest["icons"]]
    assert names == ["abcd.png", "abcd-medium.png", "abcd-large.png"]
    assert [icon["sizes"] for icon in manifest["icons"]] == ["100x100", "192x192", "512x512"]


async def test_the_address_of_all_organizations_has_an_icon_too(with_client):
    stranger = await with_client()
    host = {"Host": "parley.test"}
    assert (await stranger.look("/favicon.ico", headers=host)).status == 200
    answer = await stranger.look("/manifest.webmanifest", headers=host)
    assert json.loads(answer.content)["name"] == "Parley"

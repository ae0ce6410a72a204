"""Where links of messages lead, as browsers resolve them."""

import posixpath
from urllib.parse import unquote, urljoin, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.domain.markdown import render
from server.domain.markdown.links import is_attachment, is_upload, relative_href, safe_href
from testkit.markdown.realm import Realm

ORIGIN = "https://chat.example.com"
UPLOADS = "/user_uploads/"
PIECES = st.lists(
    st.sampled_from(
        [
            "/",
            "//",
            ".",
            "..",
            "%2e",
            "%2E.",
            "\\",
            "user_uploads",
            "/user_uploads/",
            "1",
            "x.png",
            "evil.example",
            "?",
            "#",
            ORIGIN,
            "https:",
            "@",
            " ",
            "a",
        ]
    ),
    max_size=8,
).map("".join)


@given(PIECES)
def test_what_looks_local_is_on_this_server(destination):
    href = safe_href(destination)
    if href is not None and href[0] in "/#":
        assert urlsplit(urljoin(f"{ORIGIN}/", href)).netloc == "chat.example.com"
        assert not href.startswith("//")


@given(PIECES)
def test_what_is_shown_as_a_file_is_one(destination):
    href = safe_href(f"{UPLOADS}{destination}")
    if href is not None and is_upload(relative_href(href, ORIGIN)):
        path = unquote(href.partition("?")[0].partition("#")[0])
        assert posixpath.normpath(path.replace("\\", "-")).startswith(UPLOADS)


@pytest.mark.parametrize(
    "dots", ["..", "%2e%2e", ".%2E", "%2E.", "..%2f..", "%2e%2e%5C..", "x%2F..%2fy"]
)
def test_a_path_that_leads_up_is_no_file(dots):
    path = f"{UPLOADS}1/{dots}/{dots}/x.png"
    assert not is_upload(path)
    assert not is_attachment(ORIGIN + path)
    assert relative_href(ORIGIN + path, ORIGIN) == ORIGIN + path
    rendered = render(f"[x.png]({path})", Realm())
    assert "<img" not in rendered.html
    assert not rendered.has_attachment


@pytest.mark.parametrize("slashes", ["//", "///", "/////"])
def test_two_slashes_lead_to_a_host_that_is_shown(slashes):
    assert safe_href(f"{slashes}evil.example/x") == "http://evil.example/x"
    assert safe_href(f"{slashes}user_uploads/x.png") is None

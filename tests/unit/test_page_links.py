"""Links into a client, and the pages that stand for them."""

from urllib.parse import parse_qs, quote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.domain.markdown.links import direct_href
from server.domain.page_links import page_of
from server.web.routes import PAGES
from storage.ids import MessageId, UserId

IDS = st.integers(min_value=1, max_value=10**15)


def encoded(name: str) -> str:
    """As clients write names in fragments."""
    return quote(name, safe="").replace(".", "%2E").replace("%", ".")


@given(IDS, st.text(st.characters(codec="utf-8")), st.text(st.characters(codec="utf-8")), IDS)
def test_every_narrow_of_a_channel_leads_to_its_page(channel_id, name, topic, message_id):
    channel = f"{channel_id}-{encoded(name)}"
    narrow = f"#narrow/channel/{channel}/topic/{encoded(topic)}"
    for href in (narrow, f"/{narrow}", narrow.replace("channel", "stream", 1)):
        place = urlsplit(page_of(href))
        assert place.path == f"/channel/{channel_id}/topic"
        assert parse_qs(place.query, keep_blank_values=True)["name"] == [topic]
        for operator in ("near", "with"):
            assert page_of(f"{href}/{operator}/{message_id}") == f"/message/{message_id}"
    assert page_of(f"#narrow/channel/{channel}") == f"/channel/{channel_id}"


@given(st.lists(IDS, min_size=1, max_size=5), IDS)
def test_every_link_to_a_direct_message_leads_to_its_page(people, message_id):
    href = direct_href([UserId(each) for each in people], MessageId(message_id))
    assert page_of(href) == f"/message/{message_id}"


@pytest.mark.parametrize(
    "href",
    [
        "",
        "#narrow/",
        "#narrow/is/starred",
        "#narrow/channel/x/near/y",
        "#narrow/near/9999999999999999999",
        "https://other.example/#narrow/channel/7/near/9",
        "//other.example/#narrow/near/9",
        "/user_uploads/1/a.png",
        "#settings/profile",
    ],
)
def test_any_other_link_stays(href):
    assert page_of(href) == href


@given(st.text())
def test_no_link_fails_or_leads_away(href):
    page = page_of(href)
    assert page == href or page.startswith(("/message/", "/channel/"))


@pytest.mark.parametrize("path", ["/message/{message_id}", "/channel/{channel_id}", "/channels"])
def test_the_pages_exist(path):
    assert path in {page.path for page in PAGES}

"""Links to pictures on other sites: only this server makes them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.domain.external_content import ProxyLinks

LINKS = ProxyLinks(b"k" * 32)
URL = "https://x.example/a.png?b=c"


def parts(link):
    _, place, digest, encoded = link.split("/")
    assert place == "external_content"
    return digest, encoded


@given(url=st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
def test_a_link_leads_to_its_address_and_to_no_other(url):
    digest, encoded = parts(LINKS.to(url))
    assert LINKS.address_in(digest, encoded) == url
    assert LINKS.address_in(digest, (url + "x").encode().hex()) is None
    assert ProxyLinks(b"l" * 32).address_in(digest, encoded) is None


@pytest.mark.parametrize(
    ("digest", "encoded"),
    [
        ("", URL.encode().hex()),
        ("0" * 64, URL.encode().hex()),
        ("ä" * 64, URL.encode().hex()),
        (parts(LINKS.to(URL))[0].upper(), parts(LINKS.to(URL))[1]),
        (parts(LINKS.to(URL))[0][:-1], parts(LINKS.to(URL))[1]),
        (parts(LINKS.to(URL))[0], parts(LINKS.to(URL))[1].upper()),
        ("0" * 64, ""),
        ("0" * 64, "0"),
        ("0" * 64, "zz"),
        ("0" * 64, "ff"),
        ("0" * 64, "٠٠"),
    ],
)
def test_unsigned_links_lead_nowhere(digest, encoded):
    assert LINKS.address_in(digest, encoded) is None


def test_links_of_another_server_become_ones_own():
    other = ProxyLinks(b"o" * 32)
    html = '<a href="{0}"><img src="{1}"></a> <a href="https://x.example{1}">text</a> {2}'
    strange = "/external_content/" + "0" * 64 + "/0"
    theirs = html.format(URL, other.to(URL), strange)
    ours = LINKS.made_own(theirs)
    assert f'src="{LINKS.to(URL)}"' in ours
    assert f'href="https://x.example{other.to(URL)}"' in ours
    assert strange in ours
    assert LINKS.made_own(ours) == ours

"""From query and body to fields."""

import time
from urllib.parse import unquote_to_bytes, urlencode

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tornado.httputil import HTTPHeaders

from server.api.forms import MAX_FORM_BYTES, percent_decoded, read_body, read_query
from server.domain.errors import DomainError
from testkit.clients.api import multipart

FORM = "application/x-www-form-urlencoded"


def body(content_type: str | None, data: bytes, **more: str):
    headers = HTTPHeaders({} if content_type is None else {"Content-Type": content_type})
    for name, value in more.items():
        headers[name.replace("_", "-")] = value
    return read_body(headers, data)


def status(content_type: str | None, data: bytes, **more: str) -> int:
    with pytest.raises(DomainError) as caught:
        body(content_type, data, **more)
    return caught.value.status


@given(st.dictionaries(st.text(min_size=1), st.text(), max_size=8))
def test_what_is_encoded_comes_back(fields):
    encoded = urlencode(fields)
    assert read_query(encoded) == fields
    assert body(FORM, encoded.encode()) == fields


@given(st.text(alphabet="%=_\r\n +0aAfFzä&", max_size=12).map(str.encode))
@example(b"%")
@example(b"%%41%")
@example(b"=3D%3D=")
def test_escapes_are_decoded_as_the_standard_library_does(data):
    try:
        expected = unquote_to_bytes(data).decode()
    except UnicodeDecodeError:
        with pytest.raises(DomainError):
            percent_decoded(data)
    else:
        assert percent_decoded(data) == expected


def test_the_last_of_a_name_counts():
    assert read_query("a=1&b=2&a=3") == {"a": "3", "b": "2"}


def test_a_name_alone_is_an_empty_value_and_nothing_is_nothing():
    assert read_query("a&b=&&") == {"a": "", "b": ""}
    assert read_query("") == {}


def test_a_percent_sign_that_begins_no_escape_stays():
    assert read_query("a=100%+sure%21") == {"a": "100% sure!"}


@pytest.mark.parametrize("data", [b"a=%FF", b"a=%ED%A0%80", b"a=\xff", b"%C3=1"])
def test_text_that_is_not_utf_8_is_refused(data):
    assert status(FORM, data) == 400


def test_bytes_of_utf_8_need_no_escapes():
    assert body(FORM, "a=ä€".encode()) == {"a": "ä€"}
    assert read_query("a=ä".encode().decode("latin-1")) == {"a": "ä"}


def test_an_empty_body_is_of_any_type():
    assert body(None, b"") == body("application/json", b"") == {}


@pytest.mark.parametrize("content_type", [None, "application/json", "text/plain", "", "multipart"])
def test_other_content_types_are_refused(content_type):
    assert status(content_type, b"{}") == 415


def test_compressed_bodies_are_refused():
    assert status(FORM, b"a=1", Content_Encoding="gzip") == 415


@pytest.mark.parametrize("content_type", [FORM.upper(), FORM + "; charset=UTF-8", f" {FORM} "])
def test_the_content_type_may_be_written_otherwise(content_type):
    assert body(content_type, b"a=1") == {"a": "1"}


def test_a_form_has_a_thousand_fields_at_most():
    assert len(body(FORM, b"&".join(b"f%d=" % n for n in range(1000)))) == 1000
    assert status(FORM, b"&".join(b"f%d=" % n for n in range(1001))) == 400
    assert status(FORM, b"&" * 500_000) == 400


def test_a_form_is_a_megabyte_at_most():
    assert status(FORM, b"a=" + b"x" * MAX_FORM_BYTES) == 413


@pytest.mark.parametrize("escape", [b"%41", b"%C3%A4", b"a%41b", b"=%3D", b"+", b"%4"])
def test_a_megabyte_of_escapes_is_read_without_delay(escape):
    data = b"a=" + escape * (1_000_000 // len(escape))
    taken = []
    for _ in range(3):
        started = time.process_time()
        if escape == b"%4":
            assert status(FORM, data) == 400
        else:
            body(FORM, data)
        taken.append(time.process_time() - started)
    assert min(taken) < 0.3


def test_a_multipart_form_has_fields_and_its_files_are_passed_over():
    content_type, data = multipart({"a": "ä", "b": ""}, {"file": ("x.bin", b"\x00\xff\r\n--x")})
    assert body(content_type, data) == {"a": "ä", "b": ""}
    assert body(content_type.replace("multipart/form-data", "Multipart/Form-Data"), data)


@pytest.mark.parametrize(
    ("content_type", "data"),
    [
        ("multipart/form-data", b"--x\r\n"),
        ("multipart/form-data; boundary=", b"--x\r\n"),
        ("multipart/form-data; boundary=x", b"nonsense"),
        ("multipart/form-data; boundary=x", b"--x\r\nnonsense\r\n--x--"),
        ("multipart/form-data; boundary=x", b"--x\r\nContent-Disposition: a\r\n\r\n\r\n--x--"),
        (
            "multipart/form-data; boundary=x",
            b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n\xff\r\n--x--',
        ),
    ],
)
def test_a_malformed_multipart_form_is_refused(content_type, data):
    assert status(content_type, data) == 400

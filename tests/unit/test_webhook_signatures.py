"""Signatures of deliveries: what services compute is accepted, everything else is not."""

import hashlib
import hmac
from base64 import b64encode
from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from tornado.httputil import HTTPHeaders

from server.integrations.registry import integrations
from server.integrations.signatures import (
    GENERAL,
    SHOPIFY,
    SLACK,
    InvalidSignatureError,
    Signature,
    Token,
    verify,
)

SECRET = "it is a secret ä"
BODY = '{"ä": 1}'.encode()
NOW = datetime(2026, 11, 28, 3, 0, tzinfo=UTC)
SENT = str(int(NOW.timestamp()))


def hmac_of(content: bytes, algorithm: str = "sha256", secret: str = SECRET) -> bytes:
    return hmac.new(secret.encode(), content, getattr(hashlib, algorithm)).digest()


def check(service: str, headers: dict[str, str], body: bytes = BODY) -> None:
    schemes = integrations()[service].schemes
    verify(schemes, HTTPHeaders(headers), body, SECRET, NOW)


PLAIN = hmac_of(BODY)
IN_BASE64 = b64encode(PLAIN).decode()
SIGNED = [
    ("github", {"X-Hub-Signature-256": f"sha256={PLAIN.hex()}"}),
    ("gitlab", {"X-Gitlab-Token": SECRET.encode().decode("latin-1")}),
    ("gitea", {"X-Gitea-Signature": PLAIN.hex()}),
    ("forgejo", {"X-Forgejo-Signature": PLAIN.hex()}),
    ("gogs", {"X-Gogs-Signature": PLAIN.hex()}),
    ("bitbucket2", {"X-Hub-Signature": f"sha256={PLAIN.hex()}"}),
    ("bitbucket3", {"X-Hub-Signature": f"sha256={PLAIN.hex()}"}),
    ("jira", {"X-Hub-Signature": f"sha256={PLAIN.hex()}"}),
    ("linear", {"Linear-Signature": PLAIN.hex()}),
    ("sentry", {"Sentry-Hook-Signature": PLAIN.hex()}),
    ("grafana", {"X-Grafana-Alerting-Signature": PLAIN.hex()}),
    ("dropbox", {"X-Dropbox-Signature": PLAIN.hex()}),
    ("circleci", {"circleci-signature": f"v2=x,v1={PLAIN.hex()}"}),
    ("pagerduty", {"X-PagerDuty-Signature": f"v1={'0' * 64}, v1={PLAIN.hex()}"}),
    ("taiga", {"X-Taiga-Webhook-Signature": hmac_of(BODY, "sha1").hex()}),
    ("clubhouse", {"Payload-Signature": PLAIN.hex()}),
    ("asana", {"X-Hook-Signature": PLAIN.hex()}),
    ("intercom", {"X-Hub-Signature": f"sha1={hmac_of(BODY, 'sha1').hex()}"}),
    ("front", {"X-Front-Signature": b64encode(hmac_of(BODY, "sha1")).decode()}),
    ("heroku", {"Heroku-Webhook-Hmac-SHA256": IN_BASE64}),
    ("jenkins", {"X-Webhook-Token": SECRET.encode().decode("latin-1")}),
]


@pytest.mark.parametrize(("service", "headers"), SIGNED, ids=[name for name, _ in SIGNED])
def test_what_a_service_signs_is_accepted_and_nothing_else(service: str, headers: dict[str, str]):
    check(service, headers)
    [(name, value)] = headers.items()
    is_token = isinstance(integrations()[service].schemes[0], Token)
    for wrong in (value[:-1], value.upper(), f"{value}0", "", "ä\u20ac", "v1=,sha256="):
        with pytest.raises(InvalidSignatureError):
            check(service, {name: wrong})
    if not is_token:
        with pytest.raises(InvalidSignatureError):
            check(service, headers, BODY + b" ")
    with pytest.raises(InvalidSignatureError, match=name):
        check(service, {})


def test_each_service_that_says_where_its_secret_is_has_a_scheme():
    for name, each in integrations().items():
        assert bool(each.signing_step) is bool(each.signatures), name
    signed = {name for name, each in integrations().items() if each.signatures}
    assert signed <= {name for name, _ in SIGNED} | {name for name, _ in TIMED}


def slack(sent: str) -> dict[str, str]:
    signature = hmac_of(f"v0:{sent}:".encode() + BODY).hex()
    return {"X-Slack-Request-Timestamp": sent, "X-Slack-Signature": f"v0={signature}"}


def stripe(sent: str) -> dict[str, str]:
    signature = hmac_of(f"{sent}.".encode() + BODY).hex()
    return {"Stripe-Signature": f"t={sent},v1={'0' * 64},v1={signature},v0=x"}


def zendesk(sent: str) -> dict[str, str]:
    time = datetime.fromtimestamp(int(sent), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    signature = b64encode(hmac_of(time.encode() + BODY)).decode()
    return {
        "X-Zendesk-Webhook-Signature-Timestamp": time,
        "X-Zendesk-Webhook-Signature": signature,
    }


TIMED: list[tuple[str, Callable[[str], dict[str, str]]]] = [
    ("stripe", stripe),
    ("zendesk", zendesk),
]


@pytest.mark.parametrize(("service", "signed"), TIMED)
def test_a_service_that_signs_the_time_is_accepted_for_five_minutes(service, signed):
    check(service, signed(SENT))
    for seconds in (-301, 301):
        with pytest.raises(InvalidSignatureError):
            check(service, signed(str(int(SENT) + seconds)))
    with pytest.raises(InvalidSignatureError):
        check(service, signed(SENT), BODY + b" ")
    with pytest.raises(InvalidSignatureError):
        check(service, dict.fromkeys(signed(SENT), ""))


@pytest.mark.parametrize("seconds", [-299, 0, 299])
def test_a_time_that_is_signed_may_be_somewhat_off(seconds: int):
    sent = str(int(NOW.timestamp()) + seconds)
    verify([SLACK], HTTPHeaders(slack(sent)), BODY, SECRET, NOW)


@pytest.mark.parametrize(
    "sent", [str(int(NOW.timestamp()) - 301), str(int(NOW.timestamp()) + 301), "x", "1e9", "9" * 15]
)
def test_a_recorded_delivery_is_refused(sent: str):
    with pytest.raises(InvalidSignatureError):
        verify([SLACK], HTTPHeaders(slack(sent)), BODY, SECRET, NOW)


def test_a_signed_time_cannot_be_exchanged_or_left_out():
    for headers in (
        {**slack(SENT), "X-Slack-Request-Timestamp": str(int(SENT) + 1)},
        {"X-Slack-Signature": slack(SENT)["X-Slack-Signature"]},
    ):
        with pytest.raises(InvalidSignatureError):
            verify([SLACK], HTTPHeaders(headers), BODY, SECRET, NOW)


@pytest.mark.parametrize(
    "sent", [SENT, f"{SENT}123", "2026-11-28T03:00:10Z", "2026-11-28T04:00:00+01:00"]
)
def test_times_are_read_in_the_forms_in_which_services_send_them(sent: str):
    scheme = Signature(header="S", signed="{timestamp}", timestamp="T")
    headers = {"S": hmac_of(sent.encode() + BODY).hex(), "T": sent}
    verify([scheme], HTTPHeaders(headers), BODY, SECRET, NOW)


def test_any_program_may_sign_in_one_of_the_known_ways():
    for headers in (
        {"X-Hub-Signature-256": f"sha256={PLAIN.hex()}"},
        {SHOPIFY.header: IN_BASE64},
        slack(SENT),
        {"x-webhook-token": SECRET.encode().decode("latin-1")},
    ):
        verify(GENERAL, HTTPHeaders(headers), BODY, SECRET, NOW)
    # One that is wrong is not made good by another one.
    both = {"X-Hub-Signature-256": "sha256=0", SHOPIFY.header: IN_BASE64}
    with pytest.raises(InvalidSignatureError):
        verify(GENERAL, HTTPHeaders(both), BODY, SECRET, NOW)

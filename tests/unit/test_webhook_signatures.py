"""Signatures of deliveries: what services compute is accepted, everything else is not."""

import hashlib
import hmac
import json
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.hashes import SHA1, SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from tornado.httputil import HTTPHeaders

from server.integrations.public_keys import public_key
from server.integrations.registry import integrations
from server.integrations.signatures import (
    GENERAL,
    SHOPIFY,
    SLACK,
    InvalidSignatureError,
    Password,
    Scheme,
    Signature,
    SignedRequest,
    StandardWebhook,
    verify,
)

SECRET = "it is a secret ä"
BODY = '{"ä": 1}'.encode()
NOW = datetime(2026, 11, 28, 3, 0, tzinfo=UTC)
SENT = str(int(NOW.timestamp()))


def hmac_of(content: bytes, algorithm: str = "sha256", secret: str = SECRET) -> bytes:
    return hmac.new(secret.encode(), content, getattr(hashlib, algorithm)).digest()


URL = "https://chat.example.com/api/v1/external/trello?api_key=k&stream=a%20b"


def accept(
    schemes: Sequence[Scheme], headers: dict[str, str], body: bytes = BODY, secret: str = SECRET
) -> None:
    request = SignedRequest(
        headers=HTTPHeaders(headers), body=body, url=URL, payload=lambda: body, received_at=NOW
    )
    verify(schemes, request, secret)


def check(service: str, headers: dict[str, str], body: bytes = BODY, secret: str = SECRET) -> None:
    accept(integrations()[service].schemes, headers, body, secret)


def basic(secret: str, name: str = "bot") -> dict[str, str]:
    return {"Authorization": f"Basic {b64encode(f'{name}:{secret}'.encode()).decode()}"}


def unpadded(content: bytes) -> str:
    return urlsafe_b64encode(content).decode().rstrip("=")


def web_token(
    issuer: str = "netlify", body: bytes = BODY, algorithm: str = "HS256", secret: str = SECRET
) -> str:
    header = unpadded(json.dumps({"alg": algorithm}).encode())
    claims = {"iss": issuer, "sha256": hashlib.sha256(body).hexdigest()}
    signed = f"{header}.{unpadded(json.dumps(claims).encode())}"
    signature = b"" if algorithm == "none" else hmac_of(signed.encode(), secret=secret)
    return f"{signed}.{unpadded(signature)}"


PLAIN = hmac_of(BODY)
IN_BASE64 = b64encode(PLAIN).decode()
SIGNED = [
    ("github", {"X-Hub-Signature-256": f"sha256={PLAIN.hex()}"}),
    ("gitlab", {"X-Gitlab-Token": SECRET.encode().decode("latin-1")}),
    ("trello", {"X-Trello-Webhook": b64encode(hmac_of(BODY + URL.encode(), "sha1")).decode()}),
    ("netlify", {"X-Webhook-Signature": web_token()}),
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
    is_token = name in ("X-Gitlab-Token", "X-Webhook-Token")
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
    assert signed <= {name for name, _ in SIGNED} | {name for name, _ in TIMED} | {"travis"} | {
        name for name in signed if integrations()[name].signatures == (Password(),)
    }


def test_a_secret_may_be_a_password_or_a_bearer_token():
    encoded = SECRET.encode().decode("latin-1")
    for headers in (
        basic(SECRET),
        basic(SECRET, name=""),
        {"Authorization": f"basic  {basic(SECRET)['Authorization'][6:]}"},
        {"Authorization": f"Bearer {encoded}"},
    ):
        check("azuredevops", headers)
        accept(GENERAL, headers)
    for wrong in (
        basic("another")["Authorization"],
        basic(f"{SECRET}:")["Authorization"],
        f"Basic {b64encode(SECRET.encode()).decode()}",
        f"Basic {encoded}",
        "Basic",
        "Bearer ",
        f"Digest {encoded}",
        encoded,
    ):
        with pytest.raises(InvalidSignatureError, match="Authorization"):
            check("azuredevops", {"Authorization": wrong})
    # What a service signs is not replaced by a password.
    with pytest.raises(InvalidSignatureError):
        check("github", {"X-Hub-Signature-256": "sha256=0", **basic(SECRET)})


@pytest.mark.parametrize(
    "token",
    [
        web_token(issuer="other"),
        web_token(body=BODY + b" "),
        web_token(secret="another secret, as long"),
        web_token(algorithm="none"),
        web_token(algorithm="HS512"),
        web_token(algorithm="RS256"),
        f"{unpadded(b'[]')}.{unpadded(b'[]')}.x",
        f"{unpadded(b'{}')}.{unpadded(b'null')}.",
        "a.b",
        "...",
        "x" * 60_000,
    ],
)
def test_a_web_token_of_something_else_is_refused(token: str):
    with pytest.raises(InvalidSignatureError):
        check("netlify", {"X-Webhook-Signature": token})


PRIVATE = rsa.generate_private_key(65_537, 2_048)


def pem_of(
    private: rsa.RSAPrivateKey, form: PublicFormat = PublicFormat.SubjectPublicKeyInfo
) -> str:
    return private.public_key().public_bytes(Encoding.PEM, form).decode()


PEM = pem_of(PRIVATE)


def travis(body: bytes = BODY, private: rsa.RSAPrivateKey = PRIVATE) -> dict[str, str]:
    return {"Signature": b64encode(private.sign(body, padding.PKCS1v15(), SHA1())).decode()}


@pytest.mark.parametrize(
    "secret",
    [
        PEM,
        PEM.strip(),
        PEM.replace("\n", "\\n"),
        PEM.replace("\n", "\r\n"),
        PEM.replace("\n", ""),
        PEM.replace("\n", " "),
        pem_of(PRIVATE, PublicFormat.PKCS1),
    ],
)
def test_a_bot_with_the_public_key_of_a_service_accepts_what_it_signs(secret: str):
    check("travis", travis(), secret=secret)
    with pytest.raises(InvalidSignatureError):
        check("travis", travis(b"{}"), secret=secret)
    other = rsa.generate_private_key(65_537, 2_048)
    padded = PRIVATE.sign(BODY, padding.PKCS1v15(), SHA256())
    for wrong in (travis(private=other)["Signature"], b64encode(padded).decode(), "AAAA", "ä", " "):
        with pytest.raises(InvalidSignatureError):
            check("travis", {"Signature": wrong}, secret=secret)


def test_a_public_key_is_no_secret():
    """The key is public, so any client could make what is keyed with it."""
    for secret in (PEM, PEM.replace("\n", "")):
        for headers in (
            {"X-Webhook-Token": secret},
            basic(secret),
            {"X-Hub-Signature-256": f"sha256={hmac_of(BODY, secret=secret).hex()}"},
        ):
            for service in ("travis", "github", "azuredevops"):
                with pytest.raises(InvalidSignatureError):
                    check(service, headers, secret=secret)
            with pytest.raises(InvalidSignatureError, match="public key"):
                accept(GENERAL, headers, secret=secret)


def test_what_is_signed_with_a_key_needs_the_key():
    with pytest.raises(InvalidSignatureError, match="X-Webhook-Token"):
        check("travis", travis())
    check("travis", {"X-Webhook-Token": SECRET.encode().decode("latin-1")})


def test_a_key_of_another_kind_or_size_is_refused():
    elliptic = ec.generate_private_key(ec.SECP256R1()).public_key()
    for secret in (
        pem_of(rsa.generate_private_key(65_537, 1_024)),
        elliptic.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode(),
        PEM.replace("PUBLIC", "PRIVATE"),
        PEM.replace("-----END", "!-----END"),
        "-----BEGIN PUBLIC KEY-----\n-----END PUBLIC KEY-----",
        "-----BEGIN ",
    ):
        with pytest.raises(ValueError, match=r"key|padding|base64|data"):
            public_key(secret)
        with pytest.raises(InvalidSignatureError):
            check("travis", travis(), secret=secret)


def standard(sent: str, key: bytes = SECRET.encode(), name: str = "msg_1") -> dict[str, str]:
    digest = hmac.new(key, f"{name}.{sent}.".encode() + BODY, hashlib.sha256).digest()
    signature = f"v1a,x v1,{b64encode(digest).decode()}"
    return {"webhook-id": name, "webhook-timestamp": sent, "webhook-signature": signature}


def test_standard_webhooks_are_accepted():
    key = bytes(range(32))
    secret = f"whsec_{b64encode(key).decode()}"
    check("gitlab", standard(SENT, key), secret=secret)
    accept([StandardWebhook()], standard(SENT))
    for wrong in (
        standard(SENT, secret.encode()),
        standard(SENT, key) | {"webhook-id": "msg_2"},
        standard(SENT, key) | {"webhook-timestamp": str(int(SENT) + 1)},
        standard(str(int(SENT) - 301), key),
        standard("x", key),
        {"webhook-signature": standard(SENT, key)["webhook-signature"]},
    ):
        with pytest.raises(InvalidSignatureError):
            check("gitlab", wrong, secret=secret)
    accept([StandardWebhook()], standard(SENT, b"whsec_!"), secret="whsec_!")


def test_an_address_that_is_signed_cannot_be_exchanged():
    signature = b64encode(hmac_of(BODY + URL.replace("a%20b", "c").encode(), "sha1")).decode()
    with pytest.raises(InvalidSignatureError):
        check("trello", {"X-Trello-Webhook": signature})


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


def grafana(sent: str) -> dict[str, str]:
    signature = hmac_of(f"{sent}:".encode() + BODY).hex()
    return {"X-Grafana-Alerting-Timestamp": sent, "X-Grafana-Alerting-Signature": signature}


def front(sent: str) -> dict[str, str]:
    """An app's webhook; those of rules sign the body alone."""
    signature = b64encode(hmac_of(f"{sent}000:".encode() + BODY)).decode()
    return {"X-Front-Signature": signature, "X-Front-Request-Timestamp": f"{sent}000"}


TIMED: list[tuple[str, Callable[[str], dict[str, str]]]] = [
    ("front", front),
    ("gitlab", standard),
    ("grafana", grafana),
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
    accept([SLACK], slack(sent))


@pytest.mark.parametrize(
    "sent", [str(int(NOW.timestamp()) - 301), str(int(NOW.timestamp()) + 301), "x", "1e9", "9" * 15]
)
def test_a_recorded_delivery_is_refused(sent: str):
    with pytest.raises(InvalidSignatureError):
        accept([SLACK], slack(sent))


def test_a_signed_time_cannot_be_exchanged_or_left_out():
    for headers in (
        {**slack(SENT), "X-Slack-Request-Timestamp": str(int(SENT) + 1)},
        {"X-Slack-Signature": slack(SENT)["X-Slack-Signature"]},
    ):
        with pytest.raises(InvalidSignatureError):
            accept([SLACK], headers)


@pytest.mark.parametrize(
    "sent", [SENT, f"{SENT}123", "2026-11-28T03:00:10Z", "2026-11-28T04:00:00+01:00"]
)
def test_times_are_read_in_the_forms_in_which_services_send_them(sent: str):
    scheme = Signature(header="S", preamble="{timestamp}", timestamp="T")
    headers = {"S": hmac_of(sent.encode() + BODY).hex(), "T": sent}
    accept([scheme], headers)


def test_any_program_may_sign_in_one_of_the_known_ways():
    for headers in (
        {"X-Hub-Signature-256": f"sha256={PLAIN.hex()}"},
        {SHOPIFY.header: IN_BASE64},
        slack(SENT),
        {"x-webhook-token": SECRET.encode().decode("latin-1")},
    ):
        accept(GENERAL, headers)
    # One that is wrong is not made good by another one.
    both = {"X-Hub-Signature-256": "sha256=0", SHOPIFY.header: IN_BASE64}
    with pytest.raises(InvalidSignatureError):
        accept(GENERAL, both)

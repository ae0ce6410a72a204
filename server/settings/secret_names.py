"""Settings with secret values, which are never shown."""

from urllib.parse import parse_qs, unquote, urlsplit

PLAIN_VARIABLES = {"database_url": "DATABASE_URL", "amqp_url": "AMQP_URL"}
"""Settings whose variable has a name of its own, because other tools know it by that name."""

OWN_SECRETS = (
    "bigbluebutton_secret",
    "constructor_groups_secret_key",
    "nextcloud_talk_password",
    "ldap_bind_password",
    "smtp_password",
    "operator_password",
    "push_server_key",
    "saml_key",
    "fcm_credentials",
    "apns_key",
    "s3_secret_key",
    "sentry_dsn",
    "webex_client_secret",
    "zoom_client_secret",
)

SECRETIVE = ("sign_in_providers", "jwt_keys")
"""Settings that hold secrets among other things."""

SECRET_SETTINGS = frozenset({*PLAIN_VARIABLES, "egress_proxy", *OWN_SECRETS, *SECRETIVE})
"""Settings with values that are never shown."""


def passwords_in(url: str) -> list[str]:
    """Return the passwords in the URL, as written and decoded."""
    parts = urlsplit(url)
    written = [parts.password or ""]
    decoded = [unquote(password) for password in written]
    return [p for p in (*written, *decoded, *parse_qs(parts.query).get("password", ())) if p]

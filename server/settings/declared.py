"""Declarations of all settings: type, limits and default."""

from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta
from typing_extensions import override

from server.domain.addresses import mail_domain
from server.domain.providers import JwtKeys, Providers
from server.domain.sign_in import FOR_DEVELOPERS, LDAP, PASSWORDS
from server.settings.descriptions import described
from server.settings.network_types import Destinations, Hosts, Networks, Ports
from server.settings.rates import Rate, Rates
from server.settings.secret_names import OWN_SECRETS, SECRET_SETTINGS, SECRETIVE, passwords_in
from server.settings.telemetry_settings import TelemetrySettings


class Settings(TelemetrySettings, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All settings. `load_settings` builds it; nothing else reads the environment."""

    host: Annotated[
        Annotated[str, Meta(min_length=1)], described("an address of this machine to listen on")
    ] = "127.0.0.1"
    port: Annotated[int, described("a port from 0 to 65535 (0: a free one)", ge=0, le=65535)] = 9991
    transport: Annotated[Literal["httptools", "tornado"], described("httptools or tornado")] = (
        "httptools"
    )
    """Which HTTP server owns the port; they differ in what they cost."""
    data_directory: Annotated[Path, described("the path of a directory")] = msgspec.field(
        name="data"
    )

    database_url: Annotated[
        Annotated[str, Meta(pattern=r"^postgres(ql)?://")] | None,
        described("an address that starts with postgresql://"),
    ] = None
    """None: a private Postgres in the data directory."""
    database_strict_replication: Annotated[bool, described("on or off")] = False
    """A write counts only when a standby has confirmed it: what is promoted then lacks nothing, and
    clients keep their event queues."""
    amqp_url: Annotated[
        Annotated[str, Meta(pattern=r"^amqps?://")] | None,
        described("an address that starts with amqp:// or amqps://"),
    ] = None
    """None: Postgres carries wake-ups and jobs too."""

    certificate: Annotated[Path | None, described("the path of a file")] = None
    """For HTTPS: a chain of certificates, and its key, which may be in the same file.

    None: a proxy in front of the server terminates TLS, or there is none.
    """
    certificate_key: Annotated[Path | None, described("the path of a file")] = None
    external_url: Annotated[
        Annotated[str, Meta(pattern=r"^https?://[^/?#\s]+/?$")] | None,
        described("the address people use, like https://chat.example.com"),
    ] = None
    root_domain: Annotated[
        Annotated[str, Meta(pattern=r"^[A-Za-z0-9.-]+(:\d+)?$")] | None,
        described("a domain name, like chat.example.com"),
    ] = None
    """Organizations live at its subdomains. None: every host name is the one at the root."""
    trusted_proxies: Annotated[
        Networks, described("networks like 10.0.0.0/8, separated by commas")
    ] = Networks()
    """Only these may set the client's address."""

    rate_limits: Annotated[bool, described("on or off")] = True
    rate_limit_user: Annotated[Rate, described("requests/seconds, like 200/60")] = Rate("200/60")
    rate_limit_address: Annotated[Rate, described("requests/seconds, like 100/60")] = Rate("100/60")
    """Of people who are not signed in."""
    rate_limit_sign_in: Annotated[Rate, described("tries/seconds, like 5/1800")] = Rate("5/1800")
    """With the password of one name."""
    rate_limit_second_factor: Annotated[Rates, described("tries/seconds, like 5/300, 50/86400")] = (
        Rates("5/300, 50/86400")
    )
    """With codes of one account's second factor; a right code resets the first rate only."""
    rate_limit_account_mail: Annotated[Rates, described("emails/seconds, like 2/3600, 5/86400")] = (
        Rates("2/3600, 5/86400")
    )
    """To one address, for people who want a new password, a new address or an account."""
    rate_limit_account_mail_address: Annotated[Rates, described("emails/seconds, like 5/86400")] = (
        Rates("5/86400")
    )
    """The same by the address of the network from which they ask."""
    rate_limit_join_address: Annotated[Rates, described("tries/seconds, like 20/3600")] = Rates(
        "20/3600, 100/86400"
    )
    """To join by a link from one network address, where no mail confirms who does."""
    open_realm_creation: Annotated[bool, described("on or off")] = False
    """Lets any visitor create organizations."""
    session_days: Annotated[int, described("a number from 1 to 365", ge=1, le=365)] = 14
    """Lifetime of a browser session after sign-in."""
    mobile_scheme: Annotated[
        Annotated[str, Meta(pattern=r"^[a-z][a-z0-9+.-]*$")],
        described("the scheme of an address, like zulip"),
    ] = "zulip"
    """Scheme by which browsers on phones open the app that waits for the sign-in."""
    sign_in_providers: Annotated[
        Providers, described("providers to sign in with, as docs/sign-in.md says")
    ] = Providers()
    """Identity providers for sign-in."""
    saml_certificate: Annotated[
        Annotated[str, Meta(pattern="^-----BEGIN CERTIFICATE-----")] | None,
        described("a certificate in PEM"),
    ] = None
    """Of the server itself: with its key, questions in SAML are signed, and answers may be
    encrypted. None: they are not."""
    saml_key: Annotated[
        Annotated[str, Meta(pattern="^-----BEGIN [A-Z ]*PRIVATE KEY-----")] | None,
        described("a private key in PEM"),
    ] = None
    jwt_keys: Annotated[JwtKeys, described("keys by subdomain, as docs/sign-in.md says")] = (
        JwtKeys()
    )
    """Keys of an organization's own sites, which sign tokens for API keys."""

    development: Annotated[bool, described("on or off")] = False
    """Lets users sign in without a password. Never on a server that others reach."""

    web_client: Annotated[Path | None, described("the path of a directory")] = None
    """The built browser client. None: the one that is packaged with the server, if there is one."""
    web_public_channels: Annotated[bool, described("on or off")] = False
    """Lets organizations open channels to people without an account."""
    can_access_all_users_group_limits_presence: Annotated[bool, described("on or off")] = True
    """Whether restricted guests see presence only of users that they know."""
    max_file_upload_mib: Annotated[int, described("a number from 0 to 4096", ge=0, le=4096)] = 25
    max_import_mib: Annotated[int, described("a number from 0 to 65536", ge=0, le=65536)] = 8192
    """Largest file that owners may import over the API; 0: none."""

    s3_bucket: Annotated[
        Annotated[str, Meta(pattern=r"^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$")] | None,
        described("the name of a bucket"),
    ] = None
    """None: files are kept in the data directory."""
    s3_endpoint: Annotated[
        Annotated[str, Meta(pattern=r"^https?://[^/?#\s]+/?$")] | None,
        described("an address like https://s3.example.com"),
    ] = None
    s3_region: Annotated[Annotated[str, Meta(min_length=1)], described("a region")] = "us-east-1"
    s3_access_key: Annotated[
        Annotated[str, Meta(min_length=1)] | None, described("the id of a key")
    ] = None
    s3_secret_key: Annotated[
        Annotated[str, Meta(min_length=1)] | None, described("the secret of that key")
    ] = None

    gravatars: Annotated[bool, described("on or off")] = False
    """Whether people without a picture are shown with theirs at gravatar.com, which learns who
    looks. Off: with patterns that the server makes itself."""

    media_hosts: Annotated[
        Hosts, described("names of hosts like images.example.com, separated by commas")
    ] = Hosts()
    """Hosts of images and videos that messages display directly: they learn who looks."""
    image_proxy: Annotated[bool, described("on or off")] = True
    """Whether messages show pictures of all other hosts, which the server then fetches."""

    link_previews: Annotated[bool, described("on or off")] = True
    """Whether organizations may have previews of linked pages, which the server then fetches."""

    expired_messages_days: Annotated[int, described("a number from 0 to 365", ge=0, le=365)] = 30
    """Retention of deleted expired messages in the archive, where no user sees them."""
    typesetting_seconds: Annotated[int, described("a number from 1 to 60", ge=1, le=60)] = 3
    """Timeout of a message's typesetting."""

    smtp_host: Annotated[
        Annotated[str, Meta(min_length=1)] | None, described("the name of a mail server")
    ] = None
    """None: no mail is sent."""
    smtp_port: Annotated[int, described("a port from 1 to 65535", ge=1, le=65535)] = 587
    smtp_security: Annotated[
        Literal["starttls", "tls", "none"], described("starttls, tls or none")
    ] = "starttls"
    smtp_user: Annotated[
        Annotated[str, Meta(min_length=1)] | None, described("a name to sign in with")
    ] = None
    smtp_password: Annotated[str | None, described("a password")] = None
    smtp_connections: Annotated[int, described("a number from 1 to 50", ge=1, le=50)] = 2
    """Of one process to the mail server, at once."""
    smtp_timeout_seconds: Annotated[int, described("a number from 1 to 600", ge=1, le=600)] = 30
    """Timeout of each response of the mail server."""
    mail_from: Annotated[
        Annotated[str, Meta(pattern=r"^[^@\s<>]+@[^@\s<>]+$")] | None,
        described("an address like parley@example.com"),
    ] = None
    """From where mail comes. None: noreply at the name of the server."""

    invitations_per_day: Annotated[int, described("a number from 0", ge=0)] = 100
    """How many an organization may have mailed."""
    invitation_minutes: Annotated[
        int, described("a number from 1 to 5000000", ge=1, le=5_000_000)
    ] = 14_400
    """For how long invitations are good whose sender does not say."""

    egress_allow: Annotated[
        Destinations, described("networks like 10.0.0.0/8 and names of hosts, separated by commas")
    ] = Destinations()
    """Where the server goes on behalf of strangers although it is private, and on any port."""
    egress_ports: Annotated[Ports, described("ports like 80, separated by commas")] = Ports(
        "80, 443, 8080, 8443"
    )
    """To which it connects elsewhere."""
    egress_proxy: Annotated[
        Annotated[str, Meta(pattern=r"^https?://[^/?#\s]+/?$")] | None,
        described("the address of a proxy, like http://proxy.example.com:3128"),
    ] = None
    """Through which it goes then. It looks up names, so it has to keep private networks closed."""

    giphy_api_key: Annotated[str, described("a key of GIPHY's API")] = ""
    """With which clients look for GIFs themselves, so it is no secret. Empty: they do not."""
    klipy_api_key: Annotated[str, described("a key of KLIPY's API")] = ""
    tenor_api_key: Annotated[str, described("a key of Tenor's API")] = ""

    outgoing_webhook_seconds: Annotated[int, described("a number from 1 to 60", ge=1, le=60)] = 10
    """Timeout of an outgoing webhook."""

    push_bouncer_url: Annotated[
        Annotated[str, Meta(pattern=r"^https?://[^/?#\s]+/?$")] | None,
        described("an address like https://push.example.com"),
    ] = None
    """Who pushes to phones for this server. None: itself, with what it has keys for."""
    push_server_id: Annotated[
        Annotated[
            str,
            Meta(pattern=r"^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$"),
        ]
        | None,
        described("a UUID of version 4"),
    ] = None
    push_server_key: Annotated[
        Annotated[str, Meta(pattern=r"^[A-Za-z0-9]{64}$")] | None,
        described("64 letters and digits"),
    ] = None
    """Name and password of this server at the bouncer."""
    fcm_credentials: Annotated[
        str | None, described("the JSON of a service account of Firebase")
    ] = None
    apns_key: Annotated[str | None, described("the text of a .p8 file of Apple")] = None
    apns_key_id: Annotated[
        Annotated[str, Meta(pattern=r"^[A-Z0-9]{10}$")] | None,
        described("10 letters and digits"),
    ] = None
    apns_team_id: Annotated[
        Annotated[str, Meta(pattern=r"^[A-Z0-9]{10}$")] | None,
        described("10 letters and digits"),
    ] = None
    apns_sandbox: Annotated[bool, described("on or off")] = False
    """Whether phones have apps that were not installed from the store."""

    web_push_contact: Annotated[
        Annotated[str, Meta(pattern=r"^(mailto:[^@\s<>]+@[^@\s<>]+|https://[^/?#\s]+(/\S*)?)$")]
        | None,
        described("an address like mailto:admin@example.com or https://example.com/contact"),
    ] = None
    """Where push services of browsers reach the operator. None: the address of the server."""

    mail_in_port: Annotated[
        Annotated[int, Meta(ge=0, le=65535)] | None,
        described("a port from 0 to 65535 (0: a free one)"),
    ] = None
    """Where mail arrives that becomes messages. None: none does, and channels have no addresses."""
    mail_in_host: Annotated[
        Annotated[str, Meta(min_length=1)], described("an address of this machine to listen on")
    ] = "127.0.0.1"
    mail_in_protocol: Annotated[Literal["lmtp", "smtp"], described("lmtp or smtp")] = "lmtp"
    """lmtp: from a mail server beside this one. smtp: also from all others."""
    mail_in_address: Annotated[
        Annotated[str, Meta(pattern=r"^[A-Za-z0-9.+_-]*%s@[A-Za-z0-9.-]+$")] | None,
        described("an address with %s in it, like %s@chat.example.com"),
    ] = None
    """What the addresses look like. None: %s at the name of the server."""
    mail_in_max_mib: Annotated[int, described("a number from 1 to 100", ge=1, le=100)] = 10
    """Larger mail is refused."""
    mail_in_certificate: Annotated[Path | None, described("the path of a file")] = None
    """For STARTTLS: a chain of certificates, and its key, which may be in the same file."""
    mail_in_key: Annotated[Path | None, described("the path of a file")] = None
    rate_limit_mail: Annotated[Rate, described("emails/seconds, like 30/60")] = Rate("30/60")
    """To one address."""

    processes: Annotated[int, described("a number from 1 to 64", ge=1, le=64)] = 1
    shutdown_delay_seconds: Annotated[int, described("a number from 0 to 600", ge=0, le=600)] = 0
    """How long a stopping server goes on taking connections, while `/ready` answers 503: time for
    a proxy with health checks to send requests elsewhere. `drain_seconds` come after it."""
    drain_seconds: Annotated[int, described("a number from 1 to 600", ge=1, le=600)] = 10
    """How long a stopping server may take to answer what it has begun."""
    max_body_bytes: Annotated[int, described("a number from 65536", ge=65_536)] = 8 * 1024 * 1024
    database_pool_size: Annotated[int, described("a number from 1 to 200", ge=1, le=200)] = 8
    """Connections of one process."""
    hashing_threads: Annotated[int, described("a number from 1 to 64", ge=1, le=64)] = 2
    """Passwords hashed at once; each takes 19 MiB."""

    metrics_port: Annotated[
        Annotated[int, Meta(ge=1, le=65535)] | None, described("a port from 1 to 65535")
    ] = None
    """Where Prometheus and load balancers ask. None: nowhere. Several processes of a machine take
    this one and those that follow."""
    metrics_host: Annotated[
        Annotated[str, Meta(min_length=1)], described("an address of this machine to listen on")
    ] = "127.0.0.1"
    operator_hosts: Annotated[
        Hosts, described("names of hosts like operator.example.com, separated by commas")
    ] = Hosts()
    """By which names the port of the metrics is asked, beside addresses, names without a dot and
    those of the machine and of the server."""
    operator_password: Annotated[
        Annotated[str, Meta(min_length=16)] | None, described("at least 16 characters")
    ] = None
    """Opens the operator's pages on the port of the metrics. None: there are none."""

    log_format: Annotated[
        Literal["auto", "json", "console"], described("auto, json or console")
    ] = "auto"
    """auto: console when a person watches, JSON otherwise."""
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"],
        described("debug, info, warning or error"),
    ] = "info"
    access_log: Annotated[bool, described("on or off")] = False
    """Log each request: method, endpoint, status, seconds, address and caller."""

    @property
    def embedded(self) -> bool:
        """Whether Parley runs its own Postgres."""
        return self.database_url is None

    @property
    def files(self) -> Path:
        """The folder of what people upload."""
        return self.data_directory / "files"

    @property
    def public_url(self) -> str:
        """The address under which people reach this server, without a slash at its end."""
        if self.external_url is not None:
            return self.external_url.rstrip("/")
        shown = "localhost" if self.host in {"0.0.0.0", "::", "127.0.0.1"} else self.host  # noqa: S104 - compared, not bound
        scheme = "http" if self.certificate is None else "https"
        return f"{scheme}://{f'[{shown}]' if ':' in shown else shown}:{self.port}"

    @property
    def secrets(self) -> tuple[str, ...]:
        """Passwords within the settings: what no log line may contain."""
        urls = (self.database_url, self.amqp_url, self.egress_proxy)
        found = {secret for url in urls if url for secret in passwords_in(url)}
        found |= {secret for name in OWN_SECRETS if (secret := getattr(self, name))}
        found |= {secret for name in SECRETIVE for secret in getattr(self, name).secrets}
        return tuple(sorted(found))

    @property
    def sign_in_methods(self) -> tuple[str, ...]:
        """The ways that this server has, by the names that organizations choose them by."""
        ldap = () if self.ldap_url is None else (LDAP,)
        dev = (FOR_DEVELOPERS,) if self.development else ()
        return (PASSWORDS, *ldap, *self.sign_in_providers.methods, *dev)

    @property
    def mail_address(self) -> str:
        """From where mail comes."""
        if self.mail_from is not None:
            return self.mail_from
        return f"noreply@{mail_domain(self.public_url)}"

    @property
    def push_contact(self) -> str:
        """The URL that push services of browsers get."""
        if self.web_push_contact is not None:
            return self.web_push_contact
        url = self.public_url
        return url if url.startswith("https://") else f"mailto:{self.mail_address}"

    @property
    def mail_in_pattern(self) -> str:
        """What the addresses look like by which mail comes in, with %s for what differs."""
        if self.mail_in_address is not None:
            return self.mail_in_address
        return f"%s@{mail_domain(self.public_url)}"

    @override
    def __repr__(self) -> str:
        shown = {
            name: "[secret]" if name in SECRET_SETTINGS and value is not None else value
            for name in self.__struct_fields__
            if (value := getattr(self, name)) is not None
        }
        return f"Settings({', '.join(f'{name}={value!r}' for name, value in shown.items())})"

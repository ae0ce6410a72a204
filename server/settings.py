"""Every setting in one frozen object, read from the environment or one TOML file."""

import difflib
import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import parse_qs, unquote, urlsplit

import msgspec
from msgspec import Meta
from typing_extensions import override

from server.domain.addresses import mail_domain
from server.places import Destinations, Hosts, Networks, Ports

ENVIRONMENT_PREFIX = "PARLEY_"
CONFIG_VARIABLE = "PARLEY_CONFIG"

PLAIN_VARIABLES = {"database_url": "DATABASE_URL", "amqp_url": "AMQP_URL"}
"""Settings whose variable has a name of its own, because other tools know it by that name."""

OWN_SECRETS = (
    "smtp_password",
    "operator_password",
    "push_server_key",
    "fcm_credentials",
    "apns_key",
)

SECRET_SETTINGS = frozenset({*PLAIN_VARIABLES, "egress_proxy", *OWN_SECRETS})
"""Settings whose value is never shown."""

WORDS_FOR_BOOLEANS = {"on": True, "yes": True, "off": False, "no": False}


class SettingsError(Exception):
    """The settings are wrong. `problems` holds one sentence for each thing that is."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


class Rate:
    """So many uses in any so many seconds, written like 200/60."""

    def __init__(self, text: str) -> None:
        limit, _, seconds = text.partition("/")
        self.limit, self.seconds = int(limit), int(seconds)
        if min(self.limit, self.seconds) < 1:
            raise ValueError(text)

    @override
    def __repr__(self) -> str:
        return f"{self.limit}/{self.seconds}"


def described(description: str, *, ge: int | None = None, le: int | None = None) -> Meta:
    """What a setting must be, as the end of the sentence "NAME must be ..."."""
    return Meta(description=description, ge=ge, le=le)


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What an operator decides. `load_settings` builds it; nothing else reads the environment."""

    host: Annotated[
        Annotated[str, Meta(min_length=1)], described("an address of this machine to listen on")
    ] = "127.0.0.1"
    port: Annotated[int, described("a port from 0 to 65535 (0: a free one)", ge=0, le=65535)] = 9991
    data_directory: Annotated[Path, described("the path of a directory")] = msgspec.field(
        name="data"
    )

    database_url: Annotated[
        Annotated[str, Meta(pattern=r"^postgres(ql)?://")] | None,
        described("an address that starts with postgresql://"),
    ] = None
    """None: a private Postgres in the data directory."""
    amqp_url: Annotated[
        Annotated[str, Meta(pattern=r"^amqps?://")] | None,
        described("an address that starts with amqp:// or amqps://"),
    ] = None
    """None: Postgres carries wake-ups and jobs too."""

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
    """Only these may say for whom they forward."""

    rate_limits: Annotated[bool, described("on or off")] = True
    rate_limit_user: Annotated[Rate, described("requests/seconds, like 200/60")] = Rate("200/60")
    rate_limit_address: Annotated[Rate, described("requests/seconds, like 100/60")] = Rate("100/60")
    """Of people who are not signed in."""
    rate_limit_sign_in: Annotated[Rate, described("tries/seconds, like 5/1800")] = Rate("5/1800")
    """With the password of one name."""
    development: Annotated[bool, described("on or off")] = False
    """Lets people sign in without a password. Never on a server that others reach."""

    web_public_channels: Annotated[bool, described("on or off")] = False
    """Lets organizations open channels to people without an account."""
    can_access_all_users_group_limits_presence: Annotated[bool, described("on or off")] = True
    """Whether guests who may not know everybody see presence only of those whom they know."""
    max_file_upload_mib: Annotated[int, described("a number from 0 to 4096", ge=0, le=4096)] = 25

    media_hosts: Annotated[
        Hosts, described("names of hosts like images.example.com, separated by commas")
    ] = Hosts()
    """Whose pictures and films messages show: they learn who looks."""

    link_previews: Annotated[bool, described("on or off")] = True
    """Whether organizations may have previews of linked pages, which the server then fetches."""

    expired_messages_days: Annotated[int, described("a number from 0 to 365", ge=0, le=365)] = 30
    """How long messages that were deleted for their age are kept aside, where nobody sees them."""
    typesetting_seconds: Annotated[int, described("a number from 1 to 60", ge=1, le=60)] = 3
    """How long a message waits at most for its code to get colours, and its formulas."""

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
    """How long the mail server may take for each answer."""
    mail_from: Annotated[
        Annotated[str, Meta(pattern=r"^[^@\s<>]+@[^@\s<>]+$")] | None,
        described("an address like parley@example.com"),
    ] = None
    """From where mail comes. None: noreply at the name of the server."""

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

    outgoing_webhook_seconds: Annotated[int, described("a number from 1 to 60", ge=1, le=60)] = 10
    """How long a bot that is called may take to answer."""

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

    @property
    def embedded(self) -> bool:
        """Whether Parley runs its own Postgres."""
        return self.database_url is None

    @property
    def public_url(self) -> str:
        """The address under which people reach this server, without a slash at its end."""
        if self.external_url is not None:
            return self.external_url.rstrip("/")
        shown = "localhost" if self.host in {"0.0.0.0", "::", "127.0.0.1"} else self.host  # noqa: S104 - compared, not bound
        return f"http://{f'[{shown}]' if ':' in shown else shown}:{self.port}"

    @property
    def secrets(self) -> tuple[str, ...]:
        """Passwords within the settings: what no log line may contain."""
        urls = (self.database_url, self.amqp_url, self.egress_proxy)
        found = {secret for url in urls if url for secret in _passwords(url)}
        found |= {secret for name in OWN_SECRETS if (secret := getattr(self, name))}
        return tuple(sorted(found))

    @property
    def mail_address(self) -> str:
        """From where mail comes."""
        if self.mail_from is not None:
            return self.mail_from
        return f"noreply@{mail_domain(self.public_url)}"

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


def load_settings(
    *,
    environ: Mapping[str, str] | None = None,
    config: Path | None = None,
    overrides: Mapping[str, object] | None = None,
) -> Settings:
    """Read settings: `overrides` (the command line), else the environment, else the file.

    Raises SettingsError, which lists everything that is wrong.
    """
    environ = os.environ if environ is None else environ
    reader = _Reader()
    if config is None and environ.get(CONFIG_VARIABLE):
        config = Path(environ[CONFIG_VARIABLE])
    if config is not None:
        reader.add_file(config)
    reader.add_environment(environ)
    for name, value in (overrides or {}).items():
        if value is not None:
            reader.add(name, value, origin=f"--{name.replace('_', '-')}")
    reader.values.setdefault("data", default_data_directory(environ))
    return reader.settings()


def default_data_directory(environ: Mapping[str, str]) -> Path:
    """Where data goes if nobody says: a system directory for root, else the user's own."""
    if os.geteuid() == 0:
        return Path("/var/lib/parley")
    base = environ.get("XDG_DATA_HOME") or Path(environ.get("HOME") or "~").expanduser() / (
        ".local/share"
    )
    return Path(base) / "parley"


def unused_variables(environ: Mapping[str, str] | None = None) -> list[str]:
    """Names that look like settings of Parley but are none."""
    environ = os.environ if environ is None else environ
    return sorted(
        name
        for name in environ
        if name.startswith(ENVIRONMENT_PREFIX)
        and name != CONFIG_VARIABLE
        and name.removesuffix("_FILE") not in _setting_by_variable()
    )


def variable_of(setting: str) -> str:
    """The environment variable of a setting."""
    return PLAIN_VARIABLES.get(setting, ENVIRONMENT_PREFIX + setting.upper())


def _setting_by_variable() -> dict[str, str]:
    return {variable_of(name): name for name in Settings.__struct_encode_fields__}


class _Reader:
    """Collects raw values with their origin, so that a complaint can name it."""

    def __init__(self) -> None:
        self.values: dict[str, object] = {}
        self._origins: dict[str, str] = {}
        self._problems: list[str] = []

    def add(self, name: str, value: object, *, origin: str) -> None:
        if isinstance(value, str):
            value = WORDS_FOR_BOOLEANS.get(value.lower(), value)
        self.values[name] = value
        self._origins[name] = origin

    def add_file(self, path: Path) -> None:
        try:
            table = tomllib.loads(path.read_text())
        except OSError as error:
            self._problems.append(f"The settings file {path} cannot be read: {error.strerror}.")
            return
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            self._problems.append(f"The settings file {path} is not valid TOML: {error}.")
            return
        for key, value in table.items():
            self._add_or_read(key, value, origin=f"`{key}` in {path}")

    def add_environment(self, environ: Mapping[str, str]) -> None:
        known = _setting_by_variable()
        for variable, value in environ.items():
            name = known.get(variable.removesuffix("_FILE"))
            if name is not None:
                suffix = "_file" if variable.endswith("_FILE") else ""
                self._add_or_read(name + suffix, value, origin=variable)
        for variable in unused_variables(environ):
            if similar := difflib.get_close_matches(variable, known, n=1, cutoff=0.8):
                self._problems.append(f"{variable} is not a setting; did you mean {similar[0]}?")

    def _add_or_read(self, name: str, value: object, *, origin: str) -> None:
        """Take the value, or, where the name ends in _file, the content of the file it names."""
        setting = name.removesuffix("_file")
        if setting == name or setting not in Settings.__struct_encode_fields__:
            self.add(name, value, origin=origin)
            return
        try:
            self.add(setting, Path(str(value)).read_text().strip(), origin=f"{origin} ({value})")
        except OSError as error:
            self._problems.append(f"{origin} names {value}, but: {error.strerror}.")

    def settings(self) -> Settings:
        """Convert; a wrong value is named and left out until the rest has been looked at."""
        settings = None
        while settings is None:
            try:
                settings = msgspec.convert(self.values, Settings, strict=False, dec_hook=_decode)
            except msgspec.ValidationError as error:
                self._explain(str(error))
        if self._problems:
            raise SettingsError(self._problems)
        return settings

    def _explain(self, complaint: str) -> None:
        if unknown := re.search(r"unknown field `(.*)`$", complaint):
            self._explain_unknown(unknown[1])
            return
        place = re.search(r"`\$\.(\w+)", complaint)
        assert place is not None, complaint
        name = place[1]
        value = self.values.pop(name)
        if name == "data":
            self.values[name] = Path()
        shown = "" if name in SECRET_SETTINGS else f", not {value!r}"
        origin = self._origins.get(name, variable_of(name))
        self._problems.append(f"{origin} must be {_expectation(name)}{shown}.")

    def _explain_unknown(self, name: str) -> None:
        del self.values[name]
        similar = difflib.get_close_matches(name, Settings.__struct_encode_fields__, n=1)
        hint = f"; did you mean `{similar[0]}`?" if similar else "."
        self._problems.append(f"{self._origins[name]} is not a setting{hint}")


def _passwords(url: str) -> list[str]:
    """The passwords in the address, as written and decoded."""
    parts = urlsplit(url)
    written = [parts.password or ""]
    decoded = [unquote(password) for password in written]
    return [p for p in (*written, *decoded, *parse_qs(parts.query).get("password", ())) if p]


def _decode(kind: type, value: object) -> object:
    """Build the types that msgspec does not know."""
    return kind(value)


def _expectation(name: str) -> str:
    """How the sentence "NAME must be ..." ends."""
    fields = msgspec.inspect.type_info(Settings).fields  # type: ignore[attr-defined]
    kind = next(field.type for field in fields if field.encode_name == name)
    extra: dict[str, Any] = getattr(kind, "extra_json_schema", None) or {}
    return str(extra.get("description", "something else"))

"""Read settings from the environment, from one TOML file and from files of secrets."""

import difflib
import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import msgspec

from server.domain.addresses import mailable
from server.domain.descriptions import DescriptionError
from server.settings.declared import Settings
from server.settings.secret_names import PLAIN_VARIABLES, SECRET_SETTINGS
from server.settings.sources import DEFAULT, SettingSource

ENVIRONMENT_PREFIX = "PARLEY_"
CONFIG_VARIABLE = "PARLEY_CONFIG"

TOGETHER = (("saml_certificate", "saml_key"), ("ldap_bind_dn", "ldap_bind_password"))
"""Settings that are only valid together."""

KEYS = {"certificate_key": "certificate", "mail_in_key": "mail_in_certificate"}
"""Key files by certificate file, which may hold its key itself."""

PLACES = (
    "amqp_url",
    "bigbluebutton_url",
    "constructor_groups_url",
    "egress_proxy",
    "external_url",
    "jitsi_server_url",
    "ldap_url",
    "nextcloud_talk_url",
    "push_bouncer_url",
    "s3_endpoint",
    "smtp_host",
    "webex_api_url",
    "zoom_api_url",
    "zoom_oauth_url",
)
"""Settings that name a host, most of them in a URL, some more than one."""

_ENCODED = r"(?:[^\s%]|%[0-9A-Fa-f]{2})*"

WORDS_FOR_BOOLEANS = {"on": True, "yes": True, "off": False, "no": False}


class SettingsError(Exception):
    """The settings are invalid. `problems` holds one sentence for each error."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


def load_settings(
    *,
    environ: Mapping[str, str] | None = None,
    config: Path | None = None,
    overrides: Mapping[str, object] | None = None,
) -> Settings:
    """Read settings: `overrides` (the command line), else the environment, else the file.

    Raises SettingsError, which lists everything that is wrong.
    """
    settings, _ = load_with_sources(environ=environ, config=config, overrides=overrides)
    return settings


def load_with_sources(
    *,
    environ: Mapping[str, str] | None = None,
    config: Path | None = None,
    overrides: Mapping[str, object] | None = None,
) -> tuple[Settings, dict[str, SettingSource]]:
    """Read settings as `load_settings` does, and return with them where each comes from."""
    environ = os.environ if environ is None else environ
    reader = _reader(environ, config, overrides)
    sources = {
        name: reader.sources.get(name, DEFAULT) for name in Settings.__struct_encode_fields__
    }
    reader.values.setdefault("data", default_data_directory(environ))
    return reader.settings(), sources


def names_data_directory(
    *,
    environ: Mapping[str, str] | None = None,
    config: Path | None = None,
    overrides: Mapping[str, object] | None = None,
) -> bool:
    """Return whether the operator has named a data directory, be it the default one."""
    environ = os.environ if environ is None else environ
    return "data" in _reader(environ, config, overrides).values


def _reader(
    environ: Mapping[str, str], config: Path | None, overrides: Mapping[str, object] | None
) -> "_SettingsCollector":
    """Return all raw values, not yet converted."""
    reader = _SettingsCollector()
    if config is None and environ.get(CONFIG_VARIABLE):
        config = Path(environ[CONFIG_VARIABLE])
    if config is not None:
        reader.add_file(config)
    reader.add_environment(environ)
    for name, value in (overrides or {}).items():
        if value is not None:
            reader.add(name, value, SettingSource("command line", f"--{name.replace('_', '-')}"))
    return reader


def default_data_directory(environ: Mapping[str, str]) -> Path:
    """Return the default data directory.

    It is in `XDG_DATA_HOME` where that is set, otherwise a system directory for root and in the
    home directory for others.
    """
    if base := environ.get("XDG_DATA_HOME"):
        return Path(base) / "parley"
    if os.geteuid() == 0:
        return Path("/var/lib/parley")
    return Path(environ.get("HOME") or "~") / ".local/share/parley"


def state_directory(environ: Mapping[str, str] | None = None) -> Path:
    """Return where processes of this user record that they run.

    Not configurable, so that all find it.
    """
    environ = os.environ if environ is None else environ
    base = environ.get("XDG_STATE_HOME") or Path(environ.get("HOME") or "~") / ".local/state"
    return Path(base).expanduser() / "parley"


def unused_variables(environ: Mapping[str, str] | None = None) -> list[str]:
    """Return names that look like settings of Parley but are none."""
    environ = os.environ if environ is None else environ
    return sorted(
        name
        for name in environ
        if name.startswith(ENVIRONMENT_PREFIX)
        and name != CONFIG_VARIABLE
        and name.removesuffix("_FILE") not in _setting_by_variable()
    )


def variable_of(setting: str) -> str:
    """Return the environment variable of a setting."""
    return PLAIN_VARIABLES.get(setting, ENVIRONMENT_PREFIX + setting.upper())


def _setting_by_variable() -> dict[str, str]:
    return {variable_of(name): name for name in Settings.__struct_encode_fields__}


def text_of(content: bytes, *, origin: str) -> str:
    """Return the content of a secrets file.

    Raises SettingsError with a sentence that begins with `origin`.
    """
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise SettingsError([f"{origin} is not text in UTF-8: write it anew."]) from None


class _SettingsCollector:
    """Collects raw values with their origin, so that errors can name it."""

    def __init__(self) -> None:
        self.values: dict[str, object] = {}
        self.sources: dict[str, SettingSource] = {}
        self._problems: list[str] = []
        self._told: set[str] = set()

    def add(self, name: str, value: object, source: SettingSource) -> None:
        if isinstance(value, str):
            if not _is_plain(value):
                self._problems.append(f"{source} must be text in UTF-8 without NUL characters.")
                return
            value = WORDS_FOR_BOOLEANS.get(value.lower(), value)
        self.values[name] = value
        self.sources[name] = source

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
            self._add_or_read(key, value, SettingSource("file", f"`{key}` in {path}"))

    def add_environment(self, environ: Mapping[str, str]) -> None:
        known = _setting_by_variable()
        for variable, value in environ.items():
            name = known.get(variable.removesuffix("_FILE"))
            if name is not None:
                suffix = "_file" if variable.endswith("_FILE") else ""
                self._add_or_read(name + suffix, value, SettingSource("environment", variable))
        for variable in unused_variables(environ):
            if similar := difflib.get_close_matches(variable, known, n=1, cutoff=0.8):
                self._problems.append(f"{variable} is not a setting; did you mean {similar[0]}?")

    def _add_or_read(self, name: str, value: object, source: SettingSource) -> None:
        """Add the value, or, if the name ends in _file, the content of the file it names."""
        setting = name.removesuffix("_file")
        if setting == name or setting not in Settings.__struct_encode_fields__:
            self.add(name, value, source)
            return
        try:
            text = text_of(Path(str(value)).read_bytes(), origin=f"{source} names {value}, which")
            self.add(setting, text.strip(), SettingSource("secret file", f"{source} ({value})"))
        except OSError as error:
            self._problems.append(f"{source} names {value}, but: {error.strerror}.")
        except SettingsError as error:
            self._problems += error.problems
        except ValueError:
            self._problems.append(f"{source} must be the path of a file.")

    def settings(self) -> Settings:
        """Convert all values.

        A wrong one is reported and left out until the rest has been checked.
        """
        settings = None
        while settings is None:
            try:
                settings = msgspec.convert(self.values, Settings, strict=False, dec_hook=_decode)
            except msgspec.ValidationError as error:
                self._explain(error)
        self._check_paths(settings)
        data = self._data_directory(settings.data_directory)
        self._check_addresses(settings)
        self._check_places(settings)
        self._check_ldap(settings)
        self._check_pairs(settings)
        if self._problems:
            raise SettingsError(self._problems)
        return msgspec.structs.replace(settings, data_directory=data)

    def _check_paths(self, settings: Settings) -> None:
        """Refuse empty paths, which would name the current directory."""
        names = dict(
            zip(settings.__struct_encode_fields__, settings.__struct_fields__, strict=True)
        )
        for name, value in self.values.items():
            if value == "" and isinstance(getattr(settings, names[name]), Path):
                self._problems.append(f"{self.sources[name]} is empty: name a path, or unset it.")

    def _data_directory(self, path: Path) -> Path:
        """Return the absolute path."""
        try:
            return path.expanduser().absolute()
        except RuntimeError:
            origin = self.sources.get("data", variable_of("data"))
            self._problems.append(f"{origin} names an unknown user's home: {str(path)!r}.")
            return path

    def _check_places(self, settings: Settings) -> None:
        """Check hosts and ports, because the libraries fail only when they connect."""
        for name in PLAIN_VARIABLES:
            if _has_bare_sign(getattr(settings, name) or ""):
                self._complain(name, None, "an @ in a name or password in it is written %40")
        for name in PLACES:
            value = getattr(settings, name)
            if (
                value is not None
                and name in self.values
                and not all(map(_is_place, value.split(",")))
            ):
                self._complain(name, value, "its host or its port cannot be")
        if settings.amqp_url and (wrong := _wrong_parameter(settings.amqp_url)):
            self._complain("amqp_url", None, f"its parameter {wrong} is none, or cannot be so")
        if settings.database_url and not re.fullmatch(_ENCODED, settings.database_url):
            self._complain(
                "database_url", None, "a space in it is written %20, and % itself is written %25"
            )

    def _check_addresses(self, settings: Settings) -> None:
        """Check email addresses: mail from an invalid one would not be delivered."""
        wrong: dict[str, str] = {}
        for name, kind in (("mail_from", "mail_address"), ("mail_in_address", "mail_in_pattern")):
            try:
                mailable(getattr(settings, kind).replace("%s", "x"))
            except ValueError:
                # If it is not set, it comes from the name of the server.
                if name in self.values:
                    wrong[name] = ""
                elif "external_url" in self.values:
                    wrong["external_url"] = ""
                else:
                    wrong["host"] = (
                        "no address for mail can be made of it, and PARLEY_EXTERNAL_URL names no"
                        " other"
                    )
        for place, why in wrong.items():
            self._complain(place, self.values[place], why)

    def _check_ldap(self, settings: Settings) -> None:
        """Check that users can be found in the directory: otherwise all sign-ins fail."""
        if settings.ldap_url is None:
            return
        if (settings.ldap_base is None) is (settings.ldap_user_dn is None):
            self._problems.append(
                "PARLEY_LDAP_URL wants either PARLEY_LDAP_BASE, below which people are looked for,"
                " or PARLEY_LDAP_USER_DN, which says how their entries are called."
            )

    def _check_pairs(self, settings: Settings) -> None:
        """Check settings that are only valid together."""
        for one, other in TOGETHER:
            if (getattr(settings, one) is None) is not (getattr(settings, other) is None):
                self._problems.append(
                    f"{variable_of(one)} and {variable_of(other)} go together, and one of them is"
                    " missing."
                )
        for key, certificate in KEYS.items():
            if getattr(settings, key) is not None and getattr(settings, certificate) is None:
                self._problems.append(
                    f"{self.sources[key]} is the key of a certificate, and"
                    f" {variable_of(certificate)} is missing."
                )

    def _explain(self, error: msgspec.ValidationError) -> None:
        complaint = str(error)
        if unknown := re.search(r"unknown field `(.*)`$", complaint, re.DOTALL):
            self._explain_unknown(unknown[1])
            return
        # The last one: before it stands what the setting itself had to say, which may be anything.
        name = re.findall(r"`\$\.(\w+)", complaint)[-1]
        value = self.values.pop(name)
        if name == "data":
            self.values[name] = Path()
        why = error.__cause__
        self._complain(name, value, str(why) if isinstance(why, DescriptionError) else "")

    def _complain(self, name: str, value: object, why: str = "") -> None:
        if name in self._told:
            return
        self._told.add(name)
        shown = "" if name in SECRET_SETTINGS else f", not {value!r}"
        origin = self.sources.get(name, variable_of(name))
        because = f": {why}" if why else ""
        self._problems.append(f"{origin} must be {_expectation(name)}{shown}{because}.")

    def _explain_unknown(self, name: str) -> None:
        del self.values[name]
        similar = difflib.get_close_matches(name, Settings.__struct_encode_fields__, n=1)
        hint = f"; did you mean `{similar[0]}`?" if similar else "."
        self._problems.append(f"{self.sources[name]} is not a setting{hint}")


def _is_plain(text: str) -> bool:
    """Return whether the system accepts it as a name, and others as text."""
    try:
        return b"\0" not in text.encode()
    except UnicodeEncodeError:  # bytes of the environment that are no UTF-8
        return False


def _is_place(place: str) -> bool:
    """Return whether such a host, and such a port if there is one, is possible."""
    try:
        if "://" not in place:
            place.encode("idna")
            return True
        parts = urlsplit(place.strip())
        (parts.hostname or "").encode("idna")
        is_port = parts.port != 0
    except ValueError:  # UnicodeError is one
        return False
    return is_port


def _has_bare_sign(url: str) -> bool:
    """Return whether more than one @ stands before the path.

    The end of a password would be sent to resolvers and logs, as the name of an unknown host.
    """
    return re.split(r"[/?#]", url.partition("://")[2])[0].count("@") > 1


def _wrong_parameter(url: str) -> str | None:
    """Return the first invalid parameter in the URL of a broker."""
    given = parse_qsl(urlsplit(url.strip()).query)
    if not given:
        return None
    from pika import URLParameters  # most addresses have none, and commands start faster without

    for number, (name, value) in enumerate(given):
        try:
            URLParameters(f"amqps://?{urlencode({name: value})}")
        except (ValueError, TypeError, SyntaxError, OSError):  # some values are files, or Python
            return repr(name)
        if name in dict(given[:number]):
            return repr(name)
    return None


def _decode(kind: type, value: object) -> object:
    """Build the types that msgspec does not know, from any TOML value.

    Raises ValueError or TypeError, to which msgspec adds the place.
    """
    try:
        return kind(value)
    except AttributeError as error:  # of what is no text
        raise TypeError(str(error)) from error


def _expectation(name: str) -> str:
    """Return how the sentence "NAME must be ..." ends."""
    fields = msgspec.inspect.type_info(Settings).fields  # type: ignore[attr-defined]
    kind = next(field.type for field in fields if field.encode_name == name)
    extra: dict[str, Any] = getattr(kind, "extra_json_schema", None) or {}
    return str(extra.get("description", "something else"))

"""Reads settings from the environment, from one TOML file and from files of secrets."""

import difflib
import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from server.domain.addresses import mailable
from server.settings.declared import PLAIN_VARIABLES, SECRET_SETTINGS, Settings

ENVIRONMENT_PREFIX = "PARLEY_"
CONFIG_VARIABLE = "PARLEY_CONFIG"

WORDS_FOR_BOOLEANS = {"on": True, "yes": True, "off": False, "no": False}


class SettingsError(Exception):
    """The settings are wrong. `problems` holds one sentence for each thing that is."""

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
    base = environ.get("XDG_DATA_HOME") or Path(environ.get("HOME") or "~") / ".local/share"
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
        data = self._data_directory(settings.data_directory)
        self._check_addresses(settings)
        self._check_ldap(settings)
        if (settings.saml_certificate is None) is not (settings.saml_key is None):
            self._problems.append(
                "PARLEY_SAML_CERTIFICATE and PARLEY_SAML_KEY go together, and one of them is"
                " missing."
            )
        if self._problems:
            raise SettingsError(self._problems)
        return msgspec.structs.replace(settings, data_directory=data)

    def _data_directory(self, path: Path) -> Path:
        """The path from the root on, whatever it was written like."""
        try:
            return path.expanduser().absolute()
        except RuntimeError:
            origin = self._origins.get("data", variable_of("data"))
            self._problems.append(f"{origin} names the home of nobody: {str(path)!r}.")
            return path

    def _check_addresses(self, settings: Settings) -> None:
        """Mail from an address, or with one, that cannot be written would reach nobody."""
        wrong = {}
        for name, kind in (("mail_from", "mail_address"), ("mail_in_address", "mail_in_pattern")):
            try:
                mailable(getattr(settings, kind).replace("%s", "x"))
            except ValueError:
                # Where nobody has set it, it comes from the name of the server.
                place = name if name in self.values else "external_url"
                wrong[place] = self.values.get(place)
        for place, value in wrong.items():
            self._complain(place, value)

    def _check_ldap(self, settings: Settings) -> None:
        """A directory in which nobody can be found would let nobody in."""
        if settings.ldap_url is None:
            return
        if (settings.ldap_base is None) is (settings.ldap_user_dn is None):
            self._problems.append(
                "PARLEY_LDAP_URL wants either PARLEY_LDAP_BASE, below which people are looked for,"
                " or PARLEY_LDAP_USER_DN, which says how their entries are called."
            )
        if (settings.ldap_bind_dn is None) is not (settings.ldap_bind_password is None):
            self._problems.append(
                "PARLEY_LDAP_BIND_DN and PARLEY_LDAP_BIND_PASSWORD go together, and one of them is"
                " missing."
            )

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
        self._complain(name, value)

    def _complain(self, name: str, value: object) -> None:
        shown = "" if name in SECRET_SETTINGS else f", not {value!r}"
        origin = self._origins.get(name, variable_of(name))
        self._problems.append(f"{origin} must be {_expectation(name)}{shown}.")

    def _explain_unknown(self, name: str) -> None:
        del self.values[name]
        similar = difflib.get_close_matches(name, Settings.__struct_encode_fields__, n=1)
        hint = f"; did you mean `{similar[0]}`?" if similar else "."
        self._problems.append(f"{self._origins[name]} is not a setting{hint}")


def _decode(kind: type, value: object) -> object:
    """Build the types that msgspec does not know."""
    return kind(value)


def _expectation(name: str) -> str:
    """How the sentence "NAME must be ..." ends."""
    fields = msgspec.inspect.type_info(Settings).fields  # type: ignore[attr-defined]
    kind = next(field.type for field in fields if field.encode_name == name)
    extra: dict[str, Any] = getattr(kind, "extra_json_schema", None) or {}
    return str(extra.get("description", "something else"))

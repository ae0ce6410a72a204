"""Settings come from the command line, the environment or a file, and say what is wrong."""

import json
from contextlib import suppress
from pathlib import Path

import pytest

from server.domain.access import ROLE_NAMES
from server.settings import (
    Settings,
    SettingsError,
    default_data_directory,
    load_settings,
    unused_variables,
)
from server.settings.network_types import Networks


def problems(**sources) -> list[str]:
    with pytest.raises(SettingsError) as caught:
        load_settings(**{"environ": {}, **sources})
    return caught.value.problems


def test_nothing_set_is_a_private_server_for_this_machine():
    settings = load_settings(environ={"HOME": "/home/ada"})

    assert settings.embedded
    assert settings.amqp_url is None
    assert settings.rate_limits
    assert not settings.development
    assert not settings.gravatars
    assert settings.public_url == "http://localhost:9991"


def test_command_line_wins_over_environment_wins_over_file(tmp_path: Path):
    file = tmp_path / "parley.toml"
    file.write_text('host = "file"\nport = 1\nprocesses = 4\n')

    settings = load_settings(
        config=file,
        environ={"PARLEY_HOST": "environment", "PARLEY_PORT": "2"},
        overrides={"port": 3, "host": None},
    )

    assert (settings.host, settings.port, settings.processes) == ("environment", 3, 4)


def test_the_environment_names_the_file(tmp_path: Path):
    file = tmp_path / "parley.toml"
    file.write_text("port = 1234\n")

    assert load_settings(environ={"PARLEY_CONFIG": str(file)}).port == 1234


@pytest.mark.parametrize(
    ("word", "value"), [("on", True), ("off", False), ("true", True), ("0", False), ("No", False)]
)
def test_switches_understand_words(word: str, *, value: bool):
    assert load_settings(environ={"PARLEY_RATE_LIMITS": word}).rate_limits is value


@pytest.mark.parametrize("variable", ["DATABASE_URL_FILE", "PARLEY_ROOT_DOMAIN_FILE"])
def test_a_value_may_come_from_a_file(tmp_path: Path, variable: str):
    file = tmp_path / "secret"
    value = "postgresql://a@b/c" if variable.startswith("DATABASE") else "chat.example.com"
    file.write_text(value + "\n")

    settings = load_settings(environ={variable: str(file)})

    assert value in {settings.database_url, settings.root_domain}


def test_the_file_may_name_files_with_secrets(tmp_path: Path):
    (tmp_path / "secret").write_text("amqp://guest:guest@localhost\n")
    file = tmp_path / "parley.toml"
    file.write_text(f'amqp_url_file = "{tmp_path}/secret"\n')

    assert load_settings(environ={}, config=file).amqp_url == "amqp://guest:guest@localhost"


def test_every_problem_is_told_at_once(tmp_path: Path):
    file = tmp_path / "parley.toml"
    file.write_text("prot = 80\nprocesses = 0\n")

    found = problems(
        config=file,
        environ={
            "PARLEY_PORT": "eighty",
            "PARLEY_LOG_LEVEL": "loud",
            "PARLEY_TRUSTED_PROXIES": "x",
            "DATABASE_URL": "mysql://parley:canary@db/parley",
            "PARLEY_RATE_LIMIT": "off",
            "AMQP_URL_FILE": str(tmp_path / "missing"),
        },
    )

    assert set(found) == {
        f"`prot` in {file} is not a setting; did you mean `port`?",
        f"`processes` in {file} must be a number from 1 to 64, not 0.",
        "PARLEY_PORT must be a port from 0 to 65535 (0: a free one), not 'eighty'.",
        "PARLEY_LOG_LEVEL must be debug, info, warning or error, not 'loud'.",
        "PARLEY_TRUSTED_PROXIES must be networks like 10.0.0.0/8, separated by commas, not 'x'.",
        "DATABASE_URL must be an address that starts with postgresql://.",
        "PARLEY_RATE_LIMIT is not a setting; did you mean PARLEY_RATE_LIMITS?",
        f"AMQP_URL_FILE names {tmp_path}/missing, but: No such file or directory.",
    }


def test_a_broken_file_is_one_problem(tmp_path: Path):
    file = tmp_path / "parley.toml"
    file.write_text("port = \n")

    assert [f"The settings file {file} is not valid TOML"] == [
        problem.split(":")[0] for problem in problems(config=file)
    ]
    assert problems(config=tmp_path / "none") == [
        f"The settings file {tmp_path}/none cannot be read: No such file or directory."
    ]


def test_unused_variables_are_found():
    environ = {"PARLEY_SERVICE_HOST": "x", "PARLEY_PORT": "1", "PARLEY_PORT_FILE": "x", "HOME": "/"}

    assert unused_variables(environ) == ["PARLEY_SERVICE_HOST"]


def test_settings_never_show_their_secrets():
    settings = load_settings(
        environ={
            "DATABASE_URL": "postgresql://parley:can%40ary@db/parley?password=other",
            "AMQP_URL": "amqp://guest:third@localhost",
        }
    )

    assert set(settings.secrets) == {"can%40ary", "can@ary", "other", "third"}
    assert not [secret for secret in settings.secrets if secret in repr(settings)]


def test_settings_cannot_change():
    with pytest.raises(AttributeError):
        load_settings(environ={}).port = 1  # type: ignore[misc]


def test_networks_contain_addresses():
    networks = Networks("10.0.0.0/8, 2001:db8::/32 127.0.0.1")

    assert "10.1.2.3" in networks
    assert "2001:db8::1" in networks
    assert "127.0.0.1" in networks
    assert "11.0.0.1" not in networks
    assert "not an address" not in networks
    assert not Networks()


@pytest.mark.parametrize(
    ("environ", "url"),
    [
        ({"PARLEY_HOST": "0.0.0.0"}, "http://localhost:9991"),
        ({"PARLEY_HOST": "10.0.0.7", "PARLEY_PORT": "80"}, "http://10.0.0.7:80"),
        ({"PARLEY_HOST": "2001:db8::1"}, "http://[2001:db8::1]:9991"),
        ({"PARLEY_EXTERNAL_URL": "https://chat.example.com/"}, "https://chat.example.com"),
    ],
)
def test_the_public_address(environ: dict[str, str], url: str):
    assert load_settings(environ=environ).public_url == url


@pytest.mark.parametrize(
    ("uid", "environ", "directory"),
    [
        (0, {"HOME": "/root"}, "/var/lib/parley"),
        (0, {"HOME": "/root", "XDG_DATA_HOME": "/x"}, "/x/parley"),
        (1000, {"HOME": "/home/ada"}, "/home/ada/.local/share/parley"),
        (1000, {"HOME": "/home/ada", "XDG_DATA_HOME": "/x"}, "/x/parley"),
        (1000, {"HOME": "/home/ada", "XDG_DATA_HOME": ""}, "/home/ada/.local/share/parley"),
    ],
)
def test_data_lives_where_the_user_keeps_data(
    uid: int, environ: dict[str, str], directory: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("os.geteuid", lambda: uid)
    assert default_data_directory(environ) == Path(directory)


def test_the_data_directory_is_a_path_from_the_root_on(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOME", "/home/ada")
    settings = load_settings(environ={"PARLEY_DATA": "~/chat"})
    assert settings.data_directory == Path("/home/ada/chat")
    assert settings.files == Path("/home/ada/chat/files")
    assert load_settings(environ={"PARLEY_DATA": "chat"}).data_directory == Path.cwd() / "chat"
    with pytest.raises(
        SettingsError, match="PARLEY_DATA names an unknown user's home: '~nobody-here"
    ):
        load_settings(environ={"PARLEY_DATA": "~nobody-here/chat"})


def test_where_the_server_goes_for_strangers_is_networks_and_names():
    settings = load_settings(
        environ={
            "PARLEY_EGRESS_ALLOW": "10.0.0.0/8, Bots.internal fd00::1",
            "PARLEY_EGRESS_PORTS": "443, 8443",
            "PARLEY_EGRESS_PROXY": "http://name:pass%21word@proxy.internal:3128",
        }
    )
    allowed = settings.egress_allow
    assert "10.9.8.7" in allowed.networks
    assert "fd00::1" in allowed.networks
    assert list(allowed.hosts) == ["bots.internal"]
    assert sorted(settings.egress_ports) == [443, 8443]
    assert {"pass!word", "pass%21word"} <= set(settings.secrets)
    assert "proxy.internal" not in repr(settings)


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("PARLEY_EGRESS_ALLOW", "http://bots.internal"),
        ("PARLEY_EGRESS_ALLOW", "10.0.0.1/8"),
        ("PARLEY_EGRESS_PORTS", "http"),
        ("PARLEY_EGRESS_PORTS", "80, 0"),
        ("PARLEY_EGRESS_PORTS", "65536"),
        ("PARLEY_EGRESS_PROXY", "socks5://proxy.internal"),
    ],
)
def test_where_it_goes_must_be_sound(variable: str, value: str):
    [problem] = problems(environ={variable: value})
    assert problem.startswith(f"{variable} must be ")


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("PARLEY_MAIL_FROM", "a..b@example.com"),
        ("PARLEY_MAIL_FROM", "parley@example..com"),
        ("PARLEY_MAIL_FROM", "grüße@example.com"),
        ("PARLEY_MAIL_IN_ADDRESS", ".%s@example.com"),
        ("PARLEY_MAIL_IN_ADDRESS", "%s@example..com"),
        ("PARLEY_EXTERNAL_URL", "https://example..com"),
    ],
)
def test_addresses_that_no_mail_can_have_are_wrong(variable: str, value: str):
    [problem] = problems(environ={variable: value})
    assert problem.startswith(f"{variable} must be ")
    assert problem.endswith(f", not '{value}'.")


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("bücher.example", "noreply@xn--bcher-kva.example"),
        ("10.0.0.1", "noreply@10.0.0.1"),
        ("[::1]", "noreply@[IPv6:::1]"),
    ],
)
def test_mail_comes_from_the_name_of_the_server(host: str, address: str):
    settings = load_settings(environ={"PARLEY_EXTERNAL_URL": f"https://{host}:8443"})
    assert settings.mail_address == address


@pytest.mark.parametrize(
    ("environ", "contact"),
    [
        ({"PARLEY_EXTERNAL_URL": "https://chat.example.com"}, "https://chat.example.com"),
        ({"PARLEY_EXTERNAL_URL": "http://chat.example.com"}, "mailto:noreply@chat.example.com"),
        ({"PARLEY_WEB_PUSH_CONTACT": "mailto:a@example.com"}, "mailto:a@example.com"),
        ({"PARLEY_WEB_PUSH_CONTACT": "https://example.com/a"}, "https://example.com/a"),
    ],
)
def test_push_services_get_a_contact(environ: dict[str, str], contact: str):
    assert load_settings(environ=environ).push_contact == contact


@pytest.mark.parametrize("value", ["a@example.com", "mailto:a", "http://example.com", "https://"])
def test_a_contact_of_another_kind_is_wrong(value: str):
    [problem] = problems(environ={"PARLEY_WEB_PUSH_CONTACT": value})
    assert problem.startswith("PARLEY_WEB_PUSH_CONTACT must be ")


LDAP = {"PARLEY_LDAP_URL": "ldaps://a.example, ldap://b.example:1389/", "PARLEY_LDAP_BASE": "dc=a"}


def test_a_directory_needs_a_place_for_people():
    assert load_settings(environ=LDAP).ldap_starttls
    for wrong in ({"PARLEY_LDAP_BASE": None}, {"PARLEY_LDAP_USER_DN": "uid=%s,dc=a"}):
        environ = {name: text for name, text in {**LDAP, **wrong}.items() if text is not None}
        [problem] = problems(environ=environ)
        assert "either PARLEY_LDAP_BASE" in problem
    [problem] = problems(environ={**LDAP, "PARLEY_LDAP_BIND_DN": "cn=a"})
    assert "go together" in problem


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("URL", "ldap.example.com"),
        ("URL", "ldaps://a.example,"),
        ("FILTER", "uid=%s"),
        ("FILTER", "(uid=ada)"),
        ("USER_DN", "uid=ada,dc=a"),
        ("USER_DN", "%s"),
        ("NAME_ATTRIBUTE", "c n"),
        ("EMAIL_DOMAIN", "@example.com"),
        ("TIMEOUT_SECONDS", "0"),
    ],
)
def test_a_directory_is_described_as_it_can_be_used(name: str, value: str):
    [problem] = problems(environ={**LDAP, f"PARLEY_LDAP_{name}": value})
    assert problem.startswith(f"PARLEY_LDAP_{name} must be ")


def test_the_password_for_a_directory_is_a_secret(tmp_path: Path):
    (tmp_path / "password").write_text("directory canary\n")
    file = {"PARLEY_LDAP_BIND_PASSWORD_FILE": str(tmp_path / "password")}
    settings = load_settings(environ={**LDAP, **file, "PARLEY_LDAP_BIND_DN": "cn=a"})
    assert settings.ldap_bind_password == "directory canary"
    assert "directory canary" not in repr(settings)
    assert "directory canary" in settings.secrets


def test_a_certificate_for_saml_has_a_key(tmp_path: Path):
    for name, kind in (("certificate", "CERTIFICATE"), ("key", "RSA PRIVATE KEY")):
        (tmp_path / name).write_text(f"-----BEGIN {kind}-----\ncanary\n-----END {kind}-----\n")
    certificate = {"PARLEY_SAML_CERTIFICATE_FILE": str(tmp_path / "certificate")}
    key = {"PARLEY_SAML_KEY_FILE": str(tmp_path / "key")}
    assert "go together" in problems(environ=certificate)[0]
    assert "go together" in problems(environ=key)[0]
    settings = load_settings(environ={**certificate, **key})
    assert settings.saml_key in settings.secrets
    assert "RSA" not in repr(settings)
    problem, _ = problems(environ={**certificate, "PARLEY_SAML_KEY": "canary"})
    assert problem == "PARLEY_SAML_KEY must be a private key in PEM."


PROVIDER = {"client_id": "x", "client_secret": "canary", "issuer": "https://id.example.com"}
FORUM = {
    "kind": "oauth2",
    "client_id": "x",
    "client_secret": "canary",
    **{f"{name}_url": "https://x" for name in ("authorize", "token", "user")},
}
WEB_ADDRESS = "must be an address that starts with https://"
SAML = {"kind": "saml", "entity_id": "x", "sign_in_url": "https://x", "certificate": "MA=="}


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ("foo", "it is not JSON"),
        ("[" * 100_000, "it is not JSON"),
        ([1], "it is not a table"),
        ({"google": "canary"}, "`google` is not a table"),
        ({"": {}}, '`""` must be lower-case letters, digits and hyphens'),
        ({"x": {}}, "`client_id` of `x` is missing"),
        ({"x": {**PROVIDER, "client_id": 1}}, "`client_id` of `x` must be text"),
        ({"x": {**PROVIDER, "client_secret": ""}}, "`client_secret` of `x` is missing"),
        ({"x": {**PROVIDER, "issuer": ""}}, "`issuer` of `x` is missing"),
        (
            {"x": {**PROVIDER, "issuer": "http://["}},
            f"`issuer` of `x` {WEB_ADDRESS}",
        ),
        (
            {"x": {**PROVIDER, "trusts_addresses": "canary"}},
            "`trusts_addresses` of `x` must be true or false",
        ),
        ({"x": {**PROVIDER, "kind": "oidc"}}, "`kind` of `x` must be one of oauth2, saml"),
        ({"oauth2": PROVIDER}, "`kind` of `oauth2` must be oauth2"),
        ({"x": {**FORUM, "user_url": "me"}}, f"`user_url` of `x` {WEB_ADDRESS}"),
        ({"x": {**FORUM, "email_field": ""}}, "`email_field` of `x` is empty"),
        ({"saml": PROVIDER}, "`kind` of `saml` must be saml"),
        (
            {"apple": {"client_id": "x", "team_id": "y"}},
            "`key_id` of `apple` is missing, and so is `client_secret`",
        ),
        ({"idp": {"kind": "saml"}}, "`entity_id` of `idp` is missing"),
        (
            {"idp": {**SAML, "certificate": "é"}},
            "`certificate` of `idp` must be a certificate in PEM",
        ),
        ({"idp": {**SAML, "domains": 1}}, "`domains` of `idp` must be a list of texts"),
        ({"idp": {**SAML, "groups": 1}}, "`groups` of `idp` must be a table of texts"),
        ({"idp": {**SAML, "groups": {"a": 1}}}, "`groups` of `idp` must be a table of texts"),
        ({"idp": {**SAML, "groups": {"a": ""}}}, "`groups` of `idp` has an empty name"),
        (
            {"idp": {**SAML, "roles": {"a": "god"}}},
            (
                "`roles` of `idp` is wrong: `god` is no role:"
                f" it must be one of {', '.join(ROLE_NAMES)}"
            ),
        ),
        (
            {"github": {**PROVIDER, "roles": {"a": "guest"}}},
            "`roles` of `github` cannot be: it asserts no groups",
        ),
    ],
)
def test_what_is_wrong_with_a_provider_is_said(given: object, why: str):
    text = given if isinstance(given, str) else json.dumps(given)
    [problem] = problems(environ={"PARLEY_SIGN_IN_PROVIDERS": text})
    assert problem == (
        "PARLEY_SIGN_IN_PROVIDERS must be providers to sign in with, as docs/sign-in.md says:"
        f" {why}."
    )


def test_fields_that_a_provider_may_have_are_named(tmp_path: Path):
    file = tmp_path / "parley.toml"
    file.write_text('[sign_in_providers.google]\nclient_id = "x"\nclient_secrte = "canary"\n')
    [problem] = problems(config=file)
    assert problem.startswith(f"`sign_in_providers` in {file} must be providers to sign in with")
    assert "`client_secrte` of `google` is not known; it may have `client_id`, `client_s" in problem
    assert "canary" not in problem


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"": 1}, '`""` is not a table'),
        ({"": {}}, '`key` of `""` is missing'),
        ({"chat": {"key": "short"}}, "`key` of `chat` must have at least 32 characters"),
        (
            {"chat": {"key": "x" * 31, "algorithm": "HS512"}},
            "`key` of `chat` must have at least 32 characters",
        ),
        (
            {"chat": {"key": "x" * 32, "algorithm": "RS256"}},
            "`key` of `chat` must be a public key in PEM for RS256",
        ),
        (
            {"chat": {"key": "x" * 32, "algorithm": "none"}},
            "`algorithm` of `chat` must be one of HS256, HS512, RS256, PS256, ES256, EdDSA",
        ),
    ],
)
def test_what_is_wrong_with_a_key_for_tokens_is_said(given: object, why: str):
    assert problems(environ={"PARLEY_JWT_KEYS": json.dumps(given)}) == [
        f"PARLEY_JWT_KEYS must be keys by subdomain, as docs/sign-in.md says: {why}."
    ]


def test_whatever_toml_has_is_a_value_or_a_sentence(tmp_path: Path):
    file = tmp_path / "parley.toml"
    values = ('"x"', '""', r'"\u0000"', "5", "-1.5", "nan", "true", "1979-05-27", "[]", "[1]")
    names = (*Settings.__struct_encode_fields__, "operator_password_file", "nothing")
    for value in (*values, "[[]]", "{}", "{x = 1}", "{x = {}}", '{"" = []}'):
        file.write_text("".join(f"{name} = {value}\n" for name in names))
        with suppress(SettingsError):
            load_settings(environ={}, config=file)


@pytest.mark.parametrize("value", ["\0", "x\0", "\udcff"])
@pytest.mark.parametrize("name", ["host", "port", "data", "operator_password"])
def test_settings_are_text(name: str, value: str):
    assert problems(overrides={name: value}) == [
        f"--{name.replace('_', '-')} must be text in UTF-8 without NUL characters."
    ]


def test_a_file_of_a_secret_that_is_no_text_is_named(tmp_path: Path):
    file = tmp_path / "secret"
    file.write_bytes(b"\xff\xfe" * 20)
    assert problems(environ={"PARLEY_OPERATOR_PASSWORD_FILE": str(file)}) == [
        f"PARLEY_OPERATOR_PASSWORD_FILE names {file}, which is not text in UTF-8: write it anew."
    ]


def test_a_key_needs_its_certificate():
    for key, certificate in (
        ("PARLEY_CERTIFICATE_KEY", "PARLEY_CERTIFICATE"),
        ("PARLEY_MAIL_IN_KEY", "PARLEY_MAIL_IN_CERTIFICATE"),
    ):
        assert problems(environ={key: "/key"}) == [
            f"{key} is the key of a certificate, and {certificate} is missing."
        ]


def test_a_host_that_is_none_is_blamed_itself():
    [problem] = problems(overrides={"host": "[::1]"})
    assert problem.startswith("--host must be an address of this machine to listen on, not '[::1]'")
    assert "PARLEY_EXTERNAL_URL names no other" in problem


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("AMQP_URL", "amqp://canary:canary@rabbit:99999/"),
        ("PARLEY_BIGBLUEBUTTON_URL", "https://["),
        ("PARLEY_EGRESS_PROXY", "http://proxy:abc"),
        ("PARLEY_EXTERNAL_URL", "https://chat.example.com:99999"),
        ("PARLEY_LDAP_URL", "ldaps://ldap.example.com, ldap://other.example.com:x"),
        ("PARLEY_LDAP_URL", "ldaps://ldap..example.com"),
        ("PARLEY_S3_ENDPOINT", "https://s3.example.com:0"),
        ("AMQP_URL", "amqp://guest:canary@rabbit/?heartbeat=abc"),
        ("AMQP_URL", "amqp://guest:canary@rabbit/?heartbeat=1&heartbeat=2"),
        ("AMQP_URL", "amqp://guest:canary@rabbit/?foo=canary"),
        ("AMQP_URL", "amqps://guest:canary@rabbit/?ssl_options={'cafile':'/missing/canary'}"),
        ("AMQP_URL", "amqps://guest:canary@rabbit/?client_properties=("),
        ("PARLEY_SMTP_HOST", "mail..example.com"),
        ("DATABASE_URL", "postgresql://parley:canary 7@db/parley"),
        ("DATABASE_URL", "postgresql://parley:canary%7@db/parley"),
    ],
)
def test_places_that_cannot_be_are_said(variable: str, value: str):
    problem = problems(environ={**LDAP, variable: value})[0]
    assert problem.startswith(f"{variable} must be ")
    assert "canary" not in problem


@pytest.mark.parametrize("variable", ["DATABASE_URL", "AMQP_URL"])
def test_a_sign_in_a_password_is_no_part_of_the_host(variable: str):
    scheme = "postgresql" if variable.startswith("DATABASE") else "amqp"
    [problem] = problems(environ={variable: f"{scheme}://u:can@ary@127.0.0.1:5432/x"})
    assert problem.startswith(f"{variable} must be an address that starts with {scheme}://")
    assert problem.endswith(": an @ in a name or password in it is written %40.")
    assert "ary" not in problem
    load_settings(environ={variable: f"{scheme}://u:can%40ary@127.0.0.1:5432/x%40y"})


def test_a_parameter_of_the_brokers_address_that_is_none_is_named():
    [problem] = problems(environ={"AMQP_URL": "amqp://a:canary@rabbit/?heartbeat=5&foo=abc"})
    assert problem == (
        "AMQP_URL must be an address that starts with amqp:// or amqps://:"
        " its parameter 'foo' is none, or cannot be so."
    )


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("DATABASE_URL", "postgresql://parley:a%20b@db:5432,other:5433/parley?host=%2Frun"),
        ("DATABASE_URL", "postgresql:///parley"),
        ("AMQP_URL", "amqp://"),
        ("AMQP_URL", "amqps://a:b@[::1]:5671/%2F"),
        ("AMQP_URL", "amqps://a:b@rabbit/?heartbeat=30&blocked_connection_timeout=5.5"),
        ("PARLEY_LDAP_URL", "ldaps://[::1]:636/, ldap://localhost"),
        ("PARLEY_SMTP_HOST", "::1"),
        ("PARLEY_SMTP_HOST", "mail.example.com."),
        ("PARLEY_EXTERNAL_URL", "https://bücher.example:8443/"),
    ],
)
def test_places_of_every_kind_are_taken(variable: str, value: str):
    load_settings(environ={**LDAP, variable: value})


@pytest.mark.parametrize("variable", ["PARLEY_DATA", "PARLEY_LDAP_CA"])
def test_an_empty_path_is_not_the_current_directory(variable: str):
    with pytest.raises(SettingsError, match=f"{variable} is empty"):
        load_settings(environ={variable: ""})

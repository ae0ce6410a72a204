"""A directory of people: OpenLDAP, with a configuration and data of its own, on loopback."""

import shutil
import socket
import socketserver
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ldap3
import pytest
from typing_extensions import override

from testkit.free_ports import free_port
from testkit.services.mail_server import Certificate
from testkit.test_services import DIRECTORY_SERVER, PROGRAMS

SUFFIX = "dc=example,dc=com"
PEOPLE = f"ou=people,{SUFFIX}"
GROUPS = f"ou=groups,{SUFFIX}"
READER, READER_PASSWORD = f"cn=parley,{SUFFIX}", "reader password canary"
LISTER = f"cn=lister,{SUFFIX}"
"""Has the password of the reader, and no limit of size, which is 500 for all others."""
ADMIN, ADMIN_PASSWORD = f"cn=admin,{SUFFIX}", "admin"
START_SECONDS = 60

CONFIGURATION = """
include {schema}/core.schema
include {schema}/cosine.schema
include {schema}/inetorgperson.schema
include {schema}/nis.schema
modulepath {modules}
moduleload back_mdb
moduleload memberof
pidfile {folder}/slapd.pid
TLSCertificateFile {certificate}/certificate.pem
TLSCertificateKeyFile {certificate}/key.pem
database mdb
maxsize 16777216
suffix "{suffix}"
rootdn "{admin}"
rootpw {admin_password}
directory {folder}/data
overlay memberof
access to attrs=userPassword by anonymous auth by * none
access to * by dn.exact="{reader}" read by dn.exact="{lister}" read by self read by * none
limits dn.exact="{lister}" size=unlimited
"""

ENTRIES = f"""
dn: {SUFFIX}
objectClass: organization
objectClass: dcObject
o: Example
dc: example

dn: {READER}
objectClass: organizationalRole
objectClass: simpleSecurityObject
cn: parley
userPassword: {READER_PASSWORD}

dn: {LISTER}
objectClass: organizationalRole
objectClass: simpleSecurityObject
cn: lister
userPassword: {READER_PASSWORD}

dn: {PEOPLE}
objectClass: organizationalUnit
ou: people

dn: {GROUPS}
objectClass: organizationalUnit
ou: groups
"""


@dataclass(frozen=True)
class People:
    """The running directory; `put` and `remove` change who is in it."""

    port: int
    tls_port: int

    @property
    def url(self) -> str:
        return f"ldap://127.0.0.1:{self.port}"

    @property
    def tls_url(self) -> str:
        return f"ldaps://127.0.0.1:{self.tls_port}"

    def put(self, uid: str, password: str | None, /, **attributes: Any) -> str:
        """Add or replace the entry of this user; returns its DN."""
        dn = f"uid={uid},{PEOPLE}"
        facts = {"cn": uid.title(), "sn": uid, **attributes}
        if password is not None:
            facts["userPassword"] = password
        with self._changing() as connection:
            connection.delete(dn)
            assert connection.add(dn, "inetOrgPerson", facts), connection.result
        return dn

    def put_many(self, people: Mapping[str, Mapping[str, Any]]) -> None:
        """Add people without passwords, by their names."""
        with self._changing() as connection:
            for uid, attributes in people.items():
                facts = {"cn": uid, "sn": uid, **attributes}
                dn = f"uid={uid},{PEOPLE}"
                assert connection.add(dn, "inetOrgPerson", facts), connection.result

    def change(self, uid: str, /, **attributes: Any) -> None:
        """Their entry is the same, with other attributes."""
        changes = {
            name: [(ldap3.MODIFY_REPLACE, value if isinstance(value, list) else [value])]
            for name, value in attributes.items()
        }
        with self._changing() as connection:
            assert connection.modify(f"uid={uid},{PEOPLE}", changes), connection.result

    def put_group(self, cn: str, /, *uids: str) -> str:
        """Add or replace the group of these users, or delete it without any; returns its DN."""
        dn = f"cn={cn},{GROUPS}"
        members = [f"uid={uid},{PEOPLE}" for uid in uids]
        with self._changing() as connection:
            connection.delete(dn)
            if members:
                assert connection.add(dn, "groupOfNames", {"member": members}), connection.result
        return dn

    def put_posix_group(self, cn: str, number: int, /, *uids: str) -> str:
        """Add the group of users with these names; returns its DN."""
        dn = f"cn={cn},{GROUPS}"
        facts = {"gidNumber": number, "memberUid": list(uids)}
        with self._changing() as connection:
            assert connection.add(dn, "posixGroup", facts), connection.result
        return dn

    def remove(self, uid: str) -> None:
        """Delete the entry of this user."""
        with self._changing() as connection:
            assert connection.delete(f"uid={uid},{PEOPLE}"), connection.result

    def empty(self) -> None:
        """Delete all people and groups."""
        with self._changing() as connection:
            for base, wanted in ((GROUPS, "(cn=*)"), (PEOPLE, "(uid=*)")):
                connection.search(base, wanted, search_scope=ldap3.LEVEL)
                for each in connection.response:
                    connection.delete(each["dn"])

    @contextmanager
    def _changing(self) -> Iterator[Any]:
        server = ldap3.Server("127.0.0.1", self.port, get_info=ldap3.NONE)
        connection = ldap3.Connection(server, ADMIN, ADMIN_PASSWORD, auto_bind=True)
        try:
            yield connection
        finally:
            connection.unbind()


@pytest.fixture(scope="session")
def running_directory(
    tmp_path_factory: pytest.TempPathFactory, certificate: Certificate
) -> Iterator[People]:
    folder = tmp_path_factory.mktemp("directory")
    (folder / "data").mkdir()
    root = DIRECTORY_SERVER if DIRECTORY_SERVER.exists() else Path("/")
    program = shutil.which("slapd", path=f"{root}/usr/sbin:{PROGRAMS}")
    assert program, "slapd is not installed: ./scripts/test installs it"
    configuration = folder / "slapd.conf"
    configuration.write_text(
        CONFIGURATION.format(
            schema=root / "etc/ldap/schema",
            modules=root / "usr/lib/ldap",
            folder=folder,
            certificate=certificate.folder,
            suffix=SUFFIX,
            admin=ADMIN,
            admin_password=ADMIN_PASSWORD,
            reader=READER,
            lister=LISTER,
        )
    )
    libraries = ":".join(map(str, root.glob("usr/lib/*-linux-gnu")))
    environment = {"LD_LIBRARY_PATH": libraries}
    entries = folder / "entries.ldif"
    entries.write_text(ENTRIES)
    subprocess.run(
        [program, "-T", "add", "-f", str(configuration), "-l", str(entries)],
        env=environment,
        check=True,
    )
    people = People(free_port(), free_port())
    places = f"{people.url} {people.tls_url}"
    command = [program, "-d", "0", "-f", str(configuration), "-h", places]
    with subprocess.Popen(command, env=environment) as process:
        try:
            _wait_for(people.port, process)
            yield people
        finally:
            process.terminate()


@pytest.fixture
def people(running_directory: People) -> Iterator[People]:
    """The directory, without people at first."""
    yield running_directory
    running_directory.empty()


@pytest.fixture
def no_directory() -> Iterator[str]:
    """The address of a server that speaks HTTP, as if it were a directory."""

    class Refusing(socketserver.BaseRequestHandler):
        @override
        def handle(self) -> None:
            self.request.recv(4096)
            self.request.sendall(
                b"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\n\r\n" * 4
            )

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Refusing) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"ldap://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def _wait_for(port: int, process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            assert process.poll() is None, "slapd has ended"
            assert time.monotonic() < deadline, "slapd does not listen"
            time.sleep(0.05)
        else:
            return

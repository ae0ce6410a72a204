"""What a process loads to start: rarely needed libraries are loaded with their first use."""

import subprocess
import sys

START = "import queue_processors.registry, scripts.cli.process, sys; print(*sys.modules)"
LATER = {
    *("aiosmtpd", "aiosmtplib", "cryptography", "css_inline", "disposable_email_domains"),
    *("html_to_markdown", "httpcore", "httpx", "jinja2", "joserfc", "ldap3", "lxml"),
    *("math_core", "nacl", "obstore", "onelogin", "pika", "PIL", "quotequail", "xmlsec", "zxcvbn"),
}


def test_a_start_loads_no_library_that_most_processes_never_use():
    started = subprocess.run(
        [sys.executable, "-c", START], capture_output=True, text=True, check=True
    )
    loaded = set(started.stdout.split())
    assert "tornado" in loaded
    assert loaded & LATER == set()

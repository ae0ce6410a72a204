"""The ready files of docs/deploy name what there is: metrics, settings, commands."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from scripts.cli.main import cli
from server.settings import Settings, variable_of
from server.telemetry.metrics import Metrics
from testkit.clients.server import Server
from testkit.sources import ROOT

DEPLOY = ROOT / "docs" / "deploy"
RULES = DEPLOY / "prometheus-rules.yml"
DASHBOARD = DEPLOY / "grafana-dashboard.json"
NOT_OURS = {"up"}
"""What Prometheus itself knows of what it asks."""
NAME = re.compile(r"\b(?:parley|process)_[a-z_]+\b|\bup\b")


def exported() -> set[str]:
    """The names of all samples that a process can tell of."""
    metrics = Metrics()
    metrics.request(method="GET", endpoint="/x", status=200, seconds=1)
    metrics.handed_out("x")
    metrics.answered("x", "done")
    metrics.done("x", 1)
    metrics.timer_done("x", 1)
    found = set()
    for family in text_string_to_metric_families(metrics.text().decode()):
        found |= {family.name, *(sample.name for sample in family.samples)}
    return found


def expressions(value: Any) -> list[str]:
    """All that Prometheus is asked, in a dashboard."""
    if isinstance(value, dict):
        own = [text for key, text in value.items() if key == "expr"]
        return own + [text for inner in value.values() for text in expressions(inner)]
    if isinstance(value, list):
        return [text for inner in value for text in expressions(inner)]
    return []


def asked() -> list[str]:
    """What the dashboard and the rules ask; a rule's text between its `expr` and the next key."""
    rules = re.findall(
        r"^ +expr: (?:>-\n)?(.*?)(?=^ +\w+:|^$)", RULES.read_text(), re.DOTALL | re.MULTILINE
    )
    assert len(rules) == len(re.findall("- (?:alert|record):", RULES.read_text()))
    return [*rules, *expressions(json.loads(DASHBOARD.read_text()))]


def test_every_metric_that_is_asked_for_is_exported():
    known = exported() | NOT_OURS
    without_labels = [re.sub(r"\{[^}]*\}|by \([^)]*\)|on \([^)]*\)", "", text) for text in asked()]
    names = {name for text in without_labels for name in NAME.findall(text)}
    assert len(names) > 10
    assert names - known == set()


@pytest.mark.asyncio
async def test_every_state_that_is_asked_for_is_told(server: Server):
    told = {*server.app.state(), "ship_lag_seconds"}
    wanted = {name for text in asked() for name in re.findall(r'what="(\w+)"', text)}
    assert wanted
    assert wanted - told == set()


def test_the_dashboard_has_no_panel_twice_and_none_over_another():
    panels = json.loads(DASHBOARD.read_text())["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    taken: set[tuple[int, int]] = set()
    for panel in panels:
        at = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(at["x"], at["x"] + at["w"])
            for y in range(at["y"], at["y"] + at["h"])
        }
        assert not cells & taken, panel["title"]
        assert at["x"] + at["w"] <= 24
        taken |= cells


def test_settings_in_ready_files_are_settings():
    known = {variable_of(name) for name in Settings.__struct_encode_fields__}
    for path in _files():
        text = path.read_text()
        found = set(re.findall(r"\b(PARLEY_[A-Z_]+|DATABASE_URL|AMQP_URL)\b", text))
        assert {name.removesuffix("_FILE") for name in found} - known == set(), path.name


def test_commands_in_ready_files_are_commands():
    found = {
        word
        for path in _files()
        for pattern in (
            r"bin/parley ([a-z-]+)",
            r"`parley ([a-z-]+)",
            r'(?:command:|^CMD) \["([a-z-]+)',
        )
        for word in re.findall(pattern, path.read_text(), re.MULTILINE)
    }
    assert {"serve", "worker", "run", "backup", "migrate"} <= found
    assert found <= set(cli.commands)


def test_units_may_open_ports_and_files():
    """The processes that listen may be told to do so on 443 or 25, and do not run as root."""
    units = {path.name: path.read_text().splitlines() for path in DEPLOY.glob("*.service")}
    listening = {"parley.service", "parley-serve.service", "parley-mail-in.service"}
    for name in listening:
        assert "User=parley" in units[name], name
        assert "AmbientCapabilities=CAP_NET_BIND_SERVICE" in units[name], name
    for name in {*listening, "parley-worker@.service"}:
        assert "LimitNOFILE=65536" in units[name], name
        assert {"Type=notify", "WatchdogSec=60"} <= set(units[name]), name


def test_containers_migrate_what_the_old_release_works_with():
    """While they do, the old one still answers."""
    text = (DEPLOY / "compose.yaml").read_text()
    assert re.findall(r'command: \["migrate".*\]', text) == [
        'command: ["migrate", "--before-deploy"]'
    ]
    assert "PARLEY_TRUSTED_PROXIES: ${TRUSTED_PROXIES" in text


def test_every_ready_file_is_explained():
    text = (ROOT / "docs" / "deployment.md").read_text()
    assert [path.name for path in _files() if f"deploy/{path.name}" not in text] == []


def _files() -> list[Path]:
    return sorted(path for path in DEPLOY.iterdir() if path.is_file())

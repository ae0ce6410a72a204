"""The manifests are valid, and name ports, probes, users and settings that there are."""

from itertools import chain
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from scripts.cli.main import cli
from server.api.health import CHECKED_PATHS
from server.settings import Settings, variable_of
from testkit.image.dockerfile import read_stages
from testkit.sources import ROOT

FOLDER = ROOT / "docs" / "deploy" / "kubernetes"
FILES = sorted(FOLDER.rglob("*.yaml"))
KUBERNETES = "1.33"
OTHERS = {"Kustomization", "Component", "ScaledObject"}
"""Kinds that Kubernetes itself has no schema for."""
IMAGE = read_stages(ROOT / "docs" / "deploy" / "Dockerfile")[-1]


def documents(path: Path) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(path.read_text()))


OBJECTS = list(chain.from_iterable(map(documents, FILES)))


def of_kind(*kinds: str) -> list[dict[str, Any]]:
    return [each for each in OBJECTS if each["kind"] in kinds]


PODS = {each["metadata"]["name"]: each["spec"]["template"] for each in of_kind("Deployment", "Job")}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(FOLDER)))
def test_each_object_is_valid(path: Path):
    for each in documents(path):
        if each["kind"] not in OTHERS:
            kubernetes_validate.validate(each, KUBERNETES, strict=True)


def test_a_misspelled_field_is_found():
    [deployment, *_] = of_kind("Deployment")
    wrong = {**deployment, "spec": {**deployment["spec"], "replica": 2}}
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(wrong, KUBERNETES, strict=True)


def test_kustomizations_name_all_files():
    for path in FOLDER.rglob("kustomization.yaml"):
        [kustomization] = documents(path)
        others = {each.name for each in path.parent.glob("*.yaml")} - {path.name}
        assert set(kustomization["resources"]) == others
    [kustomization] = documents(FOLDER / "kustomization.yaml")
    [generated] = kustomization["configMapGenerator"]
    names = {literal.partition("=")[0] for literal in generated["literals"]}
    assert names <= {variable_of(name) for name in Settings.__struct_encode_fields__}
    assert {each["name"] for each in kustomization["images"]} == {"parley"}


@pytest.mark.parametrize("name", PODS)
def test_pods_run_as_the_images_user_and_write_only_where_they_may(name: str):
    pod = PODS[name]["spec"]
    [container] = pod["containers"]
    user, group = IMAGE.last("USER").rest.split(":")
    context = pod["securityContext"]
    assert (context["runAsUser"], context["runAsGroup"]) == (int(user), int(group))
    assert context["runAsNonRoot"]
    assert context["seccompProfile"]["type"] == "RuntimeDefault"
    assert container["securityContext"]["readOnlyRootFilesystem"]
    assert container["securityContext"]["capabilities"]["drop"] == ["ALL"]
    mounts = {mount["mountPath"] for mount in container["volumeMounts"]}
    assert mounts == {IMAGE.last("VOLUME").rest, "/tmp"}
    assert container["image"] == "parley"
    assert container["args"][0] in cli.commands


def test_probes_ask_ports_and_paths_that_there_are():
    exposed = {int(port) for port in IMAGE.last("EXPOSE").words}
    for each in of_kind("Deployment"):
        [container] = each["spec"]["template"]["spec"]["containers"]
        ports = {port["name"]: port["containerPort"] for port in container["ports"]}
        assert set(ports.values()) <= exposed
        probes = {name: container[f"{name}Probe"]["httpGet"] for name in ("readiness", "liveness")}
        assert probes["readiness"]["path"] in CHECKED_PATHS
        # It must not fail with the database: a restart would not bring that back.
        assert probes["liveness"] == {"path": "/metrics", "port": "metrics"}
        assert {probe["port"] for probe in probes.values()} <= set(ports)


def test_each_deployment_has_a_budget_and_the_service_finds_the_servers():
    labels = {name: pod["metadata"]["labels"] for name, pod in PODS.items()}
    for each in of_kind("Deployment"):
        name = each["metadata"]["name"]
        assert each["spec"]["selector"]["matchLabels"] == labels[name]
        [budget] = [
            one for one in of_kind("PodDisruptionBudget") if one["metadata"]["name"] == name
        ]
        assert budget["spec"]["selector"]["matchLabels"] == labels[name]
        assert budget["spec"]["minAvailable"] < each["spec"]["replicas"]
    [service] = of_kind("Service")
    assert service["spec"]["selector"] == labels["parley-serve"]


def test_workers_are_scaled_by_the_jobs_that_wait():
    rules = documents(ROOT / "docs" / "deploy" / "prometheus-rules.yml")[0]["groups"]
    recorded = {
        rule["record"]: rule["expr"]
        for group in rules
        for rule in group["rules"]
        if "record" in rule
    }
    [scaled] = of_kind("ScaledObject")
    [trigger] = scaled["spec"]["triggers"]
    [autoscaler] = of_kind("HorizontalPodAutoscaler")
    [metric] = autoscaler["spec"]["metrics"]
    assert recorded[metric["external"]["metric"]["name"]] == trigger["metadata"]["query"]
    for target in (scaled["spec"]["scaleTargetRef"], autoscaler["spec"]["scaleTargetRef"]):
        assert target["name"] in PODS

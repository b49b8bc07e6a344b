"""deploy/kubernetes, held against what it names: the schemas of Kubernetes, the settings, the commands, the queues."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from tests.deploy.test_compose import known_variables
from tests.support.caddy import CADDYFILE
from tongyao.cli import MODULES
from tongyao.protocol.contracts.process import FIELD_QUEUE, MODELS_QUEUE, PROCESS_QUEUE
from tongyao.runtime.settings import Settings

REPOSITORY = Path(__file__).parents[2]
FOLDER = REPOSITORY / "deploy" / "kubernetes"
SCHEMAS = json.loads((Path(__file__).parent / "kubernetes_schema" / "kubernetes-1.34-strict.json").read_text("utf-8"))
WORKERS = {"process-worker": "process", "model-worker": "models", "field-worker": "field"}
QUEUES = {"process-worker": PROCESS_QUEUE, "model-worker": MODELS_QUEUE, "field-worker": FIELD_QUEUE}
OUTSIDE = {"model-worker", "gateway"}
"""What calls addresses outside of the cluster."""

Resource = dict[str, Any]


def kustomization() -> Resource:
    read: Resource = yaml.safe_load((FOLDER / "kustomization.yaml").read_text(encoding="utf-8"))
    return read


def resources() -> list[Resource]:
    return [
        one
        for name in kustomization()["resources"]
        for one in yaml.safe_load_all((FOLDER / name).read_text(encoding="utf-8"))
        if one is not None
    ]


def of_kind(kind: str) -> dict[str, Resource]:
    return {one["metadata"]["name"]: one for one in resources() if one["kind"] == kind}


def pods() -> dict[str, Resource]:
    """Name → the specification of its pods."""
    found = {
        name: one["spec"]["template"]["spec"] for kind in ("Deployment", "Job") for name, one in of_kind(kind).items()
    }
    return found


def settings_of(pod: Resource) -> dict[str, str]:
    shared = dict(line.split("=", 1) for line in kustomization()["configMapGenerator"][0]["literals"])
    return shared | {one["name"]: one["value"] for one in pod["containers"][0].get("env", [])}


def test_every_file_is_part_of_it() -> None:
    assert {path.name for path in FOLDER.glob("*.yaml")} == {*kustomization()["resources"], "kustomization.yaml"}


@pytest.mark.parametrize("resource", resources(), ids=lambda one: f"{one['kind']}/{one['metadata']['name']}")
def test_resources_are_what_kubernetes_takes(resource: Resource) -> None:
    """By the schemas of Kubernetes 1.34, unknown fields refused. The autoscaler's own kind has none there."""
    if resource["kind"] == "ScaledObject":
        assert set(resource["spec"]) == {
            "scaleTargetRef", "minReplicaCount", "maxReplicaCount", "pollingInterval", "advanced", "triggers",
        }  # fmt: skip
        return
    definition = SCHEMAS["kinds"][f"{resource['apiVersion']}/{resource['kind']}"]
    schema = {"$ref": f"#/definitions/{definition}", "definitions": SCHEMAS["definitions"]}
    errors = [
        f"{list(error.absolute_path)}: {error.message}" for error in Draft202012Validator(schema).iter_errors(resource)
    ]
    assert errors == []


def test_kustomize_builds_it() -> None:
    program = shutil.which("kustomize") or shutil.which("kubectl")
    if program is None:
        pytest.skip("neither kustomize nor kubectl is on PATH")  # reason: only Python and make are asked of a machine
    command = [program, "build", str(FOLDER)] if program.endswith("kustomize") else [program, "kustomize", str(FOLDER)]
    built = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert built.returncode == 0, built.stderr
    made = [one for one in yaml.safe_load_all(built.stdout) if one is not None]
    assert len(made) == len(resources()) + len(kustomization()["configMapGenerator"])
    assert {one["metadata"].get("namespace", "tongyao") for one in made} == {"tongyao"}


@pytest.mark.parametrize("name", list(pods()))
def test_every_variable_of_ours_is_a_setting_and_accepts_its_value(name: str) -> None:
    given = settings_of(pods()[name])
    assert set(given) <= known_variables()
    assert int(given["TONGYAO_METRICS_PORT"]) == 9464
    files = {value for variable, value in given.items() if variable.endswith("_FILE")}
    [secret] = [one["secret"] for one in pods()[name]["volumes"] if "secret" in one]
    mounted = {f"/run/secrets/tongyao/{one['path']}" for one in secret["items"]}
    assert files == mounted, "every secret that is named is mounted, and no other"


@pytest.mark.parametrize("name", list(WORKERS))
def test_a_worker_is_of_its_role_and_scaled_by_the_queue_of_its_role(name: str) -> None:
    [container] = pods()[name]["containers"]
    assert container["command"] == ["python", "/opt/tongyao/worker.py", WORKERS[name]]
    scaled = of_kind("ScaledObject")[name]["spec"]
    assert scaled["scaleTargetRef"] == {"name": name}
    [trigger] = scaled["triggers"]
    assert trigger["type"] == "temporal"
    assert trigger["metadata"]["taskQueue"] == QUEUES[name]
    assert trigger["metadata"]["namespace"] == settings_of(pods()[name])["TEMPORAL_NAMESPACE"]
    assert trigger["metadata"]["endpointFromEnv"] in settings_of(pods()[name])
    assert "replicas" not in of_kind("Deployment")[name]["spec"], "the autoscaler says how many"


@pytest.mark.parametrize("name", ["prepare", "gateway"])
def test_commands_exist(name: str) -> None:
    container, *_ = pods()[name]["containers"]
    program, command = container["command"]
    assert program == "tongyao"
    assert command in {one for commands in MODULES.values() for one in commands}


@pytest.mark.parametrize("name", list(of_kind("Deployment")))
def test_a_pod_has_longer_to_end_than_its_work(name: str) -> None:
    pod = pods()[name]
    container, *_ = pod["containers"]
    stops = container.get("lifecycle", {}).get("preStop", {}).get("sleep", {}).get("seconds", 0)
    assert pod["terminationGracePeriodSeconds"] > float(settings_of(pod)["TONGYAO_SHUTDOWN_SECONDS"]) + stops
    if name == "model-worker":
        assert float(settings_of(pod)["TONGYAO_SHUTDOWN_SECONDS"]) > Settings().process.proxy_seconds
    assert {container[probe]["httpGet"]["path"] for probe in ("livenessProbe", "readinessProbe")} == {
        "/health",
        "/ready",
    }


@pytest.mark.parametrize("name", list(of_kind("Deployment")))
def test_a_drain_of_nodes_leaves_every_role_somebody(name: str) -> None:
    budget = of_kind("PodDisruptionBudget")[name]["spec"]
    assert budget["selector"] == of_kind("Deployment")[name]["spec"]["selector"]
    least = of_kind("ScaledObject")[name]["spec"]["minReplicaCount"] if name in WORKERS else 2
    assert budget == budget | ({"minAvailable": 1} if least > 1 else {"maxUnavailable": 1})


@pytest.mark.parametrize("name", list(pods()))
def test_nothing_runs_as_root_or_writes_to_its_image(name: str) -> None:
    pod = pods()[name]
    assert pod["securityContext"]["runAsNonRoot"] and pod["securityContext"]["runAsUser"] == 10001
    assert pod["automountServiceAccountToken"] is False
    for container in pod["containers"]:
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert container["resources"]["limits"]["memory"]
        assert container["image"] in ("tongyao", "tongyao-proxy"), "kustomize sets the tag"


def test_every_request_comes_through_the_proxy_in_the_pod_of_the_gateway() -> None:
    gateway, proxy = pods()["gateway"]["containers"]
    settings = settings_of(pods()["gateway"])
    assert settings["TONGYAO_GATEWAY_HOST"] == "127.0.0.1" and settings["TONGYAO_BEHIND_PROXY"] == "true"
    assert not [port for port in gateway["ports"] if port["name"] == "http"]
    environment = {variable["name"]: variable["value"] for variable in proxy["env"]}
    assert environment["GATEWAY"] == f"127.0.0.1:{settings['TONGYAO_GATEWAY_PORT']}"
    assert set(environment) <= set(re.findall(r"{\$(\w+):", CADDYFILE.read_text(encoding="utf-8")))
    [port] = proxy["ports"]
    assert port["containerPort"] == int(re.findall(r"{\$HTTP_PORT:(\d+)}", CADDYFILE.read_text(encoding="utf-8"))[0])
    policies = {name: policy["spec"] for name, policy in of_kind("NetworkPolicy").items()}
    assert policies["gateway"]["ingress"][0]["ports"] == [{"protocol": "TCP", "port": port["containerPort"]}]


def test_only_the_gateway_is_reached_and_only_who_must_reaches_outside() -> None:
    policies = {name: one["spec"] for name, one in of_kind("NetworkPolicy").items()}
    assert policies["default-deny"] == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
    [names] = policies["outside"]["podSelector"]["matchExpressions"]
    assert set(names["values"]) == OUTSIDE
    [to] = policies["outside"]["egress"][0]["to"]
    assert "169.254.0.0/16" in to["ipBlock"]["except"], "the cloud's metadata service is not outside"
    reached = {name for name, one in policies.items() if "Ingress" in one["policyTypes"] and one.get("ingress")}
    assert reached == {"gateway", "metrics"}
    assert list(of_kind("Service")) == ["gateway"]


def test_the_tag_is_the_version() -> None:
    images = kustomization()["images"]
    version = re.search(r'^version = "(.+)"', (REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)
    assert version is not None
    assert {image["newTag"] for image in images} == {version.group(1)}

"""docker-compose.yml, held against what it names: the Compose schema, the settings, the commands, the files."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import subprocess
import zipfile
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml
from hatchling.builders.wheel import WheelBuilder
from jsonschema import Draft7Validator

from tests.deploy.compose import VARIABLE, read_compose
from tongyao.cli import MODULES
from tongyao.runtime.settings import PREFIX, every_variable, load_settings
from tongyao.runtime.temporal.workers import Role

REPOSITORY = Path(__file__).parents[2]
OWN = ("prepare", "process-worker", "model-worker", "field-worker", "gateway")
WORKERS = OWN[1:4]


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    """The file, with its variables at their defaults."""
    return read_compose()


def services(compose: dict[str, Any]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = compose["services"]
    return found


def test_it_is_a_compose_file(compose: dict[str, Any]) -> None:
    """By the official schema (compose_schema/, Apache-2.0)."""
    schema = json.loads((Path(__file__).parent / "compose_schema" / "compose-spec.json").read_text(encoding="utf-8"))
    assert [error.message for error in Draft7Validator(schema).iter_errors(compose)] == []


def known_variables() -> set[str]:
    return {name for variable in every_variable() for name in (*variable.names, *variable.files)}


@pytest.mark.parametrize("name", OWN)
def test_every_variable_of_ours_is_a_setting(compose: dict[str, Any], name: str) -> None:
    assert set(services(compose)[name]["environment"]) <= known_variables()


@pytest.mark.parametrize("name", OWN)
def test_the_settings_accept_every_value(
    compose: dict[str, Any], name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for variable, value in services(compose)[name]["environment"].items():
        if variable.endswith("_FILE"):
            secret = tmp_path / variable
            secret.write_text({"DATABASE_URL_FILE": "postgresql://tongyao:x@postgres/tongyao"}.get(variable, ""))
            value = str(secret)
        monkeypatch.setenv(variable, str(value))
    settings = load_settings()

    assert settings.database_url is not None
    assert settings.temporal_address == "temporal:7233"
    assert settings.chosen_engine == "extractive", "an empty key file is no key"
    assert settings.models_per_second, "without it nobody sends work to the queue that the model workers poll"
    assert settings.metrics_port == 9464


@pytest.mark.parametrize("name", OWN)
def test_every_command_of_ours_exists(compose: dict[str, Any], name: str) -> None:
    commands = {command for of_module in MODULES.values() for command in of_module}
    for command in (services(compose)[name]["command"], services(compose)[name]["healthcheck"].get("test", [])[1:]):
        match command:
            case ["tongyao", subcommand]:
                assert subcommand in commands
            case ["python", "-P", "-m", "tongyao.healthcheck"]:
                assert importlib.util.find_spec("tongyao.healthcheck") is not None
            case ["python", "/opt/tongyao/worker.py", role]:
                assert role in get_args(Role)
            case _:
                assert command == [], f"an unknown kind of command: {command}"


def test_the_roles_together_poll_every_queue(compose: dict[str, Any]) -> None:
    roles = {services(compose)[name]["command"][-1] for name in WORKERS}
    assert roles == set(get_args(Role)) - {"all"}


def test_images_are_pinned_and_nothing_runs_as_root(compose: dict[str, Any]) -> None:
    for name, service in services(compose).items():
        tag = service.get("image", "").partition(":")[2]
        assert "build" in service or re.search(r"\d+\.\d+", tag), f"{name} is not pinned"
        if name not in OWN:
            assert service.get("user", "") not in ("root", "0") and ("user" in service or name == "temporal-ui")
        assert service["cap_drop"] == ["ALL"] and "no-new-privileges:true" in service["security_opt"]
    for path in ("Dockerfile", "deploy/caddy/Dockerfile"):
        dockerfile = (REPOSITORY / path).read_text(encoding="utf-8")
        images = re.findall(r"^FROM (\S+)", dockerfile, re.MULTILINE)
        assert images and all(re.search(r":\d+\.\d+\.\d+", image) for image in images)
        assert re.findall(r"^USER (\S+)", dockerfile, re.MULTILINE)[-1] == "10001:10001"


def test_the_workers_file_is_where_the_compose_file_starts_it() -> None:
    dockerfile = (REPOSITORY / "Dockerfile").read_text(encoding="utf-8")
    [minor] = set(re.findall(r"^FROM python:(\d+\.\d+)", dockerfile, re.MULTILINE))
    assert f"ln -s lib/python{minor}/site-packages/worker.py /opt/tongyao/worker.py" in dockerfile


def test_the_temporal_server_is_the_version_that_is_tested(compose: dict[str, Any]) -> None:
    from tests.deploy.real_server import VERSION

    assert services(compose)["temporal"]["image"] == f"temporalio/server:{VERSION}"
    assert services(compose)["temporal-schema"]["image"].startswith(f"temporalio/admin-tools:{VERSION}-")


def test_only_the_proxy_and_the_ui_are_reached_from_outside_and_on_loopback(compose: dict[str, Any]) -> None:
    published = {name: service["ports"] for name, service in services(compose).items() if "ports" in service}
    assert set(published) == {"proxy", "temporal-ui"}
    assert all(port.startswith("127.0.0.1:") for ports in published.values() for port in ports)


def test_nobody_is_given_a_network_a_secret_or_a_machine_that_they_do_not_need(compose: dict[str, Any]) -> None:
    networks = {name: set(service["networks"]) for name, service in services(compose).items()}
    assert all(compose["networks"][name] == {"internal": True} for name in ("records", "temporal"))
    assert compose["networks"]["edge"]["internal"]
    assert {name for name, of in networks.items() if of - {"records", "temporal", "edge"}} == {
        "gateway", "proxy", "temporal-ui", "model-worker",
    }, "nobody else is reached from outside or reaches it"  # fmt: skip
    assert networks["proxy"] == {"edge", "public"}, "the proxy reaches the gateway and neither records nor Temporal"
    assert networks["temporal-ui"] == {"temporal", "ui"}, "the UI reaches no records"
    secrets = {name: set(service.get("secrets", [])) for name, service in services(compose).items()}
    assert {name for name, of in secrets.items() if "anthropic_api_key" in of} == {"process-worker", "model-worker"}
    assert {name for name, of in secrets.items() if "postgres_password" in of} == {"postgres"}
    assert {name for name, of in secrets.items() if "openid_client_secret" in of} == {"gateway"}
    for name, service in services(compose).items():
        assert service["pids_limit"] and service["mem_limit"] and service["cpus"], name
        assert service.get("read_only") or name == "temporal-ui", f"{name} may write to its image"


def test_secrets_are_files_and_no_password_stands_in_an_environment(compose: dict[str, Any]) -> None:
    for name, service in services(compose).items():
        for secret in service.get("secrets", []):
            assert secret in compose["secrets"], name
        for variable, value in service.get("environment", {}).items():
            if re.search("PASSWORD|KEY|SECRET|DATABASE_URL", variable):
                assert variable.endswith("_FILE") and Path(value).parent == Path("/run/secrets"), f"{name}: {variable}"
                assert Path(value).name in service["secrets"], f"{name} is not given {value}"
    made = (REPOSITORY / "deploy" / "make-secrets.sh").read_text(encoding="utf-8")
    assert all(secret in made for secret in compose["secrets"])


def test_everything_that_serves_is_watched_and_every_start_is_in_order(compose: dict[str, Any]) -> None:
    jobs = {"temporal-schema", "prepare", "temporal-ui"}
    for name, service in services(compose).items():
        assert name in jobs or "test" in service["healthcheck"], f"{name} has no health check"
        for other, on in service.get("depends_on", {}).items():
            done = on["condition"] == "service_completed_successfully"
            assert done == (other in jobs), f"{name} waits for {other} in the wrong way"


@pytest.mark.parametrize("answer", ["sha256:" + "a" * 64, "ERROR: not found"])
def test_every_image_of_others_is_pinned_by_the_digest_that_its_registry_gives(
    compose: dict[str, Any], tmp_path: Path, answer: str
) -> None:
    (tmp_path / "deploy").mkdir()
    for path in ("docker-compose.yml", "deploy/pin-images.sh"):
        shutil.copy(REPOSITORY / path, tmp_path / path)
    docker = tmp_path / "programs" / "docker"
    docker.parent.mkdir()
    docker.write_text(f"#!/bin/sh\necho '{answer}'\n")
    docker.chmod(0o755)
    environment = {"PATH": f"{docker.parent}:/usr/bin:/bin"}
    done = subprocess.run([tmp_path / "deploy" / "pin-images.sh"], env=environment, capture_output=True, text=True)
    written = tmp_path / "docker-compose.override.yml"
    if answer.startswith("ERROR"):
        assert (done.returncode, written.exists()) == (1, False)
        assert "no digest for pgvector/pgvector" in done.stderr
    else:
        others = {
            name: one["image"] for name, one in services(compose).items() if one.get("image", "tongyao") != "tongyao"
        }
        pinned = {name: {"image": f"{image}@{answer}"} for name, image in others.items()}
        assert len(pinned) == 4
        assert yaml.safe_load(written.read_text()) == {"services": pinned}


def test_the_gateway_believes_the_address_of_the_proxy_and_no_other(compose: dict[str, Any]) -> None:
    environment = services(compose)["gateway"]["environment"]
    assert environment["TONGYAO_BEHIND_PROXY"] == "true"
    address = services(compose)["proxy"]["networks"]["edge"]["ipv4_address"]
    assert json.loads(environment["TONGYAO_GATEWAY__PROXIES"]) == [f"{address}/32"]


def test_what_is_mounted_and_copied_is_there(compose: dict[str, Any]) -> None:
    for service in services(compose).values():
        for volume in service.get("volumes", []):
            source = volume.partition(":")[0]
            assert source in compose["volumes"] or (REPOSITORY / source).exists(), source
    ignored = (REPOSITORY / ".dockerignore").read_text(encoding="utf-8")
    dockerfile = (REPOSITORY / "Dockerfile").read_text(encoding="utf-8")
    arguments = dict(re.findall(r"^ARG (\w+)=(\S+)$", dockerfile, re.MULTILINE))
    for copied in re.findall(r"^COPY (?!--from)(.*) \S+$", dockerfile, re.MULTILINE):
        for path in copied.split():
            path = path.replace("${REQUIREMENTS}", arguments["REQUIREMENTS"])
            assert (REPOSITORY / path).exists(), path
            assert f"!{path.split('/')[0]}\n" in ignored, f"{path} does not reach the build"


def test_the_example_of_settings_is_what_the_file_asks_for() -> None:
    text = (REPOSITORY / "docker-compose.yml").read_text(encoding="utf-8")
    example = dict(
        line.split("=", 1)
        for line in (REPOSITORY / ".env.example").read_text(encoding="utf-8").splitlines()
        if line and not line.startswith("#")
    )
    assert example == dict(VARIABLE.findall(text))
    assert not any(name.startswith(PREFIX) and name not in known_variables() for name in example)


def test_the_wheel_that_the_image_installs_holds_everything(tmp_path: Path) -> None:
    [built] = WheelBuilder(str(REPOSITORY)).build(directory=str(tmp_path))
    held = set(zipfile.ZipFile(built).namelist())
    assert {"worker.py", "tongyao/cli.py", "workflows/crystallization.py", "activities/project.py"} <= held
    assert any(name.startswith("prompts/zh/") for name in held)
    for folder in ("tongyao/records/migrations/", "crystalline_highway/migrations/"):
        assert any(name.startswith(folder) and name.endswith(".sql") for name in held), folder
    assert not any(name.startswith(("tests/", "bench/", "deploy/")) for name in held)

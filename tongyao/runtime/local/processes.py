"""A server of the local service: one process under a supervisor, one lock, one log."""

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
PASSED_ON = ("HOME", "LANG", "PATH", "TMPDIR", "TZ")  # no keys, and no PGPORT that would move a server
LOG_KEPT_BYTES = 10_000_000  # a longer log is set aside (one generation) at the next start


def free_port(host: str = "127.0.0.1") -> int:
    """A TCP port of this loopback address that nothing listens on now."""
    with socket.socket() as probe:
        probe.bind((host, 0))
        port: int = probe.getsockname()[1]
        return port


def port_is_taken(port: int, host: str = "127.0.0.1") -> bool:
    """Whether ``host:port`` cannot be bound now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # a port in TIME_WAIT is free for a server
        try:
            probe.bind((host, port))
        except OSError:
            return True
    return False


def listens(pid: int | None, port: int) -> bool:
    """Whether this very process listens on a TCP port: somebody else may have taken one that was free a moment ago."""
    try:
        open_ones = psutil.Process(pid).net_connections("tcp") if pid is not None else []
    except psutil.Error:
        return False
    return any(connection.status == psutil.CONN_LISTEN and connection.laddr.port == port for connection in open_ones)


def accepts_connections(port: int, host: str = "127.0.0.1") -> bool:
    """Whether something answers on ``host:port``."""
    with socket.socket() as probe:
        probe.settimeout(1.0)
        return probe.connect_ex((host, port)) == 0


async def in_thread(function: Callable[..., Result], *arguments: object) -> Result:
    """``asyncio.to_thread`` that waits for the thread when cancelled: what it started can then be stopped."""
    running = asyncio.ensure_future(asyncio.to_thread(function, *arguments))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.wait([running])
        raise


def make_private(home: Path) -> None:
    """Make the directory of all local state, or close it to everybody but its owner. Raises `LocalServiceError`."""
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    about = home.stat()
    if about.st_uid not in (os.geteuid(), 0):
        raise LocalServiceError(f"{home} belongs to another user: choose another home (TONGYAO_HOME)")
    passable = 0o001 if os.geteuid() == 0 else 0  # PostgreSQL does not run as root, and has to pass through
    if about.st_uid == os.geteuid() and about.st_mode & 0o077 & ~passable:
        home.chmod(0o700 | about.st_mode & passable)


def loopback_address() -> str:
    """An address of the loopback network at random; 127.0.0.1 where the system has no other one.

    A web page whose host name comes to point at this machine would have to guess it (docs/operations.md).
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
    """Holds an exclusive lock on ``path``, waiting for it; a crash of the holder frees it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@dataclass
class ServerProcess:
    """One server, run by ``supervise.py`` for as long as the process that made this object lives.

    ``lock`` is the file whose lock says that the server is supervised; it holds the server's pid. ``log``
    takes what the server prints. ``user`` is the (uid, gid) that the server runs as.
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

        Waits up to `lock_wait` seconds for an earlier one that is being stopped. `prepare` runs once the lock is taken, so that no two
        processes do it at the same time. Raises `LocalServiceError`: another process keeps this server running.
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
                    start_new_session=True,  # Ctrl-C in the terminal is the owner's to handle
                )  # fmt: skip
        finally:
            os.close(lock_fd)

    def is_ready(self) -> None:
        """Tell the supervisor that the server answers: from now on it restarts a server that ends by itself."""
        assert self._supervisor is not None
        assert self._supervisor.stdin is not None
        self._supervisor.stdin.write(b"+")
        self._supervisor.stdin.flush()

    def stop(self) -> None:
        """Stops the server in its orderly way and waits for it. Does nothing when it is not running."""
        supervisor, self._supervisor = self._supervisor, None
        if supervisor is None:
            return
        assert supervisor.stdin is not None
        supervisor.stdin.close()
        supervisor.wait()

    @property
    def exit_code(self) -> int | None:
        """The code that the server, and its supervisor with it, ended with; None while it runs."""
        return None if self._supervisor is None else self._supervisor.poll()

    @property
    def pid(self) -> int | None:
        """The server's pid now: another one after a restart."""
        return read_pid(self.lock)

    def log_tail(self) -> str:
        """The last lines of the log, for an error message."""
        if not self.log.exists():
            return ""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-12:])

    def still_starting(self, error: Exception, until: float) -> None:
        """It did not answer yet. Raises `LocalServiceError` where it has ended, or `until` (monotonic seconds) is over."""
        why = f"ended at its start (exit code {self.exit_code})"
        if self.exit_code is None:
            if time.monotonic() <= until:
                return
            why = f"did not come up in time: {error}"
        raise LocalServiceError(f"{self.name} {why}. The end of {self.log}:\n{self.log_tail()}") from None

    def _take_lock(self, wait: float) -> int:
        """An open, locked file descriptor. The lock lives as long as any process holds a copy of it."""
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
    """The pid in a lock file, or None."""
    try:
        return int(lock.read_text().strip())
    except (OSError, ValueError):
        return None

"""Runs one server for as long as its owner lives, and not a moment longer.

A script, not a module to import: the owner starts it as ``python -I supervise.py STOP_SIGNAL LOCK_FD
UID:GID -- COMMAND…`` and holds the write end of its standard input. Whatever ends the owner, SIGKILL
included, closes that pipe; the supervisor then stops the server in its orderly way. Should the supervisor
itself be killed, Linux sends the server the same stop signal (``PR_SET_PDEATHSIG``). A server that was ready
once is started again whenever it ends by itself, after a pause that grows with each quick end. The pid of the server is
kept in the lock file, whose lock the supervisor holds: a lock that can be taken means that no supervisor is
left.

Only the standard library, so that it starts in milliseconds and carries nothing of the product in memory.
"""

import contextlib
import ctypes
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable

PR_SET_PDEATHSIG = 1
GRACE_SECONDS = 20.0  # between the orderly stop and SIGKILL
POLL_SECONDS = 0.25
PAUSE_SECONDS = 0.5  # before a restart: what the dead one left (PostgreSQL's backends) needs a moment to go
LONGEST_PAUSE_SECONDS = 30.0  # as of a full disk: it may be mended at any time
PID_CHARS = 10  # of a pid in the lock file; no system has longer ones
STEADY_SECONDS = 60.0  # a server that ran so long has not ended quickly


def die_with_parent(stop_signal: int) -> Callable[[], None] | None:
    """Code that the child runs before exec; after the change of user, which would clear it. Linux only."""
    if not sys.platform.startswith("linux"):
        return None
    libc = ctypes.CDLL(None, use_errno=True)  # loaded here: nothing may be loaded between fork and exec

    def in_child() -> None:
        libc.prctl(PR_SET_PDEATHSIG, stop_signal)

    return in_child


class Owner:
    """What the owner says on our standard input: any byte, "it is ready"; the end of the pipe, "stop"."""

    def __init__(self) -> None:
        self.pid = os.getppid()
        self.has_seen_it_ready = False
        self.wants_it_stopped = False

    def listen(self, wait: float) -> None:
        """Waits up to ``wait`` seconds for a word. A new parent tells of a death that the pipe hides."""
        readable, _, _ = select.select([sys.stdin.fileno()], [], [], wait)
        if readable and os.read(sys.stdin.fileno(), 64):
            self.has_seen_it_ready = True
        elif readable or os.getppid() != self.pid:
            self.wants_it_stopped = True


def stop(server: subprocess.Popen[bytes], stop_signal: int) -> None:
    """The orderly stop, then SIGKILL."""
    server.send_signal(stop_signal)
    try:
        server.wait(GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()


def write_pid(lock_fd: int, pid: int) -> bool:
    """Whether it could be written. All pids have one length in the file, so that a full disk does not stop a later one."""
    with contextlib.suppress(OSError):
        return os.pwrite(lock_fd, f"{pid:<{PID_CHARS}}\n".encode(), 0) > PID_CHARS
    return False


def main(arguments: list[str]) -> int:
    """Returns the server's exit code, or 0 when it was stopped because the owner is gone or asked for it."""
    stop_name, lock_fd, user, _, *command = arguments
    stop_signal = signal.Signals[stop_name]
    uid, gid = (int(part) for part in user.split(":"))
    another = uid != os.geteuid()
    owner = Owner()
    signal.signal(signal.SIGTERM, lambda *_: setattr(owner, "wants_it_stopped", True))
    quick_ends = 0
    while True:
        rested = time.monotonic() + min(PAUSE_SECONDS * quick_ends, LONGEST_PAUSE_SECONDS)
        while not owner.wants_it_stopped and (left := rested - time.monotonic()) > 0:
            owner.listen(min(left, POLL_SECONDS))
        if owner.wants_it_stopped:
            return 0
        began = time.monotonic()
        server = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            preexec_fn=die_with_parent(stop_signal),
            user=uid if another else None,
            group=gid if another else None,
            extra_groups=[] if another else None,
        )
        is_written = False
        while server.poll() is None:
            is_written = is_written or write_pid(int(lock_fd), server.pid)
            owner.listen(POLL_SECONDS)
            if owner.wants_it_stopped:
                stop(server, stop_signal)
                return 0
        with contextlib.suppress(OSError):  # the disk of the log may be full, which may be why the server ended
            os.write(sys.stderr.fileno(), f"supervisor: {command[0]} ended with {server.returncode}\n".encode())
        if not owner.has_seen_it_ready:  # it cannot start at all: it would only die again
            return server.returncode if server.returncode > 0 else 1
        quick_ends = 1 if time.monotonic() - began > STEADY_SECONDS else quick_ends + 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""A script that runs one server as long as its owner lives.

The owner starts it as ``python -I supervise.py STOP_SIGNAL LOCK_FD UID:GID -- COMMAND…`` and holds the write end of its
standard input. When the owner ends, also by SIGKILL, the pipe closes, and the supervisor stops the server with the stop
signal. If the supervisor is killed, Linux sends the server the same signal (``PR_SET_PDEATHSIG``). A server that was
ready once is restarted when it ends by itself, after a pause that grows with each quick end. The lock file contains the
pid of the server. The supervisor holds its lock, so a free lock means that there is no supervisor.

It uses only the standard library, so that it starts in milliseconds and uses little memory.
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
GRACE_SECONDS = 20.0  # between the stop signal and SIGKILL
POLL_SECONDS = 0.25
PAUSE_SECONDS = 0.5  # before a restart, so that children of the ended server (PostgreSQL's backends) can end
LONGEST_PAUSE_SECONDS = 30.0  # limited, because the cause (such as a full disk) may be repaired at any time
PID_CHARS = 10  # length of a pid in the lock file; no system has longer pids
STEADY_SECONDS = 60.0  # an end after a longer run is not a quick end


def die_with_parent(stop_signal: int) -> Callable[[], None] | None:
    """Returns a function for `preexec_fn` with which the child gets `stop_signal` when its parent dies. Only on Linux.

    `subprocess` calls it after the change of the user, which would clear this setting.
    """
    if not sys.platform.startswith("linux"):
        return None
    libc = ctypes.CDLL(None, use_errno=True)  # loaded before the fork: no library may be loaded between fork and exec

    def in_child() -> None:
        libc.prctl(PR_SET_PDEATHSIG, stop_signal)

    return in_child


class Owner:
    """The owner's messages on our standard input: any byte means that the server is ready, the end of the pipe stop."""

    def __init__(self) -> None:
        self.pid = os.getppid()
        self.has_seen_it_ready = False
        self.wants_it_stopped = False

    def listen(self, wait: float) -> None:
        """Waits up to ``wait`` seconds for a message. A new parent pid also means that the owner has died."""
        readable, _, _ = select.select([sys.stdin.fileno()], [], [], wait)
        if readable and os.read(sys.stdin.fileno(), 64):
            self.has_seen_it_ready = True
        elif readable or os.getppid() != self.pid:
            self.wants_it_stopped = True


def stop(server: subprocess.Popen[bytes], stop_signal: int) -> None:
    """Sends the stop signal, and SIGKILL after `GRACE_SECONDS`."""
    server.send_signal(stop_signal)
    try:
        server.wait(GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()


def write_pid(lock_fd: int, pid: int) -> bool:
    """Writes the pid and returns whether that succeeded. The text has a fixed length, so it needs no new disk space."""
    with contextlib.suppress(OSError):
        return os.pwrite(lock_fd, f"{pid:<{PID_CHARS}}\n".encode(), 0) > PID_CHARS
    return False


def main(arguments: list[str]) -> int:
    """Returns the server's exit code, or 0 if it was stopped because the owner has died or asked for it."""
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
        with contextlib.suppress(OSError):  # a full disk may have ended the server, and makes this fail, too
            os.write(sys.stderr.fileno(), f"supervisor: {command[0]} ended with {server.returncode}\n".encode())
        if not owner.has_seen_it_ready:  # a server that was never ready is not restarted
            return server.returncode if server.returncode > 0 else 1
        quick_ends = 1 if time.monotonic() - began > STEADY_SECONDS else quick_ends + 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Runs one server for as long as its owner lives, and not a moment longer.

A script, not a module to import: the owner starts it as ``python -I supervise.py STOP_SIGNAL RESTARTS LOCK_FD
UID:GID -- COMMAND…`` and holds the write end of its standard input. Whatever ends the owner, SIGKILL included, closes
that pipe; the supervisor then stops the server in its orderly way. Should the supervisor itself be killed, Linux sends
the server the same stop signal (``PR_SET_PDEATHSIG``). The pid of the server is kept in the lock file, whose lock the
supervisor holds: a lock that can be taken means that no supervisor is left.

Only the standard library, so that it starts in milliseconds and carries nothing of the product in memory.
"""

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
STEADY_SECONDS = 2.0  # a server that dies sooner than this at its first start would only die again
PAUSE_SECONDS = 0.5  # before a restart: what the dead one left (PostgreSQL's backends) needs a moment to go


def die_with_parent(stop_signal: int) -> Callable[[], None] | None:
    """What the child runs before exec; after the change of user, which would clear it. Linux only."""
    if not sys.platform.startswith("linux"):
        return None
    libc = ctypes.CDLL(None, use_errno=True)  # loaded here: nothing may be loaded between fork and exec

    def in_child() -> None:
        libc.prctl(PR_SET_PDEATHSIG, stop_signal)

    return in_child


def owner_is_gone(owner: int, wait: float) -> bool:
    """Waits up to ``wait`` seconds. The pipe tells at once; the parent's pid tells if a stray copy keeps it open."""
    readable, _, _ = select.select([sys.stdin.fileno()], [], [], wait)
    return bool(readable) or os.getppid() != owner


def stop(server: subprocess.Popen[bytes], stop_signal: int) -> None:
    """The orderly stop, then SIGKILL."""
    server.send_signal(stop_signal)
    try:
        server.wait(GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()


def main(arguments: list[str]) -> int:
    """Returns the server's exit code, or 0 when it was stopped because the owner is gone or asked for it."""
    stop_name, restarts, lock_fd, user, _, *command = arguments
    stop_signal = signal.Signals[stop_name]
    uid, gid = (int(part) for part in user.split(":"))
    as_user = {"user": uid, "group": gid, "extra_groups": []} if uid != os.geteuid() else {}
    owner = os.getppid()
    wanted = {"stop": False}
    signal.signal(signal.SIGTERM, lambda *_: wanted.update(stop=True))
    code = 0
    for attempt in range(int(restarts) + 1):
        if attempt > 0 and owner_is_gone(owner, PAUSE_SECONDS):
            return 0
        started = time.monotonic()
        server = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            preexec_fn=die_with_parent(stop_signal),
            **as_user,  # type: ignore[call-overload]
        )
        os.ftruncate(int(lock_fd), 0)
        os.pwrite(int(lock_fd), f"{server.pid}\n".encode(), 0)
        while server.poll() is None:
            if owner_is_gone(owner, 0.25) or wanted["stop"]:
                stop(server, stop_signal)
                return 0
        code = server.returncode
        print(f"supervisor: {command[0]} ended with {code}", file=sys.stderr, flush=True)
        if attempt == 0 and time.monotonic() - started < STEADY_SECONDS:
            break
    return code if code > 0 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Builds of workers, and the open processes that need them (docs/operations.md §5), as Temporal reports them."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Final, Literal

from temporalio.client import Client

from tongyao.app.operators.task_queues import ACTIVITIES, WORKFLOWS, describe_queue
from tongyao.protocol.contracts.process import CRYSTALLIZATION, ROLES, rules_marker
from tongyao.protocol.life.state import CARRIED_LOGIC
from tongyao.protocol.model.value import Value

_OPEN: Final = f'WorkflowType="{CRYSTALLIZATION}" AND ExecutionStatus="Running"'
_UNVERSIONED: Final = "unversioned:"


Stands = Literal["this_build", "this_build_idle", "needed", "stoppable", "gone_upgrade", "gone_newer", "gone"]
_GONE: Final = "gone; the code must keep everything that its histories need"
_ADVICE: Final[dict[Stands, str]] = {
    "this_build": "this build",
    "this_build_idle": "this build; none of its workers polls",
    "needed": "still needed: no other build polls",
    "stoppable": "its workers can be stopped: another build polls all their queues",
    "gone_upgrade": f"{_GONE}: `tongyao upgrade --all` moves its processes to the newest rules, `tongyao replay` checks them",
    "gone_newer": f"{_GONE}: newer builds continue its processes, `tongyao replay` checks them",
    "gone": "gone",
}


class Build(Value):
    """A build with polling workers, or with tasks in the current run of an open process.

    `workers`: number of polling workers by task queue. `processes`: number of open processes in whose current run the
    build executed tasks. `alone`: number of these processes on which no other build worked. `stands`: whether the build
    can be stopped, as a word; `advice`: as a sentence. `needed_by`: queues that no other build polls.
    """

    build: str
    workers: dict[str, int]
    processes: int = 0
    alone: int = 0
    stands: Stands
    needed_by: tuple[str, ...] = ()
    advice: str = ""


class Rules(Value):
    """A version of the rules. `logic`: its number. `carried`: whether this build knows it."""

    logic: int
    processes: int
    carried: bool


class Versions(Value):
    this_build: str
    builds: tuple[Build, ...]
    rules: tuple[Rules, ...]


async def versions(client: Client, this_build: str) -> Versions:
    """Query Temporal for the builds that poll, and for the open processes with tasks of them. Raises `RPCError`."""
    workers = await _workers(client)
    touched: Counter[str] = Counter()
    alone: Counter[str] = Counter()
    async for execution in client.list_workflows(_OPEN, page_size=1_000):
        found = execution.search_attributes.get("BuildIds", ())
        builds = {str(build).removeprefix(_UNVERSIONED) for build in found if str(build).startswith(_UNVERSIONED)}
        touched.update(builds)
        if len(builds) == 1:
            alone.update(builds)
    rules = [
        Rules(logic=logic, processes=count, carried=logic in CARRIED_LOGIC)
        for logic, count in sorted((await _rules(client)).items())
    ]
    newest = max(CARRIED_LOGIC)
    behind = sum(version.processes for version in rules if version.logic < newest)
    found_builds = []
    for build in sorted(workers.keys() | touched.keys(), key=lambda build: (build != this_build, build)):
        stands, needed_by = _stands(build, this_build, workers, touched[build], behind)
        found_builds.append(
            Build(
                build=build,
                workers=dict(sorted(workers[build].items())),
                processes=touched[build],
                alone=alone[build],
                stands=stands,
                needed_by=needed_by,
                advice=" ".join([_ADVICE[stands], ", ".join(needed_by)]).strip(),
            )
        )
    return Versions(this_build=this_build, builds=tuple(found_builds), rules=tuple(rules))


async def _workers(client: Client) -> dict[str, Counter[str]]:
    """Return by build and task queue the number of workers that polled lately."""
    found: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for queue in ROLES:
        for kind in (WORKFLOWS, ACTIVITIES):
            for identity, build in (await describe_queue(client, queue, kind)).pollers.items():
                found[build][queue].add(identity)
    return defaultdict(
        Counter, {build: Counter({queue: len(who) for queue, who in queues.items()}) for build, queues in found.items()}
    )


async def _rules(client: Client) -> Counter[int]:
    """Return the number of open processes by rules version, up to the version after the newest that this build
    knows."""
    found: Counter[int] = Counter()
    for logic in range(2, max(CARRIED_LOGIC) + 2):
        query = f'{_OPEN} AND TemporalChangeVersion="{rules_marker(logic)}"'
        found[logic] = (await client.count_workflows(query)).count
    found[1] = (await client.count_workflows(_OPEN)).count - found.total()
    return Counter({logic: count for logic, count in found.items() if count or logic in CARRIED_LOGIC})


def _stands(
    build: str, this_build: str, workers: dict[str, Counter[str]], touched: int, behind: int
) -> tuple[Stands, tuple[str, ...]]:
    """Return whether the build can be stopped, and the queues that only this build polls."""
    others = [queues for other, queues in workers.items() if other != build]
    only_here = [queue for queue in workers[build] if not any(queue in queues for queues in others)]
    if build == this_build:
        return ("this_build" if workers[build] else "this_build_idle"), ()
    if only_here:
        return "needed", tuple(sorted(only_here))
    if workers[build]:
        return "stoppable", ()
    if touched:
        return ("gone_upgrade" if behind else "gone_newer"), ()
    return "gone", ()

"""The engine of a process, and the sentence that is shown if its rounds found no relation."""

from __future__ import annotations

from collections.abc import Mapping

from tongyao.records.process.processes import ProcessRow
from tongyao.records.repositories import Repositories
from tongyao.texts.catalogue import catalogue, worded


async def nothing_found(repositories: Repositories, row: ProcessRow) -> str:
    """Return a sentence in the process's language if rounds have ended and none found a relation. Otherwise empty."""
    observed = (await repositories.record(row)).observations
    if not observed or any(relation.of_participants for seen in observed for relation in seen.relations):
        return ""
    said = worded(catalogue("app"), row.language, "findings.nothing", n=len(observed))
    if await engine_of(repositories, row.id, "observe") != "extractive":
        return said
    return f"{said} {worded(catalogue('app'), row.language, 'findings.without_model')}"


async def engine_of(repositories: Repositories, process_id: str, step: str) -> str:
    """Return the name of the engine for a step (`observe`, `plan` …) of a process. Empty before the start."""
    manifest = await repositories.seats.manifest(process_id)
    engines: Mapping[str, str] = manifest.get("*", {}).get("engines") or {}
    return engines.get(step, "")

"""The specification as oracles, written from docs/protocol.md and not from the code (docs/simulation.md)."""

from __future__ import annotations

from tests.simulation.oracles.admission import Admission
from tests.simulation.oracles.answers import Answers
from tests.simulation.oracles.asking import Asking
from tests.simulation.oracles.base import Oracle
from tests.simulation.oracles.consents import Consents
from tests.simulation.oracles.effects import Effects
from tests.simulation.oracles.parking import Parking
from tests.simulation.oracles.records import Records
from tests.simulation.oracles.rounds import Rounds
from tests.simulation.oracles.steps import Steps
from tests.simulation.oracles.suspension import Suspension
from tests.simulation.oracles.time import Time


def watch() -> list[Oracle]:
    """Return a new instance of each oracle. Some oracles read `Parking`, so it is the first."""
    return [
        Parking(), Admission(), Answers(), Asking(), Consents(), Effects(), Records(), Rounds(), Steps(), Suspension(), Time(),
    ]  # fmt: skip

"""Experiments: cases × variants × repetitions, what each run measured, and what may be concluded from it (docs/forks.md §4). Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, Final, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import PydanticSerializationError

from tongyao.evals.measure import Measures
from tongyao.evals.pages import rendered
from tongyao.protocol.model.value import Value

Step = Literal["project", "observe", "plan"]


class ExperimentError(ValueError):
    """The file is no experiment. The message names it and what is wrong."""


class Variant(BaseModel):
    """What differs from the process that every variant of a case is a fork of. Nothing: that process once more.

    `without` and the keys of `profile` are ids of the case's people. Paths are relative to the experiment's file.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    without: tuple[str, ...] = ()
    add: tuple[Path, ...] = ()
    profile: dict[str, Path] = Field(default_factory=dict)
    tension: Path | None = None
    setting: dict[str, Any] = Field(default_factory=dict)
    prompts: Path | None = None
    engine: str = ""
    model: dict[str, str] = Field(default_factory=dict)

    def files(self) -> Iterator[Path]:
        yield from (*self.add, *self.profile.values(), *((self.tension,) if self.tension else ()))
        if self.prompts is not None:
            yield from sorted(self.prompts.glob("*/*.md"))


class Experiment(BaseModel):
    """What is run. The first variant is what the others are compared with.

    The first repetition of a variant takes every answer that its case's process has to the same question. The others ask anew from
    `step` of `round` on, so that what comes before is shared by all repetitions.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    question: str = Field(min_length=1, description="What is to be decided.")
    cases: tuple[Path, ...] = Field(min_length=1)
    variants: dict[str, Variant] = Field(min_length=1)
    repetitions: int = Field(default=1, ge=1, le=100)
    round: int = Field(default=1, ge=1, description="The first round that repetitions do not share.")
    step: Step = "project"
    budget: Decimal | None = Field(default=None, gt=0, description="US dollars for everything; unset: none.")


class Run(NamedTuple):
    """One run. `key` changes with everything that the variant says and with the files that it names."""

    case: Path
    variant: str
    repetition: int
    key: str


def load(file: Path) -> Experiment:
    """The experiment in a YAML file, with its paths made whole. Raises `ExperimentError`."""
    import yaml  # late: only experiments need it

    try:
        given = yaml.safe_load(file.read_text(encoding="utf-8"))
        found = Experiment.model_validate(given)
        found.model_dump_json()  # refuses what holds itself
    except RecursionError:
        raise ExperimentError(f"{file} cannot be read: it is nested too deeply") from None
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ExperimentError(f"{file} cannot be read: {error}") from error
    except PydanticSerializationError as error:
        raise ExperimentError(f"{file} is no experiment: {error}") from None
    except ValidationError as error:
        wrong = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors())
        raise ExperimentError(f"{file} is no experiment: {wrong}") from error
    home = file.resolve().parent
    variants = {
        name: one.model_copy(
            update={
                "add": tuple(home / path for path in one.add),
                "profile": {who: home / path for who, path in one.profile.items()},
                "tension": home / one.tension if one.tension else None,
                "prompts": home / one.prompts if one.prompts else None,
            }
        )
        for name, one in found.variants.items()
    }
    return found.model_copy(update={"cases": tuple(home / case for case in found.cases), "variants": variants})


def runs_of(experiment: Experiment) -> tuple[Run, ...]:
    """Every run: all first repetitions before all second ones, so that an experiment that is stopped early can be read."""
    return tuple(
        Run(case, name, repetition, f"{_digest(experiment, case, variant)}/{repetition}")
        for repetition in range(1, experiment.repetitions + 1)
        for case in experiment.cases
        for name, variant in experiment.variants.items()
    )


def case_key(experiment: Experiment, case: Path) -> str:
    """What identifies the process that all runs of a case are forks of: a case that was changed is run anew."""
    digest = hashlib.sha256(experiment.question.encode())
    for path in sorted(path for path in case.rglob("*") if path.is_file() and path.suffix in (".json", ".md")):
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()[:12]


def _digest(experiment: Experiment, case: Path, variant: Variant) -> str:
    digest = hashlib.sha256(f"{case_key(experiment, case)}/{experiment.round}/{experiment.step}".encode())
    digest.update(variant.model_dump_json().encode())
    for file in variant.files():
        digest.update(file.read_bytes())
    return digest.hexdigest()[:24]


class RunResult(Value):
    """One run that has ended. `figures`: by name, those that could be measured. `failed`: the phase in which it ended without a plan."""

    case: str
    variant: str
    repetition: int
    process: str
    asked: int
    taken: int
    cost: Decimal
    failed: str = ""
    figures: dict[str, float] = Field(default_factory=dict)


def figures_of(row: Measures) -> dict[str, float]:
    """What is measured of a run, of what could be measured. Added elsewhere are what the whole run would use, and what is quoted as in
    the case's process."""
    in_time = sum(link.in_time for link in row.links)
    found: dict[str, float | None] = {
        "links found (share)": _part(*row.found()),
        "links in time (share)": _part(in_time, len(row.links)),
        "false relations": len(row.false_relations),
        "related pairs": row.relations,
        "unexpected pairs": row.unexpected,
        "translations found (share)": _part(len(row.translations), row.translations_expected),
        "claims with a source (share)": row.traceable,
        "offsets walked into": len(row.walked_in),
        "items that are new (share)": row.delta,
        "struck by checks": row.struck,
        "rounds": row.rounds,
        "length of the plan": row.plan_units,
    }
    return {name: float(value) for name, value in found.items() if value is not None}


def _part(part: int, whole: int) -> float | None:
    return part / whole if whole else None


class Interval(NamedTuple):
    """A mean of `runs` values with its 95 % interval (Student); `low` and `high` are None below two values."""

    mean: float
    low: float | None
    high: float | None
    runs: int


_T: Final = (12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20, 2.18, 2.16, 2.14, 2.13)
"""The 97.5 % quantile of Student's distribution by degrees of freedom from 1; above, 2.1 is a little too wide."""


def interval(values: Sequence[float]) -> Interval:
    """Raises `ValueError` for no values."""
    mean = fmean(values)
    if len(values) < 2:
        return Interval(mean, None, None, len(values))
    half = (_T[len(values) - 2] if len(values) - 1 <= len(_T) else 2.1) * stdev(values) / len(values) ** 0.5
    return Interval(mean, mean - half, mean + half, len(values))


class Line(NamedTuple):
    """One variant in the table of one figure. `difference`: from the first variant, paired by case and repetition; None of the first."""

    variant: str
    values: tuple[float, ...]
    mean: Interval
    difference: Interval | None

    @property
    def differs(self) -> bool:
        """Whether the interval of the difference leaves out zero."""
        difference = self.difference
        return (
            difference is not None and difference.low is not None and not difference.low <= 0 <= (difference.high or 0)
        )


def table(figure: str, results: Sequence[RunResult], variants: Sequence[str]) -> list[Line]:
    """A line for each variant that has the figure, in the order of the experiment."""
    found = {
        name: {
            (one.case, one.repetition): one.figures[figure]
            for one in results
            if one.variant == name and figure in one.figures
        }
        for name in variants
    }
    first = found[variants[0]]
    lines = []
    for name, values in found.items():
        paired = [value - first[at] for at, value in values.items() if at in first] if name != variants[0] else []
        if values:
            difference = interval(paired) if paired else None
            lines.append(Line(name, tuple(values.values()), interval(list(values.values())), difference))
    return lines


def alike_in_each_case(results: Sequence[RunResult]) -> set[str]:
    """The figures that every run of a case shares, where there are several: what repetitions share cannot differ."""
    values: dict[str, dict[str, set[float]]] = {}
    for one in results:
        for name, value in one.figures.items():
            values.setdefault(name, {}).setdefault(one.case, set()).add(value)
    return {name for name, cases in values.items() if len(results) > 1 and all(len(one) == 1 for one in cases.values())}


def files_of(experiment: Experiment, results: Sequence[RunResult], *, left: int) -> dict[str, str]:
    """The files of the report by name: Markdown with the form of a decision at its end, a picture for each figure, all results.

    `left`: runs that were not made.
    """
    names = dict.fromkeys(name for one in results for name in one.figures)
    alike = alike_in_each_case(results)
    tables = {name: table(name, results, list(experiment.variants)) for name in names if name not in alike}
    files = {
        "report.md": rendered(
            "report.md.jinja",
            wanted=experiment,
            results=results,
            left=left,
            tables=tables,
            alike=[name for name in names if name in alike],
            asked=sum(one.asked for one in results),
            taken=sum(one.taken for one in results),
            cost=sum((one.cost for one in results), Decimal(0)),
            failed=[one for one in results if one.failed],
        ),
        "results.jsonl": "".join(f"{one.model_dump_json()}\n" for one in results),
    }
    pictures = {
        f"figure-{at:02d}.svg": rendered("figure.svg", figure=name, lines=lines)
        for at, (name, lines) in enumerate(tables.items(), 1)
    }
    return files | pictures

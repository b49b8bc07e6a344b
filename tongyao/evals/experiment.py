"""Experiments: cases × variants × repetitions, measures of each run, and permitted conclusions (docs/forks.md §4).

This module has no side effects.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, Final, Literal, NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import PydanticSerializationError

from tongyao.evals.measure import Measures
from tongyao.protocol.model.value import Value

Step = Literal["project", "observe", "plan"]


class ExperimentError(ValueError):
    """The file is not an experiment. The message names the file and its error."""


class Variant(BaseModel):
    """The differences from the process of a case, of which every variant is a fork. Without differences it repeats that
    process.

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
    """The runs to make. All other variants are compared with the first variant.

    The first repetition of a variant takes over every answer that its case's process has for the same question. The
    other repetitions ask again from `step` of `round` on. So all repetitions share the earlier answers.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    question: str = Field(min_length=1, description="The question to be decided.")
    cases: tuple[Path, ...] = Field(min_length=1)
    variants: dict[str, Variant] = Field(min_length=1)
    repetitions: int = Field(default=1, ge=1, le=100)
    round: int = Field(default=1, ge=1, description="The first round that repetitions do not share.")
    step: Step = "project"
    budget: Decimal | None = Field(
        default=None, gt=0, description="The limit for the whole experiment in US dollars; unset: no limit."
    )


class Run(NamedTuple):
    """One run. `key` depends on the whole variant and on the contents of its files."""

    case: Path
    variant: str
    repetition: int
    key: str


def load(file: Path) -> Experiment:
    """Read the experiment in a YAML file, with absolute paths. Raises `ExperimentError`."""
    import yaml  # imported late: only experiments need it

    try:
        given = yaml.safe_load(file.read_text(encoding="utf-8"))
        found = Experiment.model_validate(given)
        found.model_dump_json()  # raises an error if a value contains itself
    except RecursionError:
        raise ExperimentError(f"{file} cannot be read: it is nested too deeply") from None
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ExperimentError(f"{file} cannot be read: {error}") from error
    except PydanticSerializationError as error:
        raise ExperimentError(f"{file} is not an experiment: {error}") from None
    except ValidationError as error:
        wrong = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors())
        raise ExperimentError(f"{file} is not an experiment: {wrong}") from error
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
    """All runs. First repetitions come before second ones, so that the results of a stopped experiment are still readable."""
    return tuple(
        Run(case, name, repetition, f"{_digest(experiment, case, variant)}/{repetition}")
        for repetition in range(1, experiment.repetitions + 1)
        for case in experiment.cases
        for name, variant in experiment.variants.items()
    )


def case_key(experiment: Experiment, case: Path) -> str:
    """The key of a case's process, of which all runs of the case are forks. If the case changes, so does the key."""
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
    """The result of one run. `figures`: the measured figures, by name. `failed`: the phase in which it ended without a plan."""

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
    """The figures of a run that could be measured.

    The usage of the whole run, and the overlap of quotes with the case's process, are added elsewhere.
    """
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
    """The mean of `runs` values with its 95 % interval (Student). `low` and `high` are None if there are fewer than two values."""

    mean: float
    low: float | None
    high: float | None
    runs: int


_T: Final = (12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20, 2.18, 2.16, 2.14, 2.13)
"""The 97.5 % quantiles of Student's distribution, by degrees of freedom from 1. For more, 2.1 is used, which is a little too wide."""


def interval(values: Sequence[float]) -> Interval:
    """The mean of values with its interval. Raises `ValueError` if there are no values."""
    mean = fmean(values)
    if len(values) < 2:
        return Interval(mean, None, None, len(values))
    half = (_T[len(values) - 2] if len(values) - 1 <= len(_T) else 2.1) * stdev(values) / len(values) ** 0.5
    return Interval(mean, mean - half, mean + half, len(values))


class Line(NamedTuple):
    """One variant in the table of one figure.

    `difference`: the difference from the first variant, paired by case and repetition; None for the first variant.
    """

    variant: str
    values: tuple[float, ...]
    mean: Interval
    difference: Interval | None

    @property
    def differs(self) -> bool:
        """Whether zero is outside the interval of the difference."""
        difference = self.difference
        return (
            difference is not None and difference.low is not None and not difference.low <= 0 <= (difference.high or 0)
        )


def table(figure: str, results: Sequence[RunResult], variants: Sequence[str]) -> list[Line]:
    """One line per variant that has the figure, in the order of the experiment."""
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
    """The figures that are equal in all runs of each case, if there are several runs. They come from shared steps."""
    values: dict[str, dict[str, set[float]]] = {}
    for one in results:
        for name, value in one.figures.items():
            values.setdefault(name, {}).setdefault(one.case, set()).add(value)
    return {name for name, cases in values.items() if len(results) > 1 and all(len(one) == 1 for one in cases.values())}


def files_of(experiment: Experiment, results: Sequence[RunResult], *, left: int) -> dict[str, str]:
    """The files of the report, by name: Markdown that ends with a form for a decision, a picture for each figure, all
    results.

    `left`: the number of runs that were not made.
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


_ENVIRONMENT = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"),
    autoescape=lambda name: not str(name).endswith(".md.jinja"),
    undefined=StrictUndefined,
    keep_trailing_newline=True,
)


def rendered(template: str, /, **values: Any) -> str:
    """Render a template with these values. In HTML and SVG the values are escaped."""
    return _ENVIRONMENT.get_template(template).render(**values)

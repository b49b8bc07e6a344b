"""Processes side by side, and experiments: what is counted and concluded."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from tests.evaluation.test_audit import items, seen, told
from tongyao.evals.comparison import Side, compare
from tongyao.evals.experiment import ExperimentError, RunResult, files_of, interval, load, runs_of, table
from tongyao.protocol.contracts.process import Fork

CASE = Path(__file__).parents[2] / "examples" / "cases" / "en-3-labels-only"


def side(id: str) -> Side:
    return Side(id=id, phase="completed")


def test_what_two_processes_say_alike_is_one_entry_and_what_one_alone_says_is_marked() -> None:
    one = told(items(1, "P01", "the van climbs the hill each morning"), observations=(seen(1, ("P01", "P02")),))
    other = told(
        items(1, "P01", "each morning the van climbs the hill", "a second van stands in the shed"),
        observations=(seen(1, ("P01", "P02")),),
    )
    found = compare([side("c-1"), side("c-2")], [one, other])

    assert [(entry.what, entry.everywhere) for entry in found.entries] == [
        ("said", True),
        ("said", False),
        ("related", True),
    ]
    assert (found.only_in(0), found.only_in(1)) == (0, 1)
    assert found.rounds() == (1,)


def written(folder: Path, text: str) -> Path:
    file = folder / "experiment.yaml"
    file.write_text(text, encoding="utf-8")
    return file


def test_the_key_of_a_run_follows_its_variant_and_the_files_that_it_names(tmp_path: Path) -> None:
    folder = tmp_path / "short" / "en"
    folder.mkdir(parents=True)
    folder.joinpath("observe.md").write_text("See.", encoding="utf-8")
    text = f"question: Which?\ncases: [{CASE}]\nvariants: {{now: {{}}, short: {{prompts: short}}}}\nrepetitions: 2\n"
    runs = runs_of(load(written(tmp_path, text)))

    assert [(run.variant, run.repetition) for run in runs] == [("now", 1), ("short", 1), ("now", 2), ("short", 2)]
    assert len({run.key for run in runs}) == 4
    assert runs_of(load(written(tmp_path, text.replace("repetitions: 2", "repetitions: 3"))))[:4] == runs
    folder.joinpath("observe.md").write_text("See more.", encoding="utf-8")
    changed = runs_of(load(written(tmp_path, text)))
    assert (changed[0].key == runs[0].key, changed[1].key == runs[1].key) == (True, False)


def test_a_file_that_is_no_experiment_is_refused_with_what_is_wrong(tmp_path: Path) -> None:
    with pytest.raises(ExperimentError, match="variants"):
        load(written(tmp_path, f"question: Which?\ncases: [{CASE}]\nvariants: {{}}\n"))
    with pytest.raises(ExperimentError, match="cannot be read"):
        load(tmp_path / "none.yaml")


def result(variant: str, repetition: int, found: float) -> RunResult:
    return RunResult(
        case="a", variant=variant, repetition=repetition, process="c-1", asked=3, taken=9, cost=Decimal("0.5"),
        figures={"links": found, "rounds": 4},
    )  # fmt: skip


def test_variants_are_compared_pairwise_with_the_first(tmp_path: Path) -> None:
    results = [result("now", 1, 2), result("now", 2, 4), result("short", 1, 5), result("short", 2, 7)]
    now, short = table("links", results, ["now", "short"])

    assert (now.mean.mean, now.difference) == (3, None)
    assert short.difference is not None
    assert (short.difference.mean, short.difference.low, short.difference.high) == (3, 3, 3)
    assert short.differs
    assert interval([1.0, 3.0]).low == pytest.approx(2 - 12.71)
    assert interval([1.0]) == (1.0, None, None, 1)

    text = f"question: Which?\ncases: [{CASE}]\nvariants: {{now: {{}}, short: {{}}}}\n"
    files = files_of(load(written(tmp_path, text)), results, left=1)
    assert set(files) == {"report.md", "results.jsonl", "figure-01.svg"}
    assert "12 asked, 36 taken from the ledger (75%)" in files["report.md"]
    assert "| short | 2 | 6 | -6.71 to 18.7 | +3 | 3 to 3 * |\n" in files["report.md"]
    assert "The same in all runs of a case, and therefore without a table: rounds." in files["report.md"]
    assert "## Decision" in files["report.md"]
    assert files["figure-01.svg"].count("<circle") == 4


def test_nothing_is_taken_from_the_step_on_from_which_is_asked_again() -> None:
    fork = Fork(origin="c-1", round=2, again="observe")
    taken = {(step, number): fork.takes(step, number) for number in (1, 2, 3) for step in ("project", "observe")}
    assert taken == {
        ("project", 1): True, ("observe", 1): True, ("project", 2): True,
        ("observe", 2): False, ("project", 3): False, ("observe", 3): False,
    }  # fmt: skip
    assert not fork.takes("plan", 0)
    assert Fork(origin="c-1", again="plan").takes("observe", 7)
    assert not Fork(origin="c-1", again="plan").takes("plan", 0)
    assert Fork(origin="c-1").takes("plan", 0)

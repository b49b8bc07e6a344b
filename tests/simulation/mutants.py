"""Measures how many defects the simulation finds: changes one place of the state machine, and runs schedules.

`python -m tests.simulation.mutants [--count N] [--seed S] [--schedules N] [--jobs J]`. A mutant is found if a schedule
fails or does not end. Survivors are compared with `survivors.md`, which has a reason for each.
"""

from __future__ import annotations

import argparse
import ast
import importlib.abc
import importlib.util
import multiprocessing
import signal
import sys
from collections import Counter
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Final

PACKAGE: Final = "tongyao.protocol.life"
SECONDS: Final = 240
"""CPU time after which a run counts as endless."""

_OPPOSITE: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.Lt: ast.GtE,
    ast.GtE: ast.Lt,
    ast.Gt: ast.LtE,
    ast.LtE: ast.Gt,
}
_NEXT_TO: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
}
_OTHER_CALL: Final = {"min": "max", "max": "min", "any": "all", "all": "any"}


@dataclass(frozen=True)
class Mutant:
    """One change, at the place `number` of the places in a module that can be changed."""

    module: str
    number: int
    change: str
    line: int
    shown: str

    @property
    def name(self) -> str:
        return f"{self.module.rpartition('.')[2]}: {self.change}: `{self.shown}`"


class _Changer(ast.NodeTransformer):
    """Visits and lists every place of a module, and changes the place `number`, if any."""

    def __init__(self, module: str, number: int = -1) -> None:
        self.module, self.number = module, number
        self.found: list[Mutant] = []
        self.depth = 0

    def _here(self, change: str, node: ast.expr | ast.stmt) -> bool:
        """Return whether to change this place. Only code inside functions is changed; the rest is names and types."""
        if not self.depth:
            return False
        shown = " ".join(ast.unparse(node).split())
        shown = shown if len(shown) < 110 else shown[:107] + "…"
        self.found.append(Mutant(self.module, len(self.found), change, node.lineno, shown))
        return len(self.found) - 1 == self.number

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.depth += 1
        node.body = [self._statement(one) for one in node.body]
        self.depth -= 1
        return node

    def _statement(self, node: ast.stmt) -> ast.stmt:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            return node  # a docstring
        if isinstance(node, (ast.Assign, ast.AugAssign, ast.Expr, ast.Continue)) and self._here("deleted", node):
            return ast.Pass()
        if isinstance(node, ast.Return) and node.value is None and self._here("deleted", node):
            return ast.Pass()
        for block in ("body", "orelse"):
            inner = getattr(node, block, None)
            if isinstance(inner, list) and not isinstance(node, ast.Match):
                setattr(node, block, [self._statement(one) for one in inner])
        if isinstance(node, ast.Match):
            for case in node.cases:
                case.body = [self._statement(one) for one in case.body]
                if case.guard is not None:
                    case.guard = self.visit(case.guard)
            return node
        if isinstance(node, (ast.If, ast.While)):
            node.test = self._condition(node.test)
        elif isinstance(node, ast.For):
            node.iter = self.visit(node.iter)
        else:
            self.generic_visit(node)
        return node

    def _condition(self, node: ast.expr) -> ast.expr:
        if not isinstance(node, (ast.Compare, ast.BoolOp, ast.UnaryOp)) and self._here("negated", node):
            return ast.UnaryOp(ast.Not(), node)
        changed = self.visit(node)
        assert isinstance(changed, ast.expr)
        return changed

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        if len(node.ops) == 1:
            kind = type(node.ops[0])
            if self._here("flipped", node):
                node.ops = [_OPPOSITE[kind]()]
                return node
            if kind in _NEXT_TO and self._here("off by one", node):
                node.ops = [_NEXT_TO[kind]()]
                return node
        return self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        if self._here("and/or", node):
            node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
            return node
        return self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        if isinstance(node.op, ast.Not) and self._here("dropped not", node):
            return node.operand
        return self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        if isinstance(node.op, (ast.Add, ast.Sub)) and self._here("plus/minus", node):
            node.op = ast.Sub() if isinstance(node.op, ast.Add) else ast.Add()
            return node
        return self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if isinstance(node.value, bool):
            return ast.Constant(not node.value) if self._here("constant", node) else node
        if isinstance(node.value, int) and self._here("constant", node):
            return ast.Constant(node.value + 1)
        return node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        return node  # texts, and keys that would only get another name

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if isinstance(node.func, ast.Name) and node.func.id in _OTHER_CALL and self._here("other call", node):
            node.func = ast.Name(_OTHER_CALL[node.func.id], ast.Load())
            return node
        return self.generic_visit(node)


def _source(module: str) -> ast.Module:
    spec = importlib.util.find_spec(module)
    assert spec is not None and spec.origin is not None
    return ast.parse(Path(spec.origin).read_text(encoding="utf-8"))


def mutants() -> list[Mutant]:
    """Return every possible change, in the order of modules and lines."""
    package = importlib.util.find_spec(PACKAGE)
    assert package is not None and package.submodule_search_locations is not None
    found: list[Mutant] = []
    folder = Path(package.submodule_search_locations[0])
    for path in sorted(folder.rglob("*.py")):
        changer = _Changer(".".join((PACKAGE, *path.relative_to(folder).with_suffix("").parts)))
        changer.visit(ast.parse(path.read_text(encoding="utf-8")))
        found += changer.found
    return found


class _Loader(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports the changed module in place of the original."""

    def __init__(self, mutant: Mutant) -> None:
        self.mutant = mutant
        changed = _Changer(mutant.module, mutant.number).visit(_source(mutant.module))
        self.code = compile(ast.fix_missing_locations(changed), f"<{mutant.name}>", "exec")

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        return ModuleSpec(name, self) if name == self.mutant.module else None

    def exec_module(self, module: ModuleType) -> None:
        exec(self.code, module.__dict__)


def _too_long(*_: object) -> None:
    raise TimeoutError


def find(mutant: Mutant, schedules: int) -> str:
    """Return the failure with which the simulation finds a mutant. Empty if it survives. Needs a separate process."""
    sys.meta_path.insert(0, _Loader(mutant))
    signal.signal(signal.SIGVTALRM, _too_long)
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    try:
        from tests.simulation.run import run_seed

        for seed in range(schedules):
            run_seed(seed)
    except BaseException as failure:
        return f"{type(failure).__name__}: {failure}"[:160] or "failed"
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return ""


def _find(job: tuple[Mutant, int]) -> str:
    return find(*job)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.mutants", description=__doc__)
    parser.add_argument("--count", type=int, default=300, help="how many, drawn at random; 0: all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--schedules", type=int, default=600, help="for each mutant")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--verbose", action="store_true", help="print how each was found")
    given = parser.parse_args()
    chosen = mutants()
    if given.count:
        Random(given.seed).shuffle(chosen)
        chosen = sorted(chosen[: given.count], key=lambda one: (one.module, one.number))
    known = (Path(__file__).parent / "survivors.md").read_text(encoding="utf-8")
    survivors, how = [], Counter[str]()
    with multiprocessing.get_context("fork").Pool(given.jobs, maxtasksperchild=1) as pool:
        answers = pool.imap(_find, [(one, given.schedules) for one in chosen])
        for mutant, found in zip(chosen, answers, strict=True):
            how[found.partition(":")[0]] += 1
            if not found:
                survivors.append(mutant)
                print(
                    f"survives{'' if mutant.name in known else ' (not listed)'}: {mutant.name} line {mutant.line}",
                    flush=True,
                )
            elif given.verbose:
                print(f"found: {mutant.name}: {found}", flush=True)
    share = 1 - len(survivors) / len(chosen)
    print(f"{len(chosen) - len(survivors)} of {len(chosen)} mutants found, {share:.1%}; {dict(how)}")
    unlisted = [mutant for mutant in survivors if mutant.name not in known]
    sys.exit(f"{len(unlisted)} survivors have no reason in survivors.md" if unlisted else 0)


if __name__ == "__main__":
    main()

"""Prints the passages that each retriever shows of a long profile: `python bench/highway_profile.py
examples/zh-3-waiting-box`.

For each person of a case whose profile is longer than 50,000 characters, the query is the intent as a tension. The
output states how many of the passages with evidence for the case's links (`a_terms`, `b_terms`) are shown.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from crystalline_highway.recite.staging import recite
from crystalline_highway.seek.output import select_output
from crystalline_highway.seek.seeking import seek
from tongyao.evals.cases import Case, load
from tongyao.field.retriever import ChunkRetriever
from tongyao.llm.extractive.steps import formulate
from tongyao.protocol.model.process import ProfileRef
from tongyao.protocol.model.requests import FormulationRequest, Material, Piece
from tongyao.protocol.model.tension import Tension, from_draft

LONG = 50_000
BUDGETS = (1_000, 2_000, 4_000, 8_000, 15_000)


def tension_of(case: Case) -> Tension:
    own = case.demander_text
    material = Material(pieces=(Piece(start=0, text=own),), total_chars=len(own)) if own else None
    return from_draft(
        formulate(FormulationRequest(language=case.language, intent=case.intent, material=material)),
        language=case.language,
    )


def passages(case: Case, who: str) -> dict[str, list[tuple[str, ...]]]:
    """By link: the terms of this person's side. Evidence contains one of them."""
    found: dict[str, list[tuple[str, ...]]] = {}
    for link in case.expected.links:
        for name, terms in zip(link.between, (link.a_terms, link.b_terms), strict=False):
            if name == who and terms:
                found.setdefault(link.id, []).append(terms)
    return found


async def chunks(text: str, tension: Tension, budget: int) -> list[str]:
    material = await ChunkRetriever(budget_chars=budget).retrieve(
        ProfileRef(profile_id="long", version=1), text, tension
    )
    return [piece.text for piece in material.pieces]


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("case", type=Path)
    case = load(parser.parse_args().case)
    tension = tension_of(case)
    for who, text in case.profiles.items():
        if len(text) <= LONG:
            continue
        began = time.perf_counter()
        memory = recite([text])
        session = seek(memory, list(tension.targets().items()))
        print(f"{who}: {len(text):,} characters, recited and sought in {time.perf_counter() - began:.2f} s\n")
        print("| shown, at most | retriever | links with evidence | passages |\n|--:|---|---|--:|")
        wanted = passages(case, who)
        terms = [term for sides in wanted.values() for side in sides for term in side]
        for budget in BUDGETS:
            lit = [piece.text for piece in select_output(session, [text], budget).fitted]
            half = [piece.text for piece in select_output(session, [text], budget // 2).fitted]
            shown = {
                "chunks": await chunks(text, tension, budget),
                "highway": lit,
                "both": half + await chunks(text, tension, budget // 2),
            }
            for name, pieces in shown.items():
                seen = {term for term in terms if any(term in piece for piece in pieces)}
                held = [link for link, sides in wanted.items() if all(seen & set(side) for side in sides)]
                cells = (
                    f"{budget:,}",
                    name,
                    f"{len(held)}/{len(wanted)} {' '.join(held)}",
                    f"{len(seen)}/{len(terms)}",
                )
                print(f"| {' | '.join(cells)} |")


if __name__ == "__main__":
    asyncio.run(main())

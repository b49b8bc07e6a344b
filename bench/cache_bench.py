"""What the catalyst's prompt costs by round, whole or cut: `python -m bench.cache_bench CASE`.

The rounds are those of the engine without a model; the requests are rendered as Claude gets them. Cache reads are computed, not
measured: the longest common prefix of two consecutive requests, up to the last cache mark in it. Tokens are estimated from
characters. `cut`: the tension and the last two rounds only. What a cut leaves out ends the common prefix behind the tension.
"""

from __future__ import annotations

import argparse
import asyncio
from decimal import Decimal
from pathlib import Path

from tests.llm.extractive.extractive_process import formulated, process
from tongyao.evals.cases import load
from tongyao.llm import prompts, rendering
from tongyao.llm.anthropic.step_settings import DEFAULTS
from tongyao.llm.engine import Usage
from tongyao.llm.prices import estimated_tokens, shipped
from tongyao.llm.rendering import Block
from tongyao.protocol.model.requests import CatalystRequest

KEPT_ROUNDS = 2


def computed_usage(system: str, before: tuple[Block, ...], now: tuple[Block, ...]) -> Usage:
    """Cache reads, cache writes and fresh tokens of the prompt `now`, when `before` was the prompt of the call before it."""
    blocks = [Block(system, cache=True), *now]
    earlier = [system, *(block.text for block in before)] if before else []
    common = 0
    while common < min(len(blocks), len(earlier)) and blocks[common].text == earlier[common]:
        common += 1
    marked = [at for at, block in enumerate(blocks, 1) if block.cache]
    written = [1, *(at for at, block in enumerate(before, 2) if block.cache)] if before else []
    read = max((at for at in written if at <= common), default=0)
    last = max(marked, default=0)
    tokens = [estimated_tokens(block.text) for block in blocks]
    return Usage(
        input_tokens=sum(tokens[max(last, read) :]),
        cache_write_tokens=sum(tokens[read:last]),
        cache_read_tokens=sum(tokens[:read]),
    )


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("case", type=Path, nargs="?", default=Path("examples/cases/en-5-cold-hours"))
    case = load(parser.parse_args().case)
    profiles = {f"P{number:02}": text for number, text in enumerate(case.profiles.values(), 1)}
    ran = await process(case.language, await formulated(case.language, case.intent, case.demander_text), profiles)
    prompt = prompts.load("observe", case.language)
    print("| round | prompt | fresh | cache written | cache read | $ |\n|---|---|--:|--:|--:|--:|")
    for name, kept in (("whole", None), ("cut", KEPT_ROUNDS)):
        before: tuple[Block, ...] = ()
        total = Decimal(0)
        for number in range(1, len(ran.rounds) + 1):
            rounds = [*ran.rounds[: number - 1], ran.rounds[number - 1].model_copy(update={"observation": None})]
            request = CatalystRequest(
                language=case.language,
                round=number,
                tension=ran.tension,
                exchange=tuple(rounds if kept is None else rounds[-kept:]),
                contributors=tuple(profiles),
                verdict_counts=number >= 3,
            )
            now = rendering.blocks(request, prompt.parts)
            used = computed_usage(prompt.text, before, now)
            cost = shipped().cost(DEFAULTS["observe"].model, used) or Decimal(0)
            total += cost
            print(
                f"| {number} | {name} | {used.input_tokens:,} | {used.cache_write_tokens:,} | {used.cache_read_tokens:,} "
                f"| {cost:.4f} |"
            )
            before = now
        print(f"| all | {name} | | | | {total:.4f} |")


if __name__ == "__main__":
    asyncio.run(main())

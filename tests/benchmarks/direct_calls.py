"""The floor of a turn: the model's answer read with the provider's SDK, and nothing else.

`python -m tests.benchmarks.direct_calls MODEL_URL AT_ONCE WAVES TEXT` prints the milliseconds of processor
time of a call. The first calls, which open connections, do not count.
"""

from __future__ import annotations

import asyncio
import sys
import time

from openai import AsyncOpenAI

WARM = 20


async def measured(url: str, at_once: int, waves: int, text: str) -> float:
    """Milliseconds of CPU for a call."""
    async with AsyncOpenAI(base_url=url, api_key="x", max_retries=0) as client:

        async def call() -> None:
            stream = await client.chat.completions.create(
                model="scripted", stream=True, messages=[{"role": "user", "content": text}]
            )
            said = [chunk.choices[0].delta.content or "" async for chunk in stream if chunk.choices]
            assert said

        await asyncio.gather(*(call() for _ in range(max(WARM, at_once))))
        began = time.process_time()
        for _ in range(waves):
            await asyncio.gather(*(call() for _ in range(at_once)))
        return (time.process_time() - began) / (at_once * waves) * 1000


if __name__ == "__main__":
    address, at_once, waves, words = sys.argv[1:]
    print(asyncio.run(measured(address, int(at_once), int(waves), words)))

"""The filter that learns, trained with 200 clicks of one file of labelled comments and asked about the other two."""

import asyncio
import itertools
from pathlib import Path

from tests.bench.figures import Figure, Rounds, at_least, figure
from tests.bench.stage import SITE_ID, Stage, open_services
from threadkit.ids import SiteId
from threadkit.moderation.labelled import labelled
from threadkit.moderation.measuring import Measured, Measuring
from threadkit.moderation.rules import LearningRule

DATA = Path(__file__).parents[3].parent / "shared" / "data" / "spam"
CLICKS = 200
PRECISION, RECALL = 0.90, 0.70


def spam(stage: Stage) -> list[Figure]:
    """Nothing where the data is not at hand: it is shared between checkouts and not in this one."""
    files = sorted(DATA.glob("*.csv"))
    measured = []
    for trained_with in files:
        with stage.store() as folder:
            measured.append(asyncio.run(_measure(folder, trained_with, files)))
    figures = []
    for what, goal in (("precision", PRECISION), ("recall", RECALL)) if measured else ():
        found = [getattr(one, what) or 0.0 for one in measured]
        notes = {f"trained with {file.stem}": value for file, value in zip(files, found, strict=True)}
        worst = Rounds(ours=[min(found)], floor=[1.0])
        work = f"spam filter, {CLICKS} clicks: worst {what}"
        figures.append(figure("spam", work, worst, unit="share", judge=at_least, goal=goal, notes=notes))
    return figures


async def _measure(folder: Path, trained_with: Path, files: list[Path]) -> Measured:
    async with open_services(folder) as services:
        measuring = Measuring(learning=services.learning_filter, clock=services.clock)
        site_id = SiteId(SITE_ID)
        await measuring.train(site_id, itertools.islice(labelled(trained_with), CLICKS))
        others = itertools.chain.from_iterable(labelled(file) for file in files if file != trained_with)
        return await measuring.test(site_id, others, LearningRule())

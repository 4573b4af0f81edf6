"""How long events wait inside a worker is on `/metrics`."""

from tests.integration.comments.test_comments import write
from tests.integration.live.houses import House
from threadkit.ids import new_uuid
from threadkit.pages.model import page_id_of

COUNT, SUM = "threadkit_live_delay_seconds_count", "threadkit_live_delay_seconds_sum"


async def test_the_time_from_hearing_an_event_to_having_told_everybody_is_measured(house: House) -> None:
    ada = await house.create("ada")
    url = f"https://blog.example.org/{new_uuid()}"
    page_id = page_id_of(house.site.site.id, url)
    async with house.ear() as ear:
        await ear.subscribe(page_id)
        before = await house.metric(COUNT), await house.metric(SUM)
        for word in ("one", "two", "three"):
            await write(ada, word, url=url)
            assert (await ear.hear_of("new_comment"))["comment"]["t"] == word
        assert await house.metric(COUNT) >= before[0] + 3
        assert 0 < await house.metric(SUM) - before[1] < 60

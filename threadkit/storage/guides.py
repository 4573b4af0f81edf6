"""Which nodes of a cluster to ask where everything is. One that is cut off from the others still answers, with what was true
before; and one that is cut off from us does not, for as long as we are willing to wait."""

import asyncio
from collections.abc import Iterable

from redis.asyncio.cluster import ClusterNode
from redis.exceptions import ConnectionError as StoreConnectionError
from redis.exceptions import ResponseError

_GRACE_S = 0.2  # for somebody who sees the cluster well, after others have answered who do not


async def sees_it_well(node: ClusterNode) -> bool:
    """Whether a node says that the cluster is well, which one that reaches no majority does not."""
    try:
        return bool((await node.execute_command("CLUSTER INFO"))["cluster_state"] == "ok")
    except ResponseError:  # it may not be asked that; what it may be asked, it is asked next
        return False


async def guides(nodes: Iterable[ClusterNode]) -> list[ClusterNode]:
    """One that sees the cluster well, or if there is none whoever answers. All are asked at once."""
    asking = {asyncio.create_task(sees_it_well(node), name="cluster guide"): node for node in nodes}
    for task in asking:
        task.add_done_callback(_is_over)
    waiting = set(asking)
    answered: list[ClusterNode] = []
    trouble: BaseException | None = None
    try:
        while waiting:
            patience_s = _GRACE_S if answered else None
            done, waiting = await asyncio.wait(waiting, timeout=patience_s, return_when=asyncio.FIRST_COMPLETED)
            if not done:
                break
            for task in done:
                if error := task.exception():
                    trouble = error
                elif task.result():
                    return [asking[task]]
                else:
                    answered.append(asking[task])
    finally:
        for task in waiting:
            task.cancel()
        if waiting:
            await asyncio.wait(waiting, timeout=_GRACE_S)
    if not answered:
        raise StoreConnectionError(f"No node of the cluster answers: {trouble}") from trouble
    return answered


def _is_over(task: asyncio.Task[bool]) -> None:
    """Whatever came of it: one that hangs may end, and not well, long after somebody else has answered."""
    if not task.cancelled():
        task.exception()

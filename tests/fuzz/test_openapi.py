"""Every call of the OpenAPI document with made-up values, good and bad: no fault of ours, and no status that is not
written down. Two examples of each in `make test`, eight in `make prove`; THREADKIT_SOAK=1 makes it a long one. T13, T14, G23."""

import os
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.fuzz.house import House, document, open_house
from tests.tiers import PROVING

EXAMPLES = 200 if os.environ.get("THREADKIT_SOAK") else 8 if PROVING else 2


def no_fault_of_ours(_ctx: Any, response: Any, _case: Any) -> None:
    """What is not switched on or too busy says so with 503; anything else above 499 is a fault."""
    assert response.status_code < 500 or response.status_code == 503, response.text[:500]


CHECKS: list[Any] = [
    no_fault_of_ours,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
# Answers that do not end, and one that ends the site under test.
LEFT_OUT = r"^(/v1/events|/v1/moderation/events)$"


@pytest.fixture(scope="module")
def house() -> Iterator[House]:
    with open_house() as found:
        yield found
        surprises = found.asked - found.answered_well
        print(f"\nG23: {found.asked} requests made from the document, {surprises} surprises")


schema = schemathesis.openapi.from_dict(document()).exclude(path_regex=LEFT_OUT)
# Every boundary of every parameter, one by one: ten thousand requests.
schema.config.phases.coverage.enabled = EXAMPLES > 2


@schema.parametrize()
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@pytest.mark.prove(also=True)
@pytest.mark.timeout(600)
def test_no_call_is_answered_with_a_surprise(case: Any, house: House) -> None:
    for caller in house.callers_of(case.path, case.method):
        house.asked += 1
        case.call_and_validate(base_url=house.url, headers=caller, checks=CHECKS, timeout=30)
        house.answered_well += 1

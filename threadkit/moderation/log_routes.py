"""The moderation log as a file, for those who keep it elsewhere."""

import csv
import io
from collections.abc import AsyncIterator
from typing import Any

import msgspec
from litestar import Response
from litestar.di import NamedDependency
from litestar.openapi.datastructures import ResponseSpec
from litestar.response import Stream

from threadkit.clock import iso
from threadkit.http.routing import Router, get
from threadkit.ids import SiteId
from threadkit.moderation.log import LogEntry, ModerationLog
from threadkit.services import Services
from threadkit.sites.model import Site
from threadkit.users.access import requires_admin

CSV = "text/csv"
JSON_LINES = "application/jsonl"
COLUMNS = (
    "id",
    "at",
    "action",
    "by",
    "user_id",
    "comment_id",
    "reason",
    "before",
    "after",
    "until",
    "count",
    "job_id",
    "page_id",
)
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


@get(
    "/log.csv",
    guards=[requires_admin],
    summary="The whole log as a table",
    responses={200: ResponseSpec(str, description="Oldest first", media_type=CSV)},
)
async def log_csv(site: NamedDependency[Site], services: NamedDependency[Services]) -> Response[Any]:
    """For spreadsheets: what one of them might take for a formula begins with an apostrophe."""
    return _file(_csv_lines(services.moderation_log, site.id), CSV, "moderation-log.csv")


@get(
    "/log.jsonl",
    guards=[requires_admin],
    summary="The whole log, an entry a line",
    responses={200: ResponseSpec(str, description="Oldest first", media_type=JSON_LINES)},
)
async def log_jsonl(site: NamedDependency[Site], services: NamedDependency[Services]) -> Response[Any]:
    return _file(_json_lines(services.moderation_log, site.id), JSON_LINES, "moderation-log.jsonl")


def _file(lines: AsyncIterator[bytes], media_type: str, name: str) -> Response[Any]:
    headers = {"Cache-Control": "no-store", "Content-Disposition": f'attachment; filename="{name}"'}
    return Stream(lines, media_type=media_type, headers=headers)


async def _csv_lines(log: ModerationLog, site_id: SiteId) -> AsyncIterator[bytes]:
    yield _rows([COLUMNS])
    async for entries in log.all(site_id):
        yield _rows([_row(entry) for entry in entries])


async def _json_lines(log: ModerationLog, site_id: SiteId) -> AsyncIterator[bytes]:
    async for entries in log.all(site_id):
        yield b"".join(msgspec.json.encode(entry) + b"\n" for entry in entries)


def _row(entry: LogEntry) -> tuple[str, ...]:
    until = iso(entry.until_ms) if entry.until_ms else ""
    cells = (entry.action, entry.by, entry.user_id, entry.comment_id, entry.reason, entry.before, entry.after)
    count = "" if entry.count is None else str(entry.count)
    return (
        entry.id,
        iso(entry.at_ms),
        *(_cell(text or "") for text in cells),
        until,
        count,
        entry.job_id or "",
        entry.page_id or "",
    )


def _cell(text: str) -> str:
    return f"'{text}" if text.lstrip(" ").startswith(_FORMULA) else text


def _rows(rows: list[tuple[str, ...]]) -> bytes:
    written = io.StringIO()
    csv.writer(written).writerows(rows)
    return written.getvalue().encode()


router = Router("/moderation", route_handlers=[log_csv, log_jsonl], tags=["Moderation"])

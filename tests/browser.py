"""The system's Chromium, and the application on a port where it can be reached."""

import asyncio
import contextlib
import os
import shutil
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import uvicorn
from playwright.async_api import Browser, async_playwright

from tests.wait import until
from threadkit.app import Application

# The shell draws the same pages for half of the time.
CHROMIUM = next(filter(None, map(shutil.which, ("chromium-headless-shell", "chromium", "chromium-browser"))), None)


@contextlib.asynccontextmanager
async def listening(app: Application) -> AsyncIterator[str]:
    """The application on a real port; gives its address."""
    config = uvicorn.Config(app, host="127.0.0.1", port=0, lifespan="off", ws="none", log_config=None)
    running = uvicorn.Server(config)
    task = asyncio.create_task(running.serve())
    await until(lambda: running.started, "the server to listen")
    yield f"http://127.0.0.1:{running.servers[0].sockets[0].getsockname()[1]}"
    running.should_exit = True
    await task


@contextlib.asynccontextmanager
async def chromium() -> AsyncIterator[Browser]:
    """One that is driven."""
    async with async_playwright() as playwright:
        found = await playwright.chromium.launch(
            executable_path=CHROMIUM,
            args=["--no-sandbox", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
        )
        try:
            yield found
        finally:
            await found.close()


@contextlib.asynccontextmanager
async def browsing(url: str, rules: str, folder: Path) -> AsyncIterator[Path]:
    """A browser at an address; gives the file to which it writes what its console says."""
    console = folder / "console.txt"
    flags = (
        *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-popup-blocking", "--disable-dev-shm-usage"),
        *("--no-first-run", "--remote-debugging-port=0", "--enable-logging=stderr", "--ignore-certificate-errors"),
        *(f"--user-data-dir={folder / 'profile'}", f"--host-resolver-rules={rules}"),
    )
    with console.open("wb") as errors:
        browser = await asyncio.create_subprocess_exec(
            str(CHROMIUM), *flags, url, stdout=errors, stderr=errors, start_new_session=True
        )
        try:
            yield console
        finally:
            os.killpg(browser.pid, signal.SIGTERM)  # what was started may be a script that started the browser
            await browser.wait()

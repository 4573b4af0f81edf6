"""A server whose owner chose that texts go too, with its journal in a folder of its own."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from threadkit.settings import BackupSettings, Settings


@pytest.fixture
def settings(settings: Settings, tmp_path: Path) -> Settings:
    return replace(
        settings,
        backup=BackupSettings(enabled=False, folder=str(tmp_path / "backups")),
        accounts=replace(settings.accounts, on_deletion="erase"),
    )

"""What runs inside each worker process."""

import gc

from threadkit import logs
from threadkit.app import Application, create_app
from threadkit.keyring import open_keyring
from threadkit.settings import Settings
from threadkit.storage.bundled import address_in, die_with_parent
from threadkit.storage.client import StoreAddress, parse_url


def store_address(settings: Settings) -> StoreAddress:
    return parse_url(settings.redis_url) if settings.redis_url else address_in(settings.data_folder)


def create(settings: Settings) -> Application:
    """The application of one of several workers, with the settings that its parent has read."""
    die_with_parent()
    gc.disable()
    logs.configure(settings)
    app = create_app(settings, store_address(settings), open_keyring(settings))
    settle_memory()
    return app


def settle_memory() -> None:
    """What was made at start stays until the end: the collector of cycles need not look through it again and again."""
    gc.collect()
    gc.freeze()
    gc.enable()

"""Which ways in a site offers, in the order in which they are shown."""

from collections.abc import Container
from typing import Literal

from msgspec import Struct

from threadkit.sites.model import Site


class Method(Struct):
    id: str
    name: str
    type: Literal["otp", "oauth", "anonymous", "password", "sso"]


def ways_in(site: Site, *, providers: Container[str], oidc_name: str) -> list[Method]:
    """What the site has switched on and this server can do."""
    auth = site.settings.auth
    offered = [
        (auth.email, Method("email", "Email", "otp")),
        (auth.google and "google" in providers, Method("google", "Google", "oauth")),
        (auth.github and "github" in providers, Method("github", "GitHub", "oauth")),
        (auth.anonymous, Method("anonymous", "Guest", "anonymous")),
        (auth.phone, Method("phone", "Phone", "otp")),
        (auth.password, Method("password", "Password", "password")),
        (auth.discord and "discord" in providers, Method("discord", "Discord", "oauth")),
        (auth.oidc and "oidc" in providers, Method("oidc", oidc_name, "oauth")),
        (auth.sso and site.sso_secret is not None, Method("sso", site.name, "sso")),
    ]
    return [method for is_on, method in offered if is_on]

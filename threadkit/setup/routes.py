"""`/setup`: where the one-time link leads. A plain form, so that it works in any browser."""

from html import escape
from typing import Annotated, Any

from litestar import Response, Router, get, post
from litestar.di import NamedDependency
from litestar.enums import RequestEncodingType
from litestar.params import Body, QueryParameter

from threadkit.errors import ThreadKitError
from threadkit.services import Services
from threadkit.setup.service import LinkUsed

_POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
_HEADERS = {"Content-Security-Policy": _POLICY, "Cache-Control": "no-store"}


@get("/setup", include_in_schema=False)
async def form(services: NamedDependency[Services], token: Annotated[str, QueryParameter()] = "") -> Response[str]:
    if not await services.setup.link_is_good(token):
        return _page("The link has expired", f"<p>{escape(LinkUsed().message)}</p>", status=404)
    return _page("Make the first owner", _form(token, {}))


@post("/setup", include_in_schema=False, opt={"form": True}, status_code=200)
async def make_owner(
    data: Annotated[dict[str, Any], Body(media_type=RequestEncodingType.URL_ENCODED)],
    services: NamedDependency[Services],
) -> Response[str]:
    given = {name: str(data.get(name, ""))[:1000] for name in ("token", "name", "email", "password")}
    try:
        site, user = await services.setup.make_owner(
            given["token"], name=given["name"], email=given["email"], password=given["password"]
        )
    except LinkUsed as error:
        return _page("The link has expired", f"<p>{escape(error.message)}</p>", status=404)
    except ThreadKitError as error:
        alert = f'<p role="alert">{escape(error.message)}</p>'
        return _page("Make the first owner", alert + _form(given["token"], given), status=error.status)
    snippet = (
        f'<script async src="{services.settings.base_url}/embed.js" data-project="{site.api_key_public}"></script>'
    )
    return _page(
        f"Welcome, {user.name}",
        f"<p>You own <strong>{escape(site.name)}</strong>. Put this where its comments shall appear:</p>"
        f"<pre><code>{escape(snippet)}</code></pre>"
        '<p>Read on: <a href="/docs">the API</a>.</p>',
    )


def _form(token: str, given: dict[str, str]) -> str:
    def value(name: str) -> str:
        return escape(given.get(name, ""), quote=True)

    return (
        "<p>This account can do everything on this server's first site.</p>"
        '<form method="post" action="/setup">'
        f'<input type="hidden" name="token" value="{escape(token, quote=True)}">'
        f'<label>Name <input name="name" required maxlength="24" autocomplete="username" value="{value("name")}"></label>'
        f'<label>E-mail <input name="email" type="email" required autocomplete="email" value="{value("email")}"></label>'
        '<label>Password <input name="password" type="password" required minlength="8" maxlength="256" '
        'autocomplete="new-password"></label>'
        '<button type="submit">Make me the owner</button></form>'
    )


def _page(title: str, body: str, *, status: int = 200) -> Response[str]:
    html = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)} · ThreadKit</title>"
        '<link rel="icon" href="/favicon.svg"><link rel="stylesheet" href="/docs/style.css"></head>'
        f"<body><main><h1>{escape(title)}</h1>{body}</main></body></html>"
    )
    return Response(html, media_type="text/html", status_code=status, headers=_HEADERS)


router = Router("/", route_handlers=[form, make_owner])

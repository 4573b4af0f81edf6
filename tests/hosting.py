"""A page on another origin than ThreadKit's, as the site that embeds it would serve it."""

import contextlib
import http.server
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Host:
    """The site that embeds ThreadKit: pages by path, all under one strict policy."""

    port: int
    threadkit: str
    project: str
    pages: dict[str, str] = field(default_factory=dict)
    policy: str = ""
    # axe comes in as a string that is evaluated, which the strict policy forbids.
    without_policy: set[str] = field(default_factory=set)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def line(self, project: str = "", **options: str) -> str:
        """The one line."""
        more = "".join(f' data-{name.replace("_", "-")}="{value}"' for name, value in options.items())
        return f'<script async src="{self.threadkit}/embed.js" data-project="{project or self.project}"{more}></script>'

    def put(self, path: str, body: str, *, lang: str = "en", head: str = "", is_strict: bool = True) -> str:
        if not is_strict:
            self.without_policy.add(path)
        self.pages[path] = (
            f'<!doctype html><html lang="{lang}"><head><meta charset="utf-8"><title>An article</title>{head}'
            f'<meta name="viewport" content="width=device-width"></head>'
            f"<body><main><h1>An article</h1>{body}</main></body></html>"
        )
        return self.url + path


@contextlib.contextmanager
def hosting(threadkit_port: int, project: str) -> Iterator[Host]:
    """The page comes from 127.0.0.1 and ThreadKit from localhost, which for a browser are two sites."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = found.pages.get(self.path.partition("?")[0])
            content = (body or "nothing here").encode()
            self.send_response(200 if body else 404)
            self.send_header("content-type", "text/html; charset=utf-8")
            self.send_header("content-length", str(len(content)))
            if self.path.partition("?")[0] not in found.without_policy:
                self.send_header("content-security-policy", found.policy)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            pass

    listening = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threadkit = f"http://localhost:{threadkit_port}"
    found = Host(listening.server_port, threadkit, project)
    found.policy = (
        f"default-src 'none'; script-src {threadkit}; connect-src {threadkit} ws://localhost:{threadkit_port}; "
        f"frame-src {threadkit}; require-trusted-types-for 'script'; trusted-types threadkit"
    )
    threading.Thread(target=listening.serve_forever, daemon=True).start()
    yield found
    listening.shutdown()
    listening.server_close()

"""`python -m threadkit.health.container`: the health check of the image. Fails when the program does not answer."""

from urllib.request import ProxyHandler, build_opener

from threadkit.settings import load

TIMEOUT_S = 4


def main() -> None:
    settings = load().settings
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(settings.host, settings.host)  # noqa: S104 - not to listen on
    where = f"[{host}]" if ":" in host else host
    # Without the proxies of the environment: this request must not leave the container.
    build_opener(ProxyHandler({})).open(f"http://{where}:{settings.port}/healthz", timeout=TIMEOUT_S)


if __name__ == "__main__":
    main()

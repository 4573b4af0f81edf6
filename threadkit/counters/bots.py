"""Who is no reader: programs that fetch pages, and browsers that fetch them before anybody looks. No I/O here.

Careful rather than thorough: what might be a person counts. So the libraries with which apps on phones speak
(okhttp, CFNetwork, Dart) are not in the list, and a word counts only where no browser is known to say it.
"""

import re
from collections.abc import Mapping

_WORDS = (
    # What they call themselves; Cubot makes phones.
    rb"(?<!cu)bot",
    rb"crawl",
    rb"crowler",
    rb"spider",
    rb"slurp",
    rb"scrap",
    rb"archiver",
    rb"fetcher",
    rb"preview",
    rb"validator",
    rb"checker",
    rb"scanner",
    rb"monitor",
    rb"uptime",
    rb"headless",
    rb"phantomjs",
    rb"lighthouse",
    rb"pagespeed",
    rb"synthetics",
    # A contact address is what polite programs carry; browsers carry none.
    rb"\+https?://",
    # Services that show or watch what others link to.
    rb"facebookexternalhit",
    rb"facebookcatalog",
    rb"meta-external",
    rb"^whatsapp/",
    rb"embedly",
    rb"iframely",
    rb"mediapartners-google",
    rb"apis-google",
    rb"google-(?:inspectiontool|read-aloud|site-verification)",
    rb"googleother",
    rb"yandex(?:metrika|images|webmaster)",
    rb"feedly",
    rb"pingdom",
    rb"statuscake",
    rb"site24x7",
    rb"gtmetrix",
    rb"newrelicpinger",
    rb"ptst/",
    rb"censysinspect",
    rb"zgrab",
    rb"masscan",
    rb"nikto",
    rb"nmap",
    rb"httrack",
    # Libraries and tools for programs.
    rb"^(?:curl|wget|java|axios|got|ruby|php|lua-resty-http|httpie|node|deno|bun|undici|perl|hackney|faraday)\b",
    rb"python-|aiohttp|httpx|urllib",
    rb"libwww-perl|lwp::|libcurl|guzzle|node-fetch|superagent",
    rb"go-http-client|apache-httpclient|http\.rb|http_request2|winhttp|reqwest",
    rb"postmanruntime|insomnia/|k6/|jmeter|apachebench|vegeta|selenium|puppeteer|playwright|cypress",
)
_BOT = re.compile(b"|".join(_WORDS), re.IGNORECASE)


def is_bot(user_agent: bytes) -> bool:
    """Whether this is a program without a reader. Whoever says nothing at all is one, too."""
    return not user_agent.strip() or _BOT.search(user_agent) is not None


def is_prefetch(headers: Mapping[bytes, bytes]) -> bool:
    """Whether a browser fetches ahead of a reader who may never come."""
    for name in (b"sec-purpose", b"purpose", b"x-purpose", b"x-moz"):
        if name in headers:
            said = headers[name].lower()
            if b"prefetch" in said or b"prerender" in said or b"preview" in said:
                return True
    return False

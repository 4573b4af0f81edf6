"""Who is a reader and who is not: real user agents."""

import pytest

from threadkit.counters.bots import is_bot, is_prefetch

WEBKIT = "AppleWebKit/537.36 (KHTML, like Gecko)"
IPHONE = "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko)"
PIXEL = f"Mozilla/5.0 (Linux; Android 14; Pixel 8) {WEBKIT}"

BROWSERS = [
    f"Mozilla/5.0 (Windows NT 10.0; Win64; x64) {WEBKIT} Chrome/126.0.0.0 Safari/537.36",
    f"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) {WEBKIT} Chrome/126.0.0.0 Safari/537.36",
    f"Mozilla/5.0 (X11; Linux x86_64) {WEBKIT} Chrome/125.0.0.0 Safari/537.36",
    f"Mozilla/5.0 (X11; CrOS x86_64 14541.0.0) {WEBKIT} Chrome/126.0.0.0 Safari/537.36",
    f"{PIXEL} Chrome/126.0.6478.50 Mobile Safari/537.36",
    f"Mozilla/5.0 (Linux; Android 10; K) {WEBKIT} Chrome/126.0.0.0 Mobile Safari/537.36",
    f"{IPHONE} CriOS/126.0.6478.35 Mobile/15E148 Safari/604.1",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:127.0) Gecko/20100101 Firefox/127.0",
    "Mozilla/5.0 (X11; Ubuntu; Linux x86_64; rv:126.0) Gecko/20100101 Firefox/126.0",
    "Mozilla/5.0 (Android 14; Mobile; rv:127.0) Gecko/127.0 Firefox/127.0",
    f"{IPHONE} FxiOS/127.0 Mobile/15E148 Safari/605.1.15",
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 14_5) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Safari/605.1.15",
    f"{IPHONE} Version/17.5 Mobile/15E148 Safari/604.1",
    "Mozilla/5.0 (iPad; CPU OS 16_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/16.6 Mobile/15E148 "
    "Safari/604.1",
    f"Mozilla/5.0 (Windows NT 10.0; Win64; x64) {WEBKIT} Chrome/126.0.0.0 Safari/537.36 Edg/126.0.2592.56",
    f"{PIXEL} Chrome/125.0.0.0 Mobile Safari/537.36 EdgA/125.0.2535.51",
    f"Mozilla/5.0 (Windows NT 10.0; Win64; x64) {WEBKIT} Chrome/124.0.0.0 Safari/537.36 OPR/110.0.0.0",
    f"Mozilla/5.0 (Linux; Android 13; SM-A536B) {WEBKIT} Chrome/124.0.0.0 Mobile Safari/537.36 OPR/82.0.4342.79",
    f"Mozilla/5.0 (Linux; Android 13; SAMSUNG SM-S911B) {WEBKIT} SamsungBrowser/25.0 Chrome/121.0.0.0 Mobile "
    "Safari/537.36",
    f"Mozilla/5.0 (Windows NT 10.0; Win64; x64) {WEBKIT} Chrome/126.0.0.0 Safari/537.36 Vivaldi/6.8.3381.44",
    f"Mozilla/5.0 (Windows NT 10.0; Win64; x64) {WEBKIT} Chrome/122.0.0.0 YaBrowser/24.4.0.0 Safari/537.36",
    f"Mozilla/5.0 (Linux; U; Android 12; en-US; Redmi Note 11) {WEBKIT} Version/4.0 Chrome/100.0.4896.58 "
    "UCBrowser/13.4.0.1306 Mobile Safari/537.36",
    f"{IPHONE} Mobile/15E148 DuckDuckGo/7 Safari/605.1.15",
    "Mozilla/5.0 (Windows NT 10.0; WOW64; Trident/7.0; rv:11.0) like Gecko",
    "Mozilla/4.0 (compatible; MSIE 8.0; Windows NT 6.1; Trident/4.0; http://bsalsa.com)",
    f"{IPHONE} Mobile/15E148 [FBAN/FBIOS;FBAV/468.0.0.35.103;FBBV/609180264;FBDV/iPhone14,5;FBMD/iPhone;FBSN/iOS]",
    f"{IPHONE} Mobile/21F79 Instagram 335.1.8.26.85 (iPhone14,5; iOS 17_5; en_GB; scale=3.00; 1170x2532)",
    f"{PIXEL} Version/4.0 Chrome/126.0.0.0 Mobile Safari/537.36 [Pinterest/Android]",
    f"Mozilla/5.0 (Linux; Android 11; CUBOT NOTE 20) {WEBKIT} Chrome/120.0.0.0 Mobile Safari/537.36",
    f"{IPHONE} GSA/320.0.640354553 Mobile/15E148 Safari/604.1",
    f"{PIXEL} Version/4.0 Chrome/126.0.0.0 Mobile Safari/537.36 musical_ly_2023400040 trill",
    "Lynx/2.9.0dev.12 libwww-FM/2.14 SSL-MM/1.4.1 GNUTLS/3.7.8",
    "w3m/0.5.3+git20230121",
    "okhttp/4.12.0",
    "MyReader/12 CFNetwork/1496.0.7 Darwin/23.5.0",
    "Dart/3.4 (dart:io)",
]

BOTS = [
    "",
    "   ",
    "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
    f"Mozilla/5.0 (Linux; Android 6.0.1; Nexus 5X Build/MMB29P) {WEBKIT} Chrome/126.0.6478.61 Mobile Safari/537.36 "
    "(compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
    f"Mozilla/5.0 {WEBKIT} (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm) Chrome/116.0 Safari/537.36",
    f"Mozilla/5.0 (Windows NT 10.0; Win64; x64) {WEBKIT} Chrome/103.0 Safari/537.36 BingPreview/1.0b",
    "Mozilla/5.0 (compatible; Yahoo! Slurp; http://help.yahoo.com/help/us/ysearch/slurp)",
    "Mozilla/5.0 (compatible; YandexBot/3.0; +http://yandex.com/bots)",
    "Mozilla/5.0 (compatible; YandexMetrika/2.0; http://yandex.com/bots yabs01)",
    "Mozilla/5.0 (compatible; Baiduspider/2.0; +http://www.baidu.com/search/spider.html)",
    "Sogou web spider/4.0(+http://www.sogou.com/docs/help/webmasters.htm#07)",
    "DuckDuckBot/1.1; (+http://duckduckgo.com/duckduckbot.html)",
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_5) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/13.1.1 "
    "Safari/605.1.15 (Applebot/0.1; +http://www.apple.com/go/applebot)",
    f"Mozilla/5.0 {WEBKIT}; compatible; GPTBot/1.2; +https://openai.com/gptbot",
    f"Mozilla/5.0 {WEBKIT}; compatible; ClaudeBot/1.0; +claudebot@anthropic.com)",
    "CCBot/2.0 (https://commoncrawl.org/faq/)",
    f"Mozilla/5.0 {WEBKIT}; compatible; PerplexityBot/1.0; +https://perplexity.ai/perplexitybot)",
    "Mozilla/5.0 (Linux; Android 5.0) AppleWebKit/537.36 (KHTML, like Gecko) Mobile Safari/537.36 (compatible; "
    "Bytespider; spider-feedback@bytedance.com)",
    "Mozilla/5.0 (compatible; AhrefsBot/7.0; +http://ahrefs.com/robot/)",
    "Mozilla/5.0 (compatible; SemrushBot/7~bl; +http://www.semrush.com/bot.html)",
    "Mozilla/5.0 (compatible; MJ12bot/v1.4.8; http://mj12bot.com/)",
    "Mozilla/5.0 (compatible; Barkrowler/0.9; +https://babbar.tech/crawler)",
    "Screaming Frog SEO Spider/19.8",
    "facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)",
    "meta-externalagent/1.1",
    "Twitterbot/1.0",
    "Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)",
    "Mozilla/5.0 (compatible; Discordbot/2.0; +https://discordapp.com)",
    "TelegramBot (like TwitterBot)",
    "WhatsApp/2.23.20.0",
    "LinkedInBot/1.0 (compatible; Mozilla/5.0; Apache-HttpClient +http://www.linkedin.com)",
    "http.rb/5.1.1 (Mastodon/4.2.0; +https://mastodon.example/)",
    "Mediapartners-Google",
    "FeedFetcher-Google; (+http://www.google.com/feedfetcher.html)",
    "Mozilla/5.0 (compatible; ia_archiver/1.0)",
    f"Mozilla/5.0 (X11; Linux x86_64) {WEBKIT} HeadlessChrome/126.0.0.0 Safari/537.36",
    f"Mozilla/5.0 (Linux; Android 11; moto g power) {WEBKIT} Chrome/119.0.0.0 Mobile Safari/537.36 Chrome-Lighthouse",
    f"Mozilla/5.0 (X11; Linux x86_64) {WEBKIT} Chrome/61.0.3163.100 Safari/537.36 PingdomPageSpeed/1.0 (pingbot/2.0)",
    "Mozilla/5.0+(compatible; UptimeRobot/2.0; http://www.uptimerobot.com/)",
    "Mozilla/5.0 (compatible; CensysInspect/1.1; +https://about.censys.io/)",
    "W3C_Validator/1.3 http://validator.w3.org/services",
    "curl/8.5.0",
    "Wget/1.21.4",
    "python-requests/2.32.3",
    "Python-urllib/3.11",
    "python-httpx/0.28.1",
    "Go-http-client/1.1",
    "Java/17.0.2",
    "axios/1.7.2",
    "node",
    "Scrapy/2.11.2 (+https://scrapy.org)",
    "libwww-perl/6.72",
    "PostmanRuntime/7.39.0",
]


@pytest.mark.parametrize("agent", BROWSERS)
def test_people_count(agent: str) -> None:
    assert not is_bot(agent.encode("latin-1"))


@pytest.mark.parametrize("agent", BOTS)
def test_programs_do_not(agent: str) -> None:
    assert is_bot(agent.encode("latin-1"))
    assert is_bot(agent.upper().encode("latin-1"))


@pytest.mark.parametrize(
    ("name", "value", "ahead"),
    [
        (b"sec-purpose", b"prefetch", True),
        (b"sec-purpose", b"prefetch;prerender", True),
        (b"purpose", b"prefetch", True),
        (b"x-purpose", b"preview", True),
        (b"x-moz", b"prefetch", True),
        (b"purpose", b"", False),
        (b"sec-fetch-mode", b"prefetch", False),
        (b"accept", b"*/*", False),
    ],
)
def test_pages_fetched_ahead_of_a_reader_are_told_apart(name: bytes, value: bytes, ahead: bool) -> None:
    assert is_prefetch({b"host": b"x", name: value}) is ahead


def test_a_hostile_agent_costs_no_more_than_its_length() -> None:
    assert not is_bot(b"Mozilla/5.0 " + b"cub" * 100_000)

"""What each setting of a site does and when to change it, for people. A test holds every setting to having a sentence."""

from msgspec import Struct


class Group(Struct, frozen=True):
    id: str
    title: str
    explanation: str
    beginnings: tuple[str, ...]
    """Names of settings, or what they begin with."""


GROUPS = (
    Group(
        "writing",
        "Writing and approval",
        "Who may write, and whether comments wait for a moderator.",
        (
            "moderation_mode",
            "auto_approve_verified",
            "require_verification",
            "posting_disabled",
            "edit_window_minutes",
        ),
    ),
    Group(
        "screening",
        "Screens",
        "What every text passes before it appears. Nothing of it leaves this server.",
        ("screening.",),
    ),
    Group(
        "outside",
        "Outside checks",
        "Services elsewhere that are asked about comments. All are off until you switch them on.",
        ("content_moderation.", "akismet.", "webhook.", "turnstile."),
    ),
    Group("sign_in", "Signing in", "The ways in that visitors of this site are offered.", ("auth.",)),
    Group(
        "display",
        "Display and order",
        "What visitors see of numbers, and in which order comments stand.",
        ("display.", "voting", "hot."),
    ),
    Group(
        "limits",
        "Limits",
        "How often somebody may call on this site. Empty means what the server has for all sites.",
        ("rate_limits.",),
    ),
    Group(
        "pages",
        "Pages and programs",
        "Where comments may be shown, how addresses are told apart, and how programs are answered.",
        ("allowed_origins", "drop_tracking_parameters", "errors"),
    ),
)

WORDS = {
    "moderation_mode": (
        "With pre every comment waits until a moderator approves it. With none or post comments appear at once and "
        "moderators look afterwards; what the screens hold waits all the same. Choose pre while spam or trouble is heavy."
    ),
    "auto_approve_verified": (
        "With moderation before publishing, people who have confirmed an e-mail address or phone number need not wait. "
        "Switch it on when the queue grows and most of it is fine."
    ),
    "require_verification": (
        "Only people who have confirmed an e-mail address or phone number may write. It keeps out throw-away accounts, "
        "and guests as well."
    ),
    "posting_disabled": (
        "Nobody may write or edit; everything can still be read. For emergencies, or to close a site that is over."
    ),
    "edit_window_minutes": (
        "For so many minutes authors may change their comment; 0 means never. Shorten it if people change texts after "
        "others have answered."
    ),
    "voting": "Whether readers can vote: on for up and down, up for upvotes only, off for none.",
    "allowed_origins": (
        "Other hosts on which this site's comments may be shown, such as www.example.net or *.example.net. The site's own "
        "domain and what is below it are always allowed. Add your test or preview hosts here."
    ),
    "drop_tracking_parameters": (
        "Addresses that differ only in utm_source, fbclid and the like are one page. Decide early: comments written "
        "under such addresses before stay under them."
    ),
    "errors": (
        "How programs are told of errors: problem for structured JSON, text for plain sentences, empty for what the "
        "server has. Change it only for an older client that asks for it."
    ),
    "hot.kind": (
        "How the hot order is computed. With decay newer comments can overtake older ones with more votes; documented is "
        "the formula of older servers, which hardly looks at age. A change ranks all comments anew, in the background."
    ),
    "hot.decay_s": (
        "For decay: being this many seconds younger weighs as much as ten times the votes. Smaller brings new comments up "
        "sooner; a month suits blogs, a day suits news. A change ranks all comments anew, in the background."
    ),
    "display.show_pageviews": "Tell visitors how often a page was viewed.",
    "display.show_vote_counts": (
        "Show the number of votes beside comments. Without it people vote less by what others did."
    ),
    "display.default_sort": "The order in which visitors first see comments; each can choose another.",
    "auth.email": "Sign in with a code that is sent by e-mail. Needs mail to be set up on the server.",
    "auth.phone": "Sign in with a code by text message. Needs text messages to be set up on the server, and each costs.",
    "auth.password": "Sign in with an e-mail address and a password.",
    "auth.anonymous": (
        "People can write as guests with a name only. It invites the most comments, and the most spam: use it together "
        "with screens or approval."
    ),
    "auth.google": "Sign in with Google. Needs Google to be set up on the server.",
    "auth.github": "Sign in with GitHub. Needs GitHub to be set up on the server.",
    "auth.discord": "Sign in with Discord. Needs Discord to be set up on the server.",
    "auth.oidc": "Sign in with the OpenID Connect provider that is set up on the server, such as your company's own.",
    "auth.sso": (
        "Users of your own site are signed in here without another account: your server signs a token for each with the "
        "site's sign-in secret. Make that secret first, under keys."
    ),
    "auth.ethereum": "Kept for settings from other servers; there is no sign-in with Ethereum here, and nothing changes.",
    "auth.solana": "Kept for settings from other servers; there is no sign-in with Solana here, and nothing changes.",
    "rate_limits.ip_writes_per_minute": (
        "How many times a minute one address may write, vote, report and so on. Raise it if many of your readers share "
        "an address, as in a school."
    ),
    "rate_limits.ip_reads_per_minute": "How many times a minute one address may read. Raise it for shared addresses.",
    "rate_limits.user_writes_per_minute": "How many times a minute one person may write, vote, report and so on.",
    "rate_limits.user_reads_per_minute": "How many times a minute one person may read.",
    "rate_limits.auth_attempts_per_hour": (
        "How many times an hour one address may try a password. Lower it if somebody is guessing."
    ),
    "content_moderation.enabled": (
        "Ask a moderation service about every comment; the text is sent there. Needs the service to be set up on the server."
    ),
    "content_moderation.confidence_threshold": (
        "How sure the service must be, from 0 to 1, before something is done. Raise it if good comments are caught, lower "
        "it if bad ones pass."
    ),
    "content_moderation.action": (
        "What becomes of what the service objects to: reject refuses it, queue lets it wait for a moderator, flag shows it "
        "with a note for moderators. Begin with queue or flag until you trust the service."
    ),
    "content_moderation.blocked_categories.hate_speech": "Act on hatred against groups of people.",
    "content_moderation.blocked_categories.harassment": "Act on insults and threats against somebody.",
    "content_moderation.blocked_categories.sexual_content": (
        "Act on sexual content. Switch it off where that is what the site is about."
    ),
    "content_moderation.blocked_categories.violence": (
        "Act on depictions of violence. Switch it off where news or history would be caught."
    ),
    "content_moderation.blocked_categories.self_harm": (
        "Act on texts about hurting oneself. A site where people look for help should use the action queue with it."
    ),
    "content_moderation.blocked_categories.spam": "Act on advertising and fraud.",
    "content_moderation.blocked_categories.illegal_activity": "Act on instructions for and offers of crimes.",
    "turnstile.enabled": (
        "Ask Cloudflare whether a visitor is human before they write; their browser then talks to Cloudflare. Needs "
        "Turnstile's keys on the server."
    ),
    "turnstile.enforce_on": (
        "Who has to show it: all means everybody, anonymous and unverified mean those without an account, none means nobody."
    ),
    "turnstile.cache_duration_seconds": (
        "For so many seconds somebody who has shown to be human is not asked again; 0 asks every time."
    ),
    "akismet.enabled": (
        "Ask Akismet whether a comment is spam; text, name and the visitor's network are sent there. Needs a key of yours."
    ),
    "akismet.key": "Your key from akismet.com. It is kept and never shown again.",
    "akismet.send_address": (
        "Send Akismet the whole address of the visitor and not only their network. It judges better, and knows more: say "
        "so in your privacy notice."
    ),
    "webhook.enabled": (
        "Ask a program of yours about every comment before it appears. It has a second to answer; if it does not, known "
        "people write on and newcomers wait."
    ),
    "webhook.url": "Where that program listens. It must be an https address.",
    "webhook.secret": (
        "With this the calls are signed, so that your program knows that they come from here. Empty uses one that the "
        "server derives. It is kept and never shown again."
    ),
    "screening.order": (
        "In which order the screens look; the first that objects decides what moderators read. What you leave out comes last."
    ),
    "screening.repeated.enabled": "Hold the same or nearly the same text that somebody sends again within minutes.",
    "screening.repeated.minutes": "How many minutes back that screen looks.",
    "screening.repeated.likeness": (
        "How alike two texts must be, 1 for the same. Raise it if people who repeat themselves honestly are held."
    ),
    "screening.too_fast.enabled": "Hold what guests send faster than anybody can type. It catches simple programs.",
    "screening.too_fast.seconds": "Faster than this many seconds after the form was shown is too fast.",
    "screening.honeypot.enabled": (
        "Watch a field that people do not see and programs fill in. It costs people nothing; leave it on."
    ),
    "screening.honeypot.action": (
        "hold lets such a comment wait, refuse turns it away. Some browsers fill in hidden fields by themselves, so hold "
        "is the kinder one."
    ),
    "screening.first_comment.enabled": (
        "Newcomers wait until moderators have approved a comment of theirs. A good middle way between approving all and none."
    ),
    "screening.first_comment.approvals": "How many approved comments it takes until somebody need not wait any more.",
    "screening.links.enabled": "Hold comments with many links, which are what most spam is for.",
    "screening.links.newcomers": "From this many links on a newcomer's comment is held.",
    "screening.links.others": "From this many links on the comment of somebody known is held.",
    "screening.words.enabled": "Use the two word lists below.",
    "screening.words.hold": (
        "Comments with one of these wait for a moderator. An entry is a word (casino), words in a row (free money), with a "
        "star for any letters (casino*, v*gra), or a stem with any short ending (gambl~)."
    ),
    "screening.words.refuse": (
        "Comments with one of these are refused at once. Written as the list above; keep it for what nobody could mean well."
    ),
    "screening.words.names": "Look for these words in people's names too.",
    "screening.history.enabled": "Hold what people write of whose comments moderators lately rejected many.",
    "screening.history.percent": "More than this share of rejected comments in seven days is a bad history, in per cent.",
    "screening.history.least": "With fewer decided comments than this nothing is said about somebody's history.",
    "screening.learning.enabled": (
        "A filter that learns from what moderators approve and reject on this site. It gets better by itself; leave it on."
    ),
    "screening.learning.sureness": (
        "How sure the filter must be before it holds a comment. Raise it if good comments are held, lower it if spam passes."
    ),
    "screening.learning.least": "The filter says nothing before it has seen this many decisions of both kinds.",
}


def group_of(name: str) -> Group:
    return next(
        group
        for group in GROUPS
        if any(name.startswith(front) if front.endswith(".") else name == front for front in group.beginnings)
    )

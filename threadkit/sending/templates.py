"""What the messages say. Pure functions; nothing in them comes from users, and they hold no links and no images."""

from html import escape
from typing import Literal

from threadkit.sending.model import Mail, Sms, fits_a_header

Purpose = Literal["sign_in", "verify", "password_reset"]

_USES: dict[Purpose, str] = {
    "sign_in": "sign in to",
    "verify": "confirm your address for",
    "password_reset": "set a new password for",
}

# The name of a site is cut here in a text message, so that the whole stays one message.
_NAME_IN_SMS = 40

# Colours are left to the reader's program except where both schemes can read them.
_CODE_HTML = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="color-scheme" content="light dark">
<title>{subject}</title>
</head>
<body style="margin:0;padding:24px;font:16px/1.5 system-ui,sans-serif">
<p>Use this code to {use} <strong>{site}</strong>:</p>
<p style="margin:24px 0;font:bold 32px/1 ui-monospace,monospace;letter-spacing:4px">{code}</p>
<p>It is valid for 10 minutes. Give it to nobody.</p>
<p style="color:#767676;font-size:14px">If you did not ask for it, ignore this mail: nothing happens without the code.</p>
</body>
</html>
"""

_TEST_HTML = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="color-scheme" content="light dark">
<title>{subject}</title>
</head>
<body style="margin:0;padding:24px;font:16px/1.5 system-ui,sans-serif">
<p>{text}</p>
</body>
</html>
"""

_CODE_TEXT = """\
Use this code to {use} {site}:

    {code}

It is valid for 10 minutes. Give it to nobody.

If you did not ask for it, ignore this mail: nothing happens without the code.
"""


def code_mail(to: str, *, code: str, site_name: str, purpose: Purpose) -> Mail:
    site = _one_line(site_name)
    subject = f"{code} is your code for {site}"
    use = _USES[purpose]
    return Mail(
        to=to,
        subject=subject,
        text=_CODE_TEXT.format(use=use, site=site, code=code),
        html=_CODE_HTML.format(subject=escape(subject), use=use, site=escape(site), code=escape(code)),
    )


def test_mail(to: str) -> Mail:
    text = "This mail shows that your comment server can send mail. There is nothing to do."
    subject = "A test mail from ThreadKit"
    return Mail(to=to, subject=subject, text=text + "\n", html=_TEST_HTML.format(subject=subject, text=text))


_NOTICE_TEXT = """\
{sentence}

This is about your account on {site}. If it was you, there is nothing to do. If it was not, sign in, set a new password,
and look at your account there.
"""

_NOTICE_HTML = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="color-scheme" content="light dark">
<title>{subject}</title>
</head>
<body style="margin:0;padding:24px;font:16px/1.5 system-ui,sans-serif">
<p>{sentence}</p>
<p>This is about your account on <strong>{site}</strong>. If it was you, there is nothing to do. If it was not, sign in,
set a new password, and look at your account there.</p>
</body>
</html>
"""


def notice_mail(to: str, *, site_name: str, sentence: str, subject: str | None = None) -> Mail:
    """Something has happened to an account: mostly that how its owner signs in has changed."""
    site = _one_line(site_name)
    subject = (subject or "The sign-in of your account on {site} has changed").format(site=site)
    return Mail(
        to=to,
        subject=subject,
        text=_NOTICE_TEXT.format(sentence=sentence, site=site),
        html=_NOTICE_HTML.format(subject=escape(subject), sentence=escape(sentence), site=escape(site)),
    )


def code_sms(to: str, *, code: str, site_name: str) -> Sms:
    site = _one_line(site_name)[:_NAME_IN_SMS].rstrip()
    return Sms(to=to, text=f"{code} is your code for {site}. It is valid for 10 minutes.")


def _one_line(name: str) -> str:
    """A name that may stand in a subject: whatever would make the mail unsendable becomes a space."""
    spaced = "".join(character if fits_a_header(character) else " " for character in name)
    return " ".join(spaced.replace("=?", "= ?").split()) or "this site"

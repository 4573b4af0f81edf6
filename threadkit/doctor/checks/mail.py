"""Does mail leave? The mail server is greeted, and nothing is sent."""

import msgspec

from threadkit.doctor.model import Check
from threadkit.doctor.surroundings import About, Surroundings
from threadkit.sending.mail import SmtpSender
from threadkit.sending.model import Undelivered, Unsendable

LONGEST_S = 5.0

_mail = About("mail", "Mail")


async def mail(here: Surroundings) -> Check:
    settings = here.settings.mail
    if settings.host is None:
        found, fix = "No mail server is set, so codes are only written to the log.", "Set mail.host and mail.sender."
        return _mail.warning(found, fix) if here.is_local else _mail.bad(found, fix)
    where = f"{settings.host}:{settings.port}"
    brisk = msgspec.structs.replace(settings, timeout_s=min(settings.timeout_s, LONGEST_S))
    try:
        await SmtpSender(brisk).greet()
    except (Undelivered, Unsendable) as error:
        return _mail.bad(
            f"The mail server {where} does not take our mail: {error}.",
            "Look at mail.host, mail.port, mail.security, mail.username and mail.password.",
        )
    if settings.sender.rstrip(">").endswith("@localhost") and not here.is_local:
        return _mail.warning(
            f"{where} answers, but the sender is {settings.sender}, which many mail servers refuse.",
            'Set mail.sender = "Comments <comments@example.org>", an address of your own domain.',
        )
    return _mail.ok(f"{where} answers.")

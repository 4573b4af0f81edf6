"""Does mail leave? The mail server is greeted, and nothing is sent."""

import msgspec

from threadkit.doctor.model import Check
from threadkit.doctor.surroundings import Surroundings
from threadkit.sending.mail import SmtpSender
from threadkit.sending.model import Undelivered, Unsendable

LONGEST_S = 5.0


async def mail(here: Surroundings) -> Check:
    about, settings = here.about("mail"), here.settings.mail
    if settings.host is None:
        return about.warning("none") if here.is_local else about.bad("none")
    where = f"{settings.host}:{settings.port}"
    brisk = msgspec.structs.replace(settings, timeout_s=min(settings.timeout_s, LONGEST_S))
    try:
        await SmtpSender(brisk).greet()
    except (Undelivered, Unsendable) as error:
        if error.code is not None:
            return about.bad("answered", where=where, code=error.code)
        if isinstance(error.__cause__, TimeoutError):
            return about.bad("slow", where=where)
        return about.bad("refused", where=where, why=str(error).rstrip("."))
    if settings.sender.rstrip(">").endswith("@localhost") and not here.is_local:
        code = 'mail.sender = "Comments <comments@example.org>"'
        return about.warning("sender", where=where, sender=settings.sender, code=code)
    return about.ok("well", where=where)

"""Hands codes to the post office, in the words that fit."""

from threadkit.sending.model import OnFailed
from threadkit.sending.service import PostOffice
from threadkit.sending.templates import Purpose, code_mail, code_sms
from threadkit.users.model import VerificationType

_PURPOSES: dict[VerificationType, Purpose] = {
    "email": "sign_in",
    "phone": "sign_in",
    "password_reset": "password_reset",
    "staff": "sign_in",
    "password": "sign_in",
}


class Courier:
    def __init__(self, office: PostOffice) -> None:
        self._office = office

    def send_code(
        self, target: str, code: str, *, purpose: VerificationType, site_name: str, on_failed: OnFailed | None = None
    ) -> None:
        if "@" in target:
            mail = code_mail(target, code=code, site_name=site_name, purpose=_PURPOSES[purpose])
            self._office.send_mail(mail, on_failed=on_failed)
        else:
            self._office.send_sms(code_sms(target, code=code, site_name=site_name), on_failed=on_failed)

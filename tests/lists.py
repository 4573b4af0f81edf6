"""Makes the bundled lists anew from what others publish; docs/security/dependencies.md says where to get it.

python -m tests.lists confusables confusables.txt       threadkit/text/confusables.txt
python -m tests.lists passwords most_common_first.txt   threadkit/users/common_passwords.bin
"""

import itertools
import sys
import unicodedata
from pathlib import Path

from threadkit.users import common_passwords
from threadkit.users.passwords import SHORTEST

MOST_COMMON = 100_000
ROOT = Path(__file__).parents[1] / "threadkit"
HEADER = """\
# Which characters look alike: a prototype, a tab, and all that stand for it. Made by `python -m tests.lists confusables`
# from confusables.txt of {version}, of which only what normalisation (NFKC, NFD) leaves is kept.
# © Unicode, Inc. Used under the Unicode License, https://www.unicode.org/license.txt
"""


def confusables(text: str) -> str:
    version, by_prototype = "", dict[str, list[str]]()
    for line in text.splitlines():
        if line.startswith("# Version:"):
            version = "Unicode " + line.split()[-1]
        fields = [field.strip() for field in line.partition("#")[0].split(";")]
        if len(fields) < 3:
            continue
        source, prototype = ("".join(chr(int(code, 16)) for code in field.split()) for field in fields[:2])
        prototype = "".join(prototype.split())
        if unicodedata.normalize("NFD", unicodedata.normalize("NFKC", source)) == source and not source.isspace():
            by_prototype.setdefault(prototype, []).append(source)
    lines = [f"{prototype}\t{''.join(sorted(sources))}\n" for prototype, sources in sorted(by_prototype.items())]
    return HEADER.format(version=version) + "".join(line for line in lines if len(line.splitlines()) == 1)


def passwords(text: str) -> bytes:
    """The most common of those that are not too short anyway, whatever their case."""
    ordered = dict.fromkeys(line.strip().lower() for line in text.splitlines())
    long_enough = (password for password in ordered if len(password) >= SHORTEST)
    return common_passwords.make(list(itertools.islice(long_enough, MOST_COMMON)))


if __name__ == "__main__":
    source = Path(sys.argv[2]).read_text(encoding="utf-8-sig", errors="replace")
    if sys.argv[1] == "confusables":
        (ROOT / "text/confusables.txt").write_text(confusables(source), encoding="utf-8")
    else:
        (ROOT / "users/common_passwords.bin").write_bytes(passwords(source))

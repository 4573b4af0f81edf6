"""A pool of things people say, with the lengths and the formatting of real threads. Pure, and the same for a seed."""

from random import Random

POOL = 400

_SUBJECTS = (
    "the author", "my neighbour", "everybody I asked", "the second paragraph", "this approach", "the old version",
    "our team", "the chart above", "the title", "a friend of mine", "the committee", "half of the town", "the library",
    "that argument", "the new road", "the recipe", "nobody here", "the manual", "the weather", "the last update",
)  # fmt: skip
_VERBS = (
    "misses", "explains", "overlooks", "proves", "depends on", "ignores", "improves", "contradicts", "changed",
    "reminds me of", "could use", "still needs", "has nothing to do with", "finally fixes", "makes light of",
)  # fmt: skip
_OBJECTS = (
    "what was said last week", "the numbers", "the main point", "how people really work", "the cost of it",
    "the part about winter", "two of the three cases", "the simplest answer", "what we tried in spring",
    "the question at the end", "a good deal of history", "the difference between the two", "all that maintenance",
    "the small print", "anything I have seen so far", "the people who live there",
)  # fmt: skip
_ENDS = (
    ".",
    ".",
    ".",
    "!",
    "?",
    "…",
    ", I think.",
    ", as far as I can tell.",
    " — at least for now.",
    ", or am I wrong?",
)
_SHORT = (
    "Thanks for this.", "Agreed.", "Source?", "This.", "Came here to say the same.", "+1", "Well put!", "I disagree.",
    "Can somebody explain?", "👏👏", "Still true today.", "Typo in the second line, by the way.", "Hm, not so sure.",
)  # fmt: skip


def make_texts(rng: Random, count: int = POOL) -> list[str]:
    """So many different texts: many short ones, a few long ones, Markdown in every third."""
    texts: list[str] = []
    for number in range(count):
        if rng.random() < 0.12:
            texts.append(f"{rng.choice(_SHORT)} {rng.choice(_SHORT)}" if number % 2 else rng.choice(_SHORT))
            continue
        # Half of all comments are below 200 characters, one in fifty is above 1,500.
        length = min(4000, max(40, int(rng.lognormvariate(5.2, 0.85))))
        texts.append(_formatted(rng, _prose(rng, length)))
    return texts


def _sentence(rng: Random) -> str:
    words = f"{rng.choice(_SUBJECTS)} {rng.choice(_VERBS)} {rng.choice(_OBJECTS)}{rng.choice(_ENDS)}"
    return words[0].upper() + words[1:]


def _prose(rng: Random, length: int) -> list[str]:
    """Paragraphs of about so many characters together."""
    paragraphs: list[str] = []
    left = length
    while left > 0:
        sentences: list[str] = []
        for _ in range(rng.randint(1, 5)):
            sentences.append(_sentence(rng))
            left -= len(sentences[-1]) + 1
            if left <= 0:
                break
        paragraphs.append(" ".join(sentences))
    return paragraphs


def _formatted(rng: Random, paragraphs: list[str]) -> str:
    match rng.randrange(12):
        case 0:
            paragraphs[0] = paragraphs[0].replace(" the ", " **the** ", 1)
        case 1:
            paragraphs.insert(0, f"> {_sentence(rng)}")
        case 2:
            paragraphs.append(f"See https://example.org/{rng.randrange(10_000)} for more.")
        case 3:
            paragraphs.append("\n".join(f"- {_sentence(rng)}" for _ in range(rng.randint(2, 4))))
        case 4:
            paragraphs.append(f"```\nx = {rng.randrange(1000)}\nprint(x)\n```")
        case 5:
            paragraphs[-1] += f" [What I mean](https://example.com/{rng.randrange(10_000)}), and _only_ `that`."
    return "\n\n".join(paragraphs)

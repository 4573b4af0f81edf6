// What is said, in the reader's language. Plurals and times follow the language's own rules.

const RIGHT_TO_LEFT = ["ar", "fa", "he", "ur"];
/** @type {[Intl.RelativeTimeFormatUnit, number][]} */
const STEPS = [
  ["year", 31_536_000],
  ["month", 2_592_000],
  ["week", 604_800],
  ["day", 86_400],
  ["hour", 3600],
  ["minute", 60],
];

export class Words {
  /** @param {Record<string, string>} strings @param {string} lang */
  constructor(strings, lang) {
    this.strings = strings;
    this.lang = lang;
    this.dir = RIGHT_TO_LEFT.includes(lang) ? "rtl" : "ltr";
    this.plurals = new Intl.PluralRules(lang);
    this.numbers = new Intl.NumberFormat(lang, { notation: "compact", maximumFractionDigits: 1 });
    this.times = new Intl.RelativeTimeFormat(lang, { numeric: "auto" });
    this.dates = new Intl.DateTimeFormat(lang, { dateStyle: "long", timeStyle: "short" });
  }

  /** A sentence; `{name}` in it is filled in, and `n` chooses between singular and plural. @param {string} key @param {Record<string, any>} [facts] */
  say(key, facts) {
    const form = facts?.n === undefined ? undefined : this.strings[`${key}.${this.plurals.select(facts.n)}`];
    const text = form ?? this.strings[facts?.n === undefined ? key : `${key}.other`] ?? this.strings[key] ?? key;
    return text.replace(/\{(\w+)\}/g, (_, name) =>
      name === "n" && typeof facts?.n === "number" ? this.numbers.format(facts.n) : String(facts?.[name] ?? ""),
    );
  }

  has(/** @type {string} */ key) {
    return key in this.strings;
  }

  /** "3 hours ago". @param {number} seconds since the epoch */
  ago(seconds) {
    const past = Math.max(0, Date.now() / 1000 - seconds);
    for (const [unit, length] of STEPS) if (past >= length) return this.times.format(-Math.floor(past / length), unit);
    return this.say("now");
  }

  /** "in 2 hours". @param {number} seconds */
  within(seconds) {
    const [unit, length] = STEPS.find(([, one]) => seconds >= one) ?? STEPS[5];
    return this.times.format(Math.ceil(seconds / length), unit);
  }

  date(/** @type {number} */ seconds) {
    return this.dates.format(new Date(seconds * 1000));
  }

  /** A guest's name without what tells guests apart. @param {string} name */
  name(name) {
    const guest = /^__anon-[a-z0-9]{10}(?:-(.*))?$/.exec(name);
    return guest ? guest[1] || this.say("guest") : name === "[deleted]" ? this.say("deleted_author") : name;
  }

  /** Or nobody known. @param {string} name @param {string} [author] */
  isGuest(name, author) {
    return name.startsWith("__anon-") || !!author?.startsWith("a0000000-");
  }
}

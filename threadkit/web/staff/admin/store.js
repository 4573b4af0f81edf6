// How the store fares: memory, persistence, slow commands, and what its keys are about.

import { h, when } from "../ui.js";
import { bytes, card, count, doing, facts, head, pill, seconds, span, table } from "./parts.js";
import { server } from "./server.js";

const FULL = 0.9;
const NEARLY_FULL = 0.75;

/** @param {import("../shell.js").App} app @param {HTMLElement} place */
export async function show(app, place) {
  const { words } = app;
  const body = h("div", { class: "stack wide" });
  const look = async () => {
    const report = await server(app, "GET", "server/store");
    body.replaceChildren(...report.nodes.map((/** @type {any} */ node, /** @type {number} */ at) => one(app, node, report.nodes.length > 1 ? words.say("store_node", { place: at + 1 }) : words.say("store_state"))), families(app, report), ...slow(app, report.nodes));
  };
  place.append(head(app, "store", doing(app, words.say("look_again"), look)), body);
  await look();
}

/** @param {import("../shell.js").App} app @param {any} node @param {string} title */
function one(app, node, title) {
  const { words } = app;
  const told = (/** @type {any} */ value, /** @type {(value: any) => any} */ shown) => (value === null ? h("span", { class: "muted" }, words.say("not_told")) : shown(value));
  const good = (/** @type {string} */ yes, /** @type {string} */ no) => (/** @type {boolean} */ is) => pill(is ? "ok" : "bad", words.say(is ? yes : no));
  const text = (/** @type {any} */ value) => String(value);
  const number = (/** @type {number} */ value) => count(app, value);
  return card(
    title,
    memory(app, node),
    facts([
      [words.say("store_version"), told(node.version, text)],
      [words.say("store_uptime"), told(node.uptime_s, (s) => span(app, s))],
      [words.say("store_policy"), told(node.memory_policy, (policy) => [pill(policy === "noeviction" ? "ok" : "bad", policy), " ", words.say(policy === "noeviction" ? "store_policy_ok" : "store_policy_bad")])],
      [words.say("store_journal"), told(node.aof_enabled, good("is_on", "is_off"))],
      [words.say("store_fsync"), told(node.aof_fsync, text)],
      [words.say("store_write"), told(node.aof_last_write_ok, good("went_well", "went_wrong"))],
      [words.say("store_rewrite"), node.aof_rewrite_running ? words.say("store_rewriting") : told(node.aof_last_rewrite_ok, good("went_well", "went_wrong"))],
      [words.say("store_snapshot"), told(node.snapshot_last_at, (at) => when(app, seconds(at)))],
      [words.say("store_clients"), told(node.clients, number)],
      [words.say("store_ops"), told(node.ops_per_second, number)],
    ]),
    node.not_available.length ? h("p", { class: "muted" }, words.say("store_refused", { what: node.not_available.join(", ") })) : null,
  );
}

/** @param {import("../shell.js").App} app @param {any} node */
function memory(app, node) {
  const { words } = app;
  if (node.memory_used === null) return null;
  const used = bytes(app, node.memory_used);
  const peak = node.memory_peak === null ? "" : words.say("store_peak", { peak: bytes(app, node.memory_peak) });
  if (!node.memory_limit) return h("p", null, words.say("store_used", { used }), " ", peak);
  const share = node.memory_used / node.memory_limit;
  const state = share >= FULL ? "bad" : share >= NEARLY_FULL ? "warning" : "ok";
  const percent = new Intl.NumberFormat(words.lang, { style: "percent", maximumFractionDigits: 1 }).format(share);
  return h(
    "div",
    { class: "stack tight" },
    h("p", null, pill(state, percent), " ", words.say("store_used_of", { used, limit: bytes(app, node.memory_limit) }), " ", peak),
    h("meter", { min: "0", max: "1", low: NEARLY_FULL, high: FULL, optimum: "0", value: share, "aria-label": words.say("store_memory") }),
  );
}

/** @param {import("../shell.js").App} app @param {any} report */
function families(app, report) {
  const { words } = app;
  const rows = report.families.map((/** @type {any} */ family) => [words.has(`about_${family.about}`) ? words.say(`about_${family.about}`) : family.about, h("code", null, family.pattern), count(app, family.keys)]);
  return card(
    words.say("store_keys", { all: count(app, report.keys) }),
    report.sampled < report.keys ? h("p", { class: "muted" }, words.say("store_sampled", { sampled: count(app, report.sampled) })) : null,
    table(words.say("store_families"), [words.say("store_about"), words.say("store_pattern"), words.say("store_count")], rows),
  );
}

/** @param {import("../shell.js").App} app @param {any[]} nodes */
function slow(app, nodes) {
  const { words } = app;
  const found = nodes.flatMap((node) => node.slow ?? []);
  const rows = found.map((command) => [command.command, `${new Intl.NumberFormat(words.lang, { maximumFractionDigits: 1 }).format(command.took_ms)} ms`, when(app, seconds(command.at))]);
  return [card(words.say("store_slow"), rows.length ? table(words.say("store_slow"), [words.say("store_command"), words.say("store_took"), words.say("store_when")], rows) : h("p", { class: "muted" }, words.say("store_no_slow")))];
}

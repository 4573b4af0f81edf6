// Asking the doctor, with what only a browser can find out: its clock, its address, and whether a socket gets through.

const SOCKET_MS = 8000;
/** What the second question is for; everything else is asked without the made-up header. */
const TRIED = ["forged_header", "websocket"];

/** @param {import("../shell.js").App} app @returns {Promise<any>} */
export async function examine(app) {
  const first = await ask(app, {});
  const socket = await trySocket(first.tries.websocket_url);
  const second = await ask(app, { websocket: socket }, { [first.tries.header]: first.tries.header_value });
  const tried = second.checks.filter((/** @type {any} */ check) => TRIED.includes(check.id));
  const checks = first.checks.map((/** @type {any} */ check) => tried.find((/** @type {any} */ one) => one.id === check.id && one.site_id === check.site_id) ?? check);
  return { ...second, checks };
}

/** @param {import("../shell.js").App} app @param {Record<string, string>} told @param {Record<string, string>} [headers] */
function ask(app, told, headers) {
  const query = new URLSearchParams({ page_origin: location.origin, browser_ms: String(Date.now()), ...told });
  return app.api.call("GET", `/v1/admin/doctor?${query}`, undefined, headers);
}

/** @param {string} url @returns {Promise<"open" | "failed">} */
function trySocket(url) {
  return new Promise((done) => {
    const over = (/** @type {"open" | "failed"} */ result) => {
      clearTimeout(clock);
      done(result);
    };
    const clock = setTimeout(() => (over("failed"), socket?.close()), SOCKET_MS);
    /** @type {WebSocket | undefined} */
    let socket;
    try {
      socket = new WebSocket(url);
      socket.addEventListener("open", () => (over("open"), socket?.close()));
      socket.addEventListener("error", () => over("failed"));
    } catch {
      over("failed"); // an address this page must not connect to
    }
  });
}

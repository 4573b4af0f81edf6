// Asking the doctor, with what only a browser can find out: its clock, its address, and whether a socket gets through.

const SOCKET_MS = 8000;

/** @param {import("../shell.js").App} app @returns {Promise<any>} */
export async function examine(app) {
  const first = await ask(app, {});
  const socket = await trySocket(first.tries.websocket_url);
  return ask(app, { websocket: socket }, { [first.tries.header]: first.tries.header_value });
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

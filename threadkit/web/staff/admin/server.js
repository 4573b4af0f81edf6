// What concerns the whole server is asked as an owner of its first site, whichever site is chosen.

/** @param {import("../shell.js").App} app @param {string} method @param {string} path @param {any} [body] */
export function server(app, method, path, body) {
  return app.api.call(method, `/v1/admin/${path}`, body, undefined, app.me.sites[0]);
}

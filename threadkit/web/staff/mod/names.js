// Who somebody is, for sentences about what they did.

/** @type {Map<string, Promise<string | null>>} */
const known = new Map();

/** @param {import("../shell.js").App} app @param {string | null | undefined} id @returns {Promise<string>} */
export async function nameOf(app, id) {
  if (!id) return app.words.say("nobody");
  if (id === app.me.user.id) return app.words.say("you");
  if (!known.has(id)) {
    const asked = app.api.get(`/v1/users/${id}`).then((person) => person.name, () => null);
    known.set(id, asked);
  }
  const name = await known.get(id);
  return name ? app.words.name(name) : app.words.say("somebody");
}

// A random walk through the embed, in the page: everything that a reader and others can do, in any order, while answers
// come late or never. At the end the screen must say what the server says. `window.walk` is called by test_walks.py.

(() => {
  const SPEED = 20; // the embed's own pauses pass so much faster
  const PATIENCE_MS = 10_000;
  const SORTS = ["top", "hot", "new", "old", "controversial"];
  const real = { fetch: window.fetch.bind(window), setTimeout: window.setTimeout.bind(window), setInterval: window.setInterval.bind(window), WebSocket: window.WebSocket };
  /** @type {string[]} */
  const errors = [];
  window.addEventListener("error", (event) => errors.push(String(event.error?.stack ?? event.message)));
  window.addEventListener("unhandledrejection", (event) => errors.push(String(event.reason?.stack ?? event.reason)));
  const pause = (/** @type {number} */ ms) => new Promise((then) => real.setTimeout(then, ms));

  /** @param {number} seed a number between 0 and 1, again and again (mulberry32) */
  const dice = (seed) => () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let mixed = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };

  // --- A bad line ----------------------------------------------------------------------------------------------------

  const line = { isBad: false, isCut: false, way: "socket", roll: Math.random, open: new Set() };
  window.setTimeout = /** @type {any} */ ((then, ms = 0, ...rest) => real.setTimeout(then, ms / SPEED, ...rest));
  window.setInterval = /** @type {any} */ ((then, ms = 0, ...rest) => real.setInterval(then, ms / SPEED, ...rest));
  window.fetch = async (url, how) => {
    const asked = String(url);
    if (!asked.includes("/v1/")) return real.fetch(url, how);
    if (asked.includes("/v1/events") && line.way !== "stream") throw new TypeError("streams do not get through");
    const [fate, before, after] = [line.roll(), line.roll(), line.roll()];
    if (line.isBad && before < 0.4) await pause(before * 200);
    if (line.isBad && (line.isCut || fate < 0.06)) throw new TypeError("lost on the way there");
    if (line.isBad && fate < 0.09) return new Response('{"error": "busy", "code": "unavailable"}', { status: 503 });
    const answer = await real.fetch(url, how);
    if (line.isBad && after < 0.4) await pause(after * 200);
    if (line.isBad && fate < 0.13) throw new TypeError("lost on the way back");
    return answer;
  };
  window.WebSocket = /** @type {any} */ (
    class extends real.WebSocket {
      constructor(/** @type {string} */ url) {
        super(line.way === "socket" && !line.isCut ? url : "ws://127.0.0.1:1/");
        line.open.add(this);
      }
    }
  );
  const cut = (/** @type {boolean} */ isCut) => {
    line.isCut = isCut;
    if (isCut) for (const socket of line.open) socket.close();
    line.open.clear();
  };

  // --- Who walks -----------------------------------------------------------------------------------------------------

  /** @param {{seed: number, steps: number, base: string, project: string, pages: string[], people: Record<string, any>}} told */
  window.walk = async ({ seed, steps, base, project, pages, people }) => {
    const roll = dice(seed * 7919);
    const upTo = (/** @type {number} */ n) => Math.floor(roll() * n);
    const one = (/** @type {any[]} */ of) => of[upTo(of.length)];
    line.roll = dice(seed * 104_729);
    line.way = one(["socket", "socket", "stream", "polling"]);
    const trace = [line.way];
    const typed = new Set();
    const done = new Set();
    let words = 0;
    const word = () => {
      const made = `w${seed}x${++words}`;
      typed.add(made);
      return made;
    };

    const call = async (/** @type {string | null} */ who, /** @type {string} */ method, /** @type {string} */ path, /** @type {any} */ body) => {
      const answer = await real.fetch(base + path, { method, headers: { projectid: project, ...(who && { authorization: `Bearer ${people[who].token}` }), ...(body && { "content-type": "application/json" }) }, body: body && JSON.stringify(body) });
      return answer.status === 204 ? null : answer.json();
    };
    const query = (/** @type {string} */ url) => `page_url=${encodeURIComponent(url)}`;
    const thread = async (/** @type {string} */ url) => {
      const { tree } = await call("walker", "GET", `/v1/comments?${query(url)}&sort=old`);
      const found = new Map();
      const gather = (/** @type {any[]} */ comments, /** @type {string | null} */ parent) => {
        for (const comment of comments) {
          found.set(comment.i, { ...comment, parent });
          gather(comment.r ?? [], comment.i);
        }
      };
      gather(tree.c, null);
      return found;
    };

    // What is there before anybody looks.
    const writers = ["ann", "ben", "walker"];
    for (const [at, url] of pages.entries()) {
      const roots = at === 0 ? 3 + upTo(3) + (roll() < 0.3 ? 24 : 0) : upTo(4);
      const made = await Promise.all([...Array(roots).keys()].map((n) => call(writers[n % 3], "POST", "/v1/comments", { page_url: url, content: n % 3 === 2 ? word() : `root ${at}-${n}` })));
      for (const { comment } of made.slice(0, 3)) {
        await Promise.all([...Array(upTo(8)).keys()].map((n) => call(writers[n % 2], "POST", "/v1/comments", { page_url: url, content: `reply ${n}`, parent_path: [comment.i] })));
      }
    }

    // --- What is on the screen ----------------------------------------------------------------------------------------

    let page = pages[0];
    line.isBad = true;
    const app = /** @type {any} */ (await window.ThreadKit.mount("#place", { project, url: page }));
    const root = () => /** @type {ShadowRoot} */ (app.shadowRoot);
    const all = (/** @type {string} */ what) => /** @type {any[]} */ (root() ? [...root().querySelectorAll(what)] : []);
    const named = (/** @type {string} */ text, /** @type {string} */ within = "") => all(`${within} button`).find((button) => button.textContent === text && !button.disabled && button.checkVisibility());
    const articles = () => all("article").filter((article) => !article.classList.contains("sending") && !article.classList.contains("deleted"));
    const write = (/** @type {any} */ box, /** @type {string} */ text) => {
      box.value = text;
      box.dispatchEvent(new Event("input"));
    };

    /** @type {Record<string, () => Promise<void>>} */
    const deeds = {
      async turn() {
        page = page === pages[0] ? pages[1] : pages[0];
        window.ThreadKit.update(app, { url: page });
      },
      async sort() {
        const sort = one(SORTS);
        trace.push(sort);
        app.setAttribute("sort", sort);
      },
      async more() {
        named("Load more comments")?.click();
      },
      async replies() {
        one(all("[data-action=more]").concat(null))?.click();
      },
      async vote() {
        one(articles())?.querySelector(`[data-action=${one(["up", "down"])}]`)?.click();
      },
      async voteTwice() {
        const article = one(articles());
        for (const direction of [one(["up", "down"]), one(["up", "down"])]) article?.querySelector(`[data-action=${direction}]`)?.click();
      },
      async post() {
        await app.compose();
        write(app.composer.box, [app.composer.box.value, word()].filter(Boolean).join(" "));
        app.composer.submit.click();
      },
      async answer() {
        one(articles())?.querySelector("[data-action=reply]")?.click();
        await pause(5);
        const composer = app.replying;
        if (!composer?.element.isConnected || composer.isSending) return;
        write(composer.box, [composer.box.value, word()].filter(Boolean).join(" "));
        if (roll() < 0.6) composer.submit.click();
      },
      async edit() {
        const mine = articles().filter((article) => article.querySelector(".body")?.textContent.includes(`w${seed}x`));
        await choose(one(mine), "Edit");
        const composer = [...app.views.values()].find((view) => view.editing)?.editing;
        if (!composer || composer.isSending) return;
        write(composer.box, `${composer.box.value} again`);
        composer.submit.click();
      },
      async remove() {
        const mine = articles().filter((article) => article.querySelector(".body")?.textContent.includes(`w${seed}x`));
        const article = one(mine);
        for (const text of article?.querySelector(".body").textContent.match(/w\d+x\d+/g) ?? []) done.add(text);
        await choose(article, "Delete");
        article?.querySelector(".confirm .danger")?.click();
      },
      async line() {
        cut(!line.isCut);
        if (!line.isCut) dispatchEvent(new Event("online"));
      },
      async rest() {
        await pause(roll() * 150);
      },
    };
    const choose = async (/** @type {any} */ article, /** @type {string} */ item) => {
      article?.querySelector("[data-action=menu]")?.click();
      await pause(10);
      const found = all("[role=menuitem]").find((entry) => entry.textContent === item);
      if (found) found.click();
      else document.dispatchEvent(new Event("pointerdown"));
    };
    const other = async () => {
      const who = one(["ann", "ben"]);
      const comments = [...(await thread(page)).values()].filter((comment) => comment.s !== "deleted");
      const some = one(comments);
      const what = some ? one(["post", "answer", "answer", "vote", "vote", "vote", "edit", "remove", "remove", "pin"]) : "post";
      trace.push(what);
      const path = [];
      for (let at = some; at; at = comments.find((comment) => comment.i === at.parent)) path.unshift(at.i);
      if (what === "post") await call(who, "POST", "/v1/comments", { page_url: page, content: `by ${who}` });
      else if (what === "answer") await call(who, "POST", "/v1/comments", { page_url: page, content: `answer by ${who}`, parent_path: path });
      else if (what === "vote") await call(who, "POST", `/v1/comments/${some.i}/vote`, { direction: one(["up", "down"]) });
      else if (what === "edit") await call(writers.find((name) => people[name].user.id === some.a), "PUT", `/v1/comments/${some.i}`, { content: `${some.t} changed` });
      else if (what === "pin") await call("mo", "POST", `/v1/comments/${some.i}/pin`, {});
      else {
        for (const text of some.t.match(/w\d+x\d+/g) ?? []) done.add(text);
        await call("mo", "DELETE", `/v1/comments/${some.i}`);
      }
    };

    // --- What must be true at the end ---------------------------------------------------------------------------------

    const differences = async () => {
      const found = [];
      const server = await thread(page);
      const { votes } = await call("walker", "GET", `/v1/pages/my_votes?${query(page)}`);
      const { total, pinned = [], locked = false } = await call(null, "GET", `/v1/comments?${query(page)}&limit=1`);
      const pins = new Set(pinned.map((/** @type {any} */ pin) => pin[0]));
      const shown = new Map(all("article").map((article) => [article.dataset.id, article]));
      if (all("[aria-busy]").length) found.push("it is still loading");
      if (shown.size !== all("article").length) found.push("a comment stands there twice");
      for (const [id, article] of shown) {
        const comment = server.get(id);
        if (!comment) {
          found.push(`${id} (${article.textContent.slice(0, 60)}) is not there any more`);
          continue;
        }
        const own = (/** @type {string} */ what) => article.querySelector(`:scope > ${what}`);
        const parent = article.parentElement.parentElement.closest("li")?.querySelector("article").dataset.id ?? null;
        const pressed = [...article.querySelectorAll(".vote[aria-pressed=true]")].map((button) => button.dataset.action)[0];
        const says = {
          parent,
          text: own(".body").textContent.trim(),
          isDeleted: article.classList.contains("deleted"),
          count: own(".actions").querySelector(".count")?.textContent,
          vote: pressed,
          isPinned: Boolean(own(".head").querySelector(".pinned")),
          folded: own(".body").querySelector("[data-action=show]") !== null,
        };
        const isDeleted = comment.s === "deleted";
        const plain = new DOMParser().parseFromString(comment.h, "text/html").body.textContent.trim();
        const wanted = says.folded ? { ...says, parent: comment.parent, isDeleted } : {
          parent: comment.parent,
          text: isDeleted ? "" : plain,
          isDeleted,
          count: isDeleted ? undefined : String(comment.u - comment.d),
          vote: isDeleted ? undefined : votes[id],
          isPinned: !isDeleted && pins.has(id),
          folded: false,
        };
        if (!article.querySelector(".composer") && JSON.stringify(says) !== JSON.stringify(wanted)) found.push(`${id} says ${JSON.stringify(says)} and is ${JSON.stringify(wanted)}`);
      }
      for (const [id, comment] of server) {
        if (shown.has(id)) continue;
        const above = comment.parent && shown.get(comment.parent);
        const isToCome = comment.parent ? !above || above.parentElement.querySelector(":scope > .more button") : named("Load more comments");
        if (!isToCome) found.push(`${id} (${comment.t}) is missing`);
      }
      const said = all("[data-testid=comment-count]")[0]?.textContent ?? "";
      if (Number(/\d+/.exec(said)?.[0] ?? 0) !== total) found.push(`it counts “${said}”, and there are ${total}`);
      if ((all(".notice:not([hidden])").length > 0) !== locked) found.push(`locked: ${locked}, and it says something else`);
      const kept = [...Object.values({ ...localStorage }), ...all("textarea").map((box) => box.value), ...[...shown.values()].map((article) => article.textContent)];
      for (const url of pages) kept.push(...[...(await thread(url)).values()].map((comment) => comment.t));
      for (const text of typed) if (!done.has(text) && !kept.some((place) => place.split(/\W+/).includes(text))) found.push(`${text} was typed and is lost`);
      return found;
    };

    if (roll() < 0.8) while (!app.thread.pageId) await pause(10);
    for (let step = 0; step < steps; step++) {
      for (let n = upTo(4); n > 1; n--) await other();
      const [deed, act] = one(Object.entries(deeds));
      trace.push(deed);
      try {
        await act();
      } catch (error) {
        return { trace, found: [`${deed}: ${/** @type {Error} */ (error).stack}`] };
      }
      if (roll() < 0.5) await pause(roll() * 40);
    }
    line.isBad = false;
    if (line.isCut) await deeds.line();
    const until = performance.now() + PATIENCE_MS;
    let found = [];
    do {
      await pause(50);
      named("Try again")?.click();
      found = await differences();
    } while (found.length && performance.now() < until);
    const { live } = app;
    if (found.length) trace.push(JSON.stringify({ failures: live?.failures, isOpen: live?.isOpen, polling: Boolean(live?.polling), stream: Boolean(live?.stream), socket: live?.socket?.readyState, following: live?.following, page: app.thread.pageId, version: app.thread.version, waiting: Boolean(live?.waiting), news: app.thread.news.length, pinned: [...app.thread.pinned] }));
    app.remove();
    return { trace, found: [...found, ...errors] };
  };
})();

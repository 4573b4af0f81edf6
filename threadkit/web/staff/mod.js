// The moderators' page.

import { start } from "./shell.js";

start([
  { id: "queue", least: "moderator", load: () => import("./mod/queue.js") },
  { id: "account", least: "moderator", load: () => import("./account.js") },
]);

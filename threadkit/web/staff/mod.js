// The moderators' page.

import { start } from "./shell.js";

start([
  { id: "queue", least: "moderator", load: () => import("./mod/queue.js") },
  { id: "reports", least: "moderator", load: () => import("./mod/reports.js") },
  { id: "appeals", least: "moderator", load: () => import("./mod/appeals.js") },
  { id: "comments", least: "moderator", load: () => import("./mod/comments.js") },
  { id: "people", least: "moderator", load: () => import("./mod/people.js") },
  { id: "log", least: "moderator", load: () => import("./mod/log.js") },
  { id: "account", least: "moderator", load: () => import("./account.js") },
]);

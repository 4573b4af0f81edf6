// The moderators' page.

import { start } from "./shell.js";

start([{ id: "queue", least: "moderator", load: () => import("./mod/queue.js") }]);

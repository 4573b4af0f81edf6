// The owners' page.

import { start } from "./shell.js";

start([
  { id: "sites", least: "owner", load: () => import("./admin/sites.js") },
  { id: "account", least: "moderator", load: () => import("./account.js") },
]);

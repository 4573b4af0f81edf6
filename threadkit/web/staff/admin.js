// The owners' page: everything that a site, and the server under it, lets its people decide.

import { start } from "./shell.js";

start([
  { id: "elsewhere", least: "moderator", most: "moderator", load: () => import("./admin/elsewhere.js") },
  { id: "overview", least: "admin", load: () => import("./admin/overview.js") },
  { id: "settings", least: "owner", group: "site", load: () => import("./admin/settings.js") },
  { id: "origins", least: "owner", group: "site", load: () => import("./admin/origins.js") },
  { id: "ways", least: "owner", group: "site", load: () => import("./admin/ways.js") },
  { id: "words", least: "owner", group: "site", load: () => import("./admin/words.js") },
  { id: "look", least: "admin", group: "site", load: () => import("./admin/look.js") },
  { id: "people", least: "admin", group: "site", load: () => import("./admin/people.js") },
  { id: "keys", least: "owner", group: "site", load: () => import("./admin/keys.js") },
  { id: "usage", least: "admin", group: "watch", load: () => import("./admin/usage.js") },
  { id: "log", least: "admin", group: "watch", load: () => import("./admin/log.js") },
  { id: "doctor", least: "owner", group: "watch", load: () => import("./admin/doctor.js") },
  { id: "sites", least: "owner", group: "server", load: () => import("./admin/sites.js") },
  { id: "mail", least: "operator", group: "server", load: () => import("./admin/mail.js") },
  { id: "store", least: "operator", group: "server", load: () => import("./admin/store.js") },
  { id: "outbox", least: "operator", group: "server", load: () => import("./admin/outbox.js") },
  { id: "limits", least: "operator", group: "server", load: () => import("./admin/limits.js") },
  { id: "danger", least: "admin", group: "end", load: () => import("./admin/danger.js") },
  { id: "account", least: "moderator", group: "you", load: () => import("./account.js") },
]);

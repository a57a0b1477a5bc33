// Entry of the console.

import "./shell.js";
import "./keys.js";

document.body.prepend(document.createElement("roe-shell"));

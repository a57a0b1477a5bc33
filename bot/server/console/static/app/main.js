// Entry of the console.

import "./sign-in-link.js";
import "./shell.js";
import "./keys.js";

document.body.prepend(document.createElement("roe-shell"));

// Entry of the console.

import "./sign-in-link.js";
import "./shell.js";
import "./keys.js";

document.querySelector("#frame")?.replaceWith(document.createElement("roe-shell"));

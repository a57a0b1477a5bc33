export { default } from "highlight.js/lib/common";

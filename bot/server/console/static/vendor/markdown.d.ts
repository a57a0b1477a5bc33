export { default as MarkdownIt } from "markdown-it";
export const cjkFriendly: any;
export const footnote: any;
export { default as DOMPurify } from "dompurify";

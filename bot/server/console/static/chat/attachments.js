// Files that go with a message, as chips with a picture where there is one.

import { html, nothing } from "../vendor/lit.js";
import { current } from "../app/session.js";
import { t } from "../texts/texts.js";
import { icon } from "../ui/icon.js";

/** Most files of a message. */
const MOST = 10;
const PICTURES = /^image\/(png|jpeg|gif|webp)$/;

/** @type {WeakMap<File, string>} */
const pictures = new WeakMap();

function pictureOf(file) {
  if (!PICTURES.test(file.type)) return "";
  if (!pictures.has(file)) pictures.set(file, URL.createObjectURL(file));
  return pictures.get(file) || "";
}

/**
 * Add files to those of a message. Returns them, and why one was left out ("" if none was).
 * @param {File[]} files
 * @param {Iterable<File>} more
 */
export function addFiles(files, more) {
  const kept = [...files];
  let problem = "";
  for (const file of more) {
    if (file.size > current.fileBytes) problem = t("chat.tooLarge", { name: file.name, limit: current.fileBytes / 1e6 });
    else if (kept.length >= MOST) problem = t("chat.tooMany", { most: MOST });
    else kept.push(file);
  }
  return { files: kept, problem };
}

/** Forget the picture of a file that is sent or removed. */
export function release(file) {
  const picture = pictures.get(file);
  if (picture) URL.revokeObjectURL(picture);
  pictures.delete(file);
}

/** The list of attached files. */
export function filesView(files, remove) {
  if (!files.length) return nothing;
  return html`<ul class="files" id="files" aria-label=${t("chat.attached")}>
    ${files.map((file) => {
      const picture = pictureOf(file);
      return html`<li class=${picture ? "pictured" : ""}>
        ${picture ? html`<img src=${picture} alt="" />` : icon("file-text")}
        <span class="cut" title=${file.name}>${file.name}</span>
        <button class="button ghost icon tiny" type="button" aria-label=${t("chat.removeFile", { name: file.name })} @click=${() => remove(file)}>${icon("x")}</button>
      </li>`;
    })}
  </ul>`;
}

// The text one writes in: a plain text area, over a layer that displays its text with colours.

import { MarkedText } from "./marked.js";

/** The one text of the page. */
export class Editor {
  /** @param {() => void} edited  called after every edit by the user */
  constructor(edited) {
    this.area = /** @type {HTMLTextAreaElement} */ (document.getElementById("text"));
    this.sheet = /** @type {HTMLElement} */ (document.getElementById("sheet"));
    this.marked = new MarkedText(/** @type {HTMLElement} */ (document.getElementById("layer")));
    this.area.addEventListener("input", edited);
  }

  get text() {
    return this.area.value;
  }

  /** Show the layer's text while it is generated. @param {boolean} on */
  set writing(on) {
    this.area.readOnly = on;
    this.sheet.classList.toggle("writing", on);
  }

  /**
   * Show a text in colour; the window follows its end if the end was visible.
   *
   * @param {string} text
   * @param {import("./completion.js").Completion | null} completion
   */
  show(text, completion) {
    const before = this.sheet.getBoundingClientRect().bottom;
    this.marked.show(text, completion);
    const after = this.sheet.getBoundingClientRect().bottom;
    if (this.area.readOnly && before <= innerHeight && after > before)
      scrollBy({ top: after - before, behavior: "instant" });
  }

  /**
   * Set the area's text as one step that the user can undo.
   *
   * @param {string} text
   */
  put(text) {
    const { area } = this;
    let same = 0;
    while (same < text.length && text[same] === area.value[same]) same += 1;
    if (same === text.length && same === area.value.length) return;
    const rest = text.slice(same);
    if (document.activeElement === area) {
      area.setSelectionRange(same, area.value.length);
      document.execCommand(rest ? "insertText" : "delete", false, rest);
    }
    if (area.value !== text) area.setRangeText(rest, same, area.value.length, "end");
  }
}

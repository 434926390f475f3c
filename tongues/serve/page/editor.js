// The text one writes in: a plain text area, over a layer that shows its text with colours.

import { Reading } from "./reading.js";

/** The one text of the page. */
export class Editor {
  /** @param {() => void} edited  called after every change by the reader */
  constructor(edited) {
    this.area = /** @type {HTMLTextAreaElement} */ (document.getElementById("text"));
    this.sheet = /** @type {HTMLElement} */ (document.getElementById("sheet"));
    this.reading = new Reading(/** @type {HTMLElement} */ (document.getElementById("layer")));
    this.area.addEventListener("input", edited);
  }

  get text() {
    return this.area.value;
  }

  /** Show the text being written behind what stands in the area. @param {boolean} on */
  set writing(on) {
    this.area.readOnly = on;
    this.sheet.classList.toggle("writing", on);
  }

  /**
   * Show a text with its colours; the window follows its end where the end was in sight.
   *
   * @param {string} text
   * @param {import("./told.js").Telling | null} telling
   */
  show(text, telling) {
    const before = this.sheet.getBoundingClientRect().bottom;
    this.reading.show(text, telling);
    const after = this.sheet.getBoundingClientRect().bottom;
    if (this.area.readOnly && before <= innerHeight && after > before)
      scrollBy({ top: after - before, behavior: "instant" });
  }

  /**
   * Make the area hold a text, as one step that the reader can undo where the browser lets us.
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

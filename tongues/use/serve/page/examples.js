// Beginnings of texts in the languages of a model, for who has none at hand.

import { element } from "./card.js";
import { languageName } from "./format.js";

const place = /** @type {HTMLElement} */ (document.getElementById("examples"));
let shown = "";

/**
 * Show a button for each text, or nothing.
 *
 * @param {Record<string, string>} examples  by language
 * @param {(text: string) => void} use
 */
export function offerExamples(examples, use) {
  if (shown === (shown = JSON.stringify(examples))) return;
  const buttons = Object.entries(examples).map(([tag, text]) => {
    const button = element("button", "", languageName(tag));
    button.title = text;
    button.addEventListener("click", () => use(text));
    return button;
  });
  place.hidden = !buttons.length;
  place.replaceChildren("Try a text in", ...buttons);
}

// Looking at one token of a text: by mouse, finger and keyboard.

import { hideCard, say, showCard } from "./card.js";
import { look } from "./marks.js";

/** @typedef {import("./reading.js").Reading} Reading */

/** @type {{reading: Reading, part: number} | null} */
let looked = null;

/** Look at a token of a text. @param {Reading} reading @param {number} part */
export function lookAt(reading, part, aloud = false) {
  if (part < 0 || part >= reading.parts.length) return lookAway();
  if (looked?.reading === reading && looked.part === part) return;
  looked = { reading, part };
  reading.look(part);
  const { start, end, tokens } = reading.parts[part];
  const names = reading.telling?.experts ?? [];
  const text = reading.node.data.slice(start, end);
  const whole = reading.element.getBoundingClientRect();
  const box = [...reading.range(part).getClientRects()].at(-1) ?? whole;
  showCard(tokens, text, names, box, whole.right);
  if (aloud) say(tokens, text, names);
}

/** Look at nothing. */
export function lookAway() {
  looked = null;
  look(null);
  hideCard();
}

/** Whether a token is looked at. */
export function isLooking() {
  return looked !== null;
}

/**
 * Show what the mouse points at, and what a finger taps.
 *
 * @param {HTMLElement} surface  what stands over the text
 * @param {() => Reading} reading
 */
export function byPointer(surface, reading) {
  let waiting = 0; // a mouse that only passes by shows nothing
  surface.addEventListener("pointermove", ({ pointerType, buttons, clientX, clientY }) => {
    if (pointerType === "touch") return;
    clearTimeout(waiting);
    const look = () => lookAt(reading(), buttons ? -1 : reading().partUnder(clientX, clientY));
    waiting = setTimeout(look, looked ? 0 : 120);
  });
  surface.addEventListener("pointerleave", ({ pointerType }) => {
    clearTimeout(waiting);
    if (pointerType !== "touch") lookAway();
  });
  surface.addEventListener("touchend", (event) => {
    const [touch] = event.changedTouches;
    if (document.activeElement === surface && surface instanceof HTMLTextAreaElement) return;
    const part = reading().partUnder(touch.clientX, touch.clientY);
    const again = looked?.reading === reading() && looked.part === part;
    if (part < 0 || again) return lookAway();
    event.preventDefault(); // a first tap tells; the next one edits
    lookAt(reading(), part);
  });
}

/**
 * Walk a text that cannot be edited, token by token.
 *
 * @param {Reading} reading
 */
export function byKeys(reading) {
  const { element } = reading;
  element.addEventListener("keydown", (event) => {
    const last = reading.parts.length - 1;
    const at = looked?.reading === reading ? looked.part : -1;
    const forwards = getComputedStyle(element).direction === "rtl" ? "ArrowLeft" : "ArrowRight";
    if (!event.key.startsWith("Arrow") && event.key !== "Home" && event.key !== "End") return;
    if (last < 0 || event.key === "ArrowUp" || event.key === "ArrowDown") return;
    event.preventDefault();
    const next = event.key === forwards ? at + 1 : at < 0 ? last : at - 1;
    const to = event.key === "Home" ? 0 : event.key === "End" ? last : next;
    lookAt(reading, Math.max(0, Math.min(last, to)), true);
  });
  element.addEventListener("blur", lookAway);
}

// Inspecting one token: by mouse, finger and keyboard.

import { hideCard, say, showCard } from "./card.js";
import { look } from "./marks.js";

/** @typedef {import("./marked.js").MarkedText} MarkedText */

/** @type {{marked: MarkedText, part: number} | null} */
let inspected = null;

/** Inspect a token of a text. @param {MarkedText} marked @param {number} part */
export function inspect(marked, part, aloud = false) {
  if (part < 0 || part >= marked.parts.length) return closeInspector();
  if (inspected?.marked === marked && inspected.part === part) return;
  inspected = { marked, part };
  marked.look(part);
  const { start, end, tokens } = marked.parts[part];
  const names = marked.completion?.experts ?? [];
  const text = marked.node.data.slice(start, end);
  const whole = marked.element.getBoundingClientRect();
  const box = [...marked.range(part).getClientRects()].at(-1) ?? whole;
  showCard(tokens, text, names, box, whole.right);
  if (aloud) say(tokens, text, names);
}

/** Close the inspector. */
export function closeInspector() {
  inspected = null;
  look(null);
  hideCard();
}

/** Whether a token is inspected. */
export function isInspecting() {
  return inspected !== null;
}

/**
 * Inspect the token under the mouse or the finger.
 *
 * @param {HTMLElement} surface  the element over the text
 * @param {() => MarkedText} marked
 */
export function byPointer(surface, marked) {
  let waiting = 0; // ignore a mouse that only passes by
  surface.addEventListener("pointermove", ({ pointerType, buttons, clientX, clientY }) => {
    if (pointerType === "touch") return;
    clearTimeout(waiting);
    const look = () => inspect(marked(), buttons ? -1 : marked().partUnder(clientX, clientY));
    waiting = setTimeout(look, inspected ? 0 : 120);
  });
  surface.addEventListener("pointerleave", ({ pointerType }) => {
    clearTimeout(waiting);
    if (pointerType !== "touch") closeInspector();
  });
  surface.addEventListener("touchend", (event) => {
    const [touch] = event.changedTouches;
    if (document.activeElement === surface && surface instanceof HTMLTextAreaElement) return;
    const part = marked().partUnder(touch.clientX, touch.clientY);
    const again = inspected?.marked === marked() && inspected.part === part;
    if (part < 0 || again) return closeInspector();
    event.preventDefault(); // the first tap inspects; the next one edits
    inspect(marked(), part);
  });
}

/**
 * Move through a read-only text token by token.
 *
 * @param {MarkedText} marked
 */
export function byKeys(marked) {
  const { element } = marked;
  element.addEventListener("keydown", (event) => {
    const last = marked.parts.length - 1;
    const at = inspected?.marked === marked ? inspected.part : -1;
    const forwards = getComputedStyle(element).direction === "rtl" ? "ArrowLeft" : "ArrowRight";
    if (!event.key.startsWith("Arrow") && event.key !== "Home" && event.key !== "End") return;
    if (last < 0 || event.key === "ArrowUp" || event.key === "ArrowDown") return;
    event.preventDefault();
    const next = event.key === forwards ? at + 1 : at < 0 ? last : at - 1;
    const to = event.key === "Home" ? 0 : event.key === "End" ? last : next;
    inspect(marked, Math.max(0, Math.min(last, to)), true);
  });
  element.addEventListener("blur", closeInspector);
}

// A text with its tokens marked, and the way from a place on the screen to a token.

import { look, mark, strength } from "./marks.js";
import { speaker, stretches } from "./told.js";

/** @typedef {ReturnType<typeof stretches>[number]} Part */

/** One text on the page. */
export class Reading {
  /** @param {HTMLElement} element */
  constructor(element) {
    this.element = element;
    this.node = new Text("");
    element.replaceChildren(this.node, "\u200b"); // the last line stands also while it is empty
    /** @type {Part[]} */
    this.parts = [];
    /** @type {import("./told.js").Telling | null} */
    this.telling = null;
    /** @type {import("./marks.js").Marks} */
    this.marks = [];
  }

  /**
   * Show a text, marked as far as it was told.
   *
   * @param {string} text
   * @param {import("./told.js").Telling | null} telling
   */
  show(text, telling) {
    if (text !== this.node.data) {
      if (text.startsWith(this.node.data)) this.node.appendData(text.slice(this.node.length));
      else this.node.data = text;
    }
    this.telling = telling;
    this.parts = telling ? stretches(telling, text) : [];
    this.marks = mark(this.node, telling ? runs(this.parts, telling.experts) : [], this.marks);
  }

  /** The token that covers a place in the text. @param {number} at */
  partAt(at) {
    let [low, high] = [0, this.parts.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.parts[middle].end > at) high = middle;
      else low = middle + 1;
    }
    return this.parts[low]?.start <= at ? low : -1;
  }

  /** The token under a point of the window, or -1. @param {number} x @param {number} y */
  partUnder(x, y) {
    this.element.parentElement?.classList.add("through");
    const at = placeUnder(x, y, this.node);
    this.element.parentElement?.classList.remove("through");
    if (at === null) return -1;
    const near = [this.partAt(at), this.partAt(at - 1)];
    return near.find((part) => part >= 0 && this.boxUnder(part, x, y)) ?? -1;
  }

  /** The box of a token that holds a point. @param {number} part @param {number} x @param {number} y */
  boxUnder(part, x, y) {
    const boxes = [...this.range(part).getClientRects()];
    return boxes.find(
      (box) => x >= box.left && x <= box.right && y >= box.top - 4 && y <= box.bottom + 4,
    );
  }

  /** @param {number} part */
  range(part) {
    const range = new Range();
    range.setStart(this.node, this.parts[part].start);
    range.setEnd(this.node, this.parts[part].end);
    return range;
  }

  /** Let a token stand out. @param {number} part */
  look(part) {
    look(this.range(part));
  }
}

/**
 * Neighbouring tokens of one look, joined.
 *
 * @param {Part[]} parts
 * @param {string[]} experts
 */
function runs(parts, experts) {
  /** @type {import("./marks.js").Run[]} */
  const found = [];
  for (const { start, end, tokens } of parts) {
    const token = tokens[tokens.length - 1];
    const expert = experts[speaker(token)];
    if (expert === undefined || start === end) continue;
    const weight = token.weights ? Math.max(...token.weights) : 1;
    const last = found[found.length - 1];
    const joins =
      last?.expert === expert &&
      last.end === start &&
      last.given === token.given &&
      (token.given || strength(last.weight) === strength(weight));
    if (joins) last.end = end;
    else found.push({ start, end, expert, given: token.given, weight });
  }
  return found;
}

/**
 * The place in a text node under a point of the window.
 *
 * @param {number} x
 * @param {number} y
 * @param {Text} node
 */
function placeUnder(x, y, node) {
  if (document.caretPositionFromPoint) {
    const found = document.caretPositionFromPoint(x, y);
    return found?.offsetNode === node ? found.offset : null;
  }
  const found = document.caretRangeFromPoint(x, y);
  return found?.startContainer === node ? found.startOffset : null;
}

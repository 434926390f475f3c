// A text with its tokens marked; finds the token under a point of the screen.

import { look, mark, strength } from "./marks.js";
import { activeExpert, spans } from "./completion.js";

/** @typedef {ReturnType<typeof spans>[number]} Part */

/** One text on the page. */
export class MarkedText {
  /** @param {HTMLElement} element */
  constructor(element) {
    this.element = element;
    this.node = new Text("");
    element.replaceChildren(this.node, "\u200b"); // keeps an empty last line
    /** @type {Part[]} */
    this.parts = [];
    /** @type {import("./completion.js").Completion | null} */
    this.completion = null;
    /** @type {import("./marks.js").Marks} */
    this.marks = [];
  }

  /**
   * Show a text with its known tokens marked.
   *
   * @param {string} text
   * @param {import("./completion.js").Completion | null} completion
   */
  show(text, completion) {
    if (text !== this.node.data) {
      if (text.startsWith(this.node.data)) this.node.appendData(text.slice(this.node.length));
      else this.node.data = text;
    }
    this.completion = completion;
    this.parts = completion ? spans(completion, text) : [];
    this.marks = mark(this.node, completion ? runs(this.parts, completion.experts) : [], this.marks);
  }

  /** The index of the token at an offset, or -1. @param {number} at */
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

  /** Highlight a token. @param {number} part */
  look(part) {
    look(this.range(part));
  }
}

/**
 * Neighbouring tokens of the same style, joined.
 *
 * @param {Part[]} parts
 * @param {string[]} experts
 */
function runs(parts, experts) {
  /** @type {import("./marks.js").Run[]} */
  const joined = [];
  for (const { start, end, tokens } of parts) {
    const token = tokens[tokens.length - 1];
    const expert = experts[activeExpert(token)];
    if (expert === undefined || start === end) continue;
    const weight = token.weights ? Math.max(...token.weights) : 1;
    const last = joined[joined.length - 1];
    const joins =
      last?.expert === expert &&
      last.end === start &&
      last.given === token.given &&
      (token.given || strength(last.weight) === strength(weight));
    if (joins) last.end = end;
    else joined.push({ start, end, expert, given: token.given, weight });
  }
  return joined;
}

/**
 * The offset in a text node under a point of the window.
 *
 * @param {number} x
 * @param {number} y
 * @param {Text} node
 */
function placeUnder(x, y, node) {
  if (document.caretPositionFromPoint) {
    const joined = document.caretPositionFromPoint(x, y);
    return joined?.offsetNode === node ? joined.offset : null;
  }
  const joined = document.caretRangeFromPoint(x, y);
  return joined?.startContainer === node ? joined.startOffset : null;
}

// Colours on text by custom highlights: the text stays one node, so letters join correctly.

const COLOURS = 9;
const PATTERNS = ["solid", "dashed", "dotted"]; // for colour-blind readers
const STRENGTHS = [6, 11, 16]; // of a tint, in percent, by the router's weight

const sheet = new CSSStyleSheet();
document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];

/** @type {Map<string, number>} */
const numbers = new Map();

/**
 * The colour and line pattern of an expert, the same everywhere on the page.
 *
 * @param {string} expert
 */
export function ink(expert) {
  const number = numbers.get(expert) ?? numbers.size;
  numbers.set(expert, number);
  const pattern = PATTERNS[(number + Math.floor(number / COLOURS)) % PATTERNS.length];
  return { number, colour: `var(--expert-${number % COLOURS})`, pattern };
}

/**
 * @typedef {object} Run
 * @property {number} start
 * @property {number} end
 * @property {string} expert
 * @property {boolean} given
 * @property {number} weight  of the expert
 */

/** @typedef {{run: Run, highlight: any, range: Range}[]} Marks */

/**
 * Mark spans of a text and remove the marks of before.
 *
 * @param {Text} node
 * @param {Run[]} runs
 * @param {Marks} before
 * @returns {Marks}
 */
export function mark(node, runs, before) {
  if (!CSS.highlights) return [];
  let kept = 0;
  while (kept < before.length && kept < runs.length && isCurrent(before[kept], runs[kept])) kept += 1;
  for (const { highlight, range } of before.slice(kept)) highlight.delete(range);
  const added = runs.slice(kept).map((run) => {
    const range = new Range();
    range.setStart(node, run.start);
    range.setEnd(node, run.end);
    const highlight = highlightOf(run);
    highlight.add(range);
    return { run, highlight, range };
  });
  return [...before.slice(0, kept), ...added];
}

/** Whether a mark is up to date. @param {Marks[number]} mark @param {Run} run */
function isCurrent({ run: { expert, given, weight }, range }, run) {
  const placed = range.startOffset === run.start && range.endOffset === run.end;
  const looks = expert === run.expert && given === run.given;
  return placed && looks && strength(weight) === strength(run.weight);
}

/** The index of a weight's tint. @param {number} weight */
export function strength(weight) {
  return weight >= 0.9 ? 2 : weight >= 0.6 ? 1 : 0;
}

/** @param {Run} run */
function highlightOf({ expert, given, weight }) {
  const { number, colour, pattern } = ink(expert);
  const name = given ? `given-${number}` : `written-${number}-${strength(weight)}`;
  const found = CSS.highlights.get(name);
  if (found) return found;
  const highlight = new Highlight();
  CSS.highlights.set(name, highlight);
  const tint = `color-mix(in srgb, ${colour} ${STRENGTHS[strength(weight)]}%, transparent)`;
  const line = given ? `underline ${pattern} 1px` : `underline ${pattern} 2px`;
  const rest = given ? "" : `background-color: ${tint};`;
  sheet.insertRule(
    `::highlight(${name}) { ${rest} text-decoration: ${line} ${colour}; text-underline-offset: 0.3em; }`,
  );
  return highlight;
}

/** Highlight the inspected span, or none. @param {Range | null} range */
export function look(range) {
  if (!CSS.highlights) return;
  if (range) {
    const highlight = new Highlight(range);
    highlight.priority = 1;
    CSS.highlights.set("inspected", highlight);
  } else CSS.highlights.delete("inspected");
}

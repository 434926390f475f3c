// What one token cost and who spoke it, beside the text.

import { ink } from "./marks.js";
import { speaker } from "./told.js";
import { counted, percent, visible } from "./words.js";

const SHOWN = 5; // experts, at most: those that counted most

const card = /** @type {HTMLElement} */ (document.getElementById("card"));
const said = /** @type {HTMLElement} */ (document.getElementById("said"));

/**
 * An element with a class and what it holds.
 *
 * @param {string} tag
 * @param {string} name
 * @param {...(Node | string)} held
 */
export function element(tag, name, ...held) {
  const made = document.createElement(tag);
  if (name) made.className = name;
  made.append(...held);
  return made;
}

/** Experts and what each counted for, most first. @param {number[]} weights @param {string[]} names */
function ranked(weights, names) {
  const all = weights.map((weight, i) => ({ weight, name: names[i] }));
  return all.sort((a, b) => b.weight - a.weight).slice(0, SHOWN).filter((one) => one.weight > 0);
}

/** A line of the card: a name, a share, and the share drawn. */
function line(/** @type {Node} */ name, /** @type {number} */ share, colour = "var(--quiet)") {
  const drawn = element("i", "share");
  drawn.style.setProperty("--share", String(share));
  drawn.style.setProperty("--colour", colour);
  return element("li", "", name, element("span", "number", percent(share)), drawn);
}

/** @param {import("./told.js").Token} token @param {string[]} names */
function experts(token, names) {
  const lines = ranked(token.weights ?? [], names).map(({ weight, name }) => {
    const { colour, pattern } = ink(name);
    const swatch = element("i", "swatch");
    swatch.style.setProperty("--colour", colour);
    swatch.style.setProperty("--pattern", pattern);
    return line(element("span", "name", swatch, name), weight, colour);
  });
  return element("ul", "", ...lines);
}

/** @param {[string, number][]} alternatives @param {string} chosen */
function instead(alternatives, chosen) {
  const lines = alternatives.map(([name, logProb]) => {
    const label = element("bdi", name === chosen ? "chosen" : "", visible(name));
    return line(element("span", "word", label), Math.exp(logProb));
  });
  return element("ul", "", ...lines);
}

/** What a token cost, in words. @param {import("./told.js").Token[]} tokens */
function cost(tokens) {
  if (tokens.some((token) => token.logProb === null)) return "";
  const nats = tokens.reduce((sum, token) => sum + /** @type {number} */ (token.logProb), 0);
  return `${percent(Math.exp(nats))} likely · ${(-nats / Math.LN2).toFixed(2)} bits`;
}

/**
 * Show the card of a stretch of text below its box.
 *
 * @param {import("./told.js").Token[]} tokens  that make the stretch
 * @param {string} text  of the stretch
 * @param {string[]} names  of the experts
 * @param {DOMRect} box
 * @param {number} edge  of the window's width, which the card does not cross
 */
export function showCard(tokens, text, names, box, edge) {
  const [token] = tokens;
  const title = visible(tokens.length > 1 ? text : token.name);
  const pieces = tokens.length > 1 ? `${counted(tokens.length, "token")} of one character · ` : "";
  const parts = [
    element("p", "title", element("bdi", "", title)),
    element("p", "quiet", `${token.given ? "read" : "written"} · ${pieces}${cost(tokens)}`),
  ];
  if (names.length > 1 && token.weights) parts.push(experts(token, names));
  if (tokens.length === 1 && token.alternatives.length)
    parts.push(element("p", "quiet", "likeliest here"), instead(token.alternatives, token.name));
  card.replaceChildren(...parts);
  card.hidden = false;
  place(box, edge);
}

/** @param {DOMRect} box @param {number} edge */
function place(box, edge) {
  const { width, height } = card.getBoundingClientRect();
  const below = box.bottom + 10;
  const top = below + height < innerHeight - 12 ? below : box.top - height - 10;
  card.style.setProperty("--left", `${Math.max(12, Math.min(box.left, edge - width))}px`);
  card.style.setProperty("--top", `${Math.max(12, top)}px`);
}

/** Take the card away. */
export function hideCard() {
  card.hidden = true;
  said.textContent = "";
}

/**
 * Say what the card shows to those who listen.
 *
 * @param {import("./told.js").Token[]} tokens
 * @param {string} text
 * @param {string[]} names
 */
export function say(tokens, text, names) {
  const [token] = tokens;
  const share = token.weights ? percent(Math.max(...token.weights)) : "";
  const by = names.length > 1 && token.weights ? `, by ${names[speaker(token)]}, ${share}` : "";
  said.textContent = `${visible(text)}${by}; ${cost(tokens)}`;
}

// The card of a token: its probability, experts and alternatives.

import { ink } from "./marks.js";
import { activeExpert } from "./completion.js";
import { counted, percent, visible } from "./format.js";

const SHOWN = 5; // experts at most, by weight

const card = /** @type {HTMLElement} */ (document.getElementById("card"));
const announcement = /** @type {HTMLElement} */ (document.getElementById("announcement"));

/**
 * An element with a class and children.
 *
 * @param {string} tag
 * @param {string} name
 * @param {...(Node | string)} children
 */
export function element(tag, name, ...children) {
  const node = document.createElement(tag);
  if (name) node.className = name;
  node.append(...children);
  return node;
}

/** Experts by weight, highest first. @param {number[]} weights @param {string[]} names */
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

/** @param {import("./completion.js").Token} token @param {string[]} names */
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
function alternativesList(alternatives, chosen) {
  const lines = alternatives.map(([name, logProb]) => {
    const label = element("bdi", name === chosen ? "chosen" : "", visible(name));
    return line(element("span", "word", label), Math.exp(logProb));
  });
  return element("ul", "", ...lines);
}

/** A token's probability, as text. @param {import("./completion.js").Token[]} tokens */
function cost(tokens) {
  if (tokens.some((token) => token.logProb === null)) return "";
  const nats = tokens.reduce((sum, token) => sum + /** @type {number} */ (token.logProb), 0);
  return `${percent(Math.exp(nats))} likely · ${(-nats / Math.LN2).toFixed(2)} bits`;
}

/**
 * Show the card of a span of text below its box.
 *
 * @param {import("./completion.js").Token[]} tokens  of the span
 * @param {string} text  of the span
 * @param {string[]} names  of the experts
 * @param {DOMRect} box
 * @param {number} edge  right limit of the card, in pixels
 */
export function showCard(tokens, text, names, box, edge) {
  const [token] = tokens;
  const title = visible(tokens.length > 1 ? text : token.name);
  const several = tokens.length > 1 ? `${counted(tokens.length, "token")} of one character · ` : "";
  const parts = [
    element("p", "title", element("bdi", "", title)),
    element("p", "quiet", `${token.given ? "prompt" : "generated"} · ${several}${cost(tokens)}`),
  ];
  if (names.length > 1 && token.weights) parts.push(experts(token, names));
  if (tokens.length === 1 && token.alternatives.length)
    parts.push(element("p", "quiet", "most likely here"), alternativesList(token.alternatives, token.name));
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

/** Hide the card. */
export function hideCard() {
  card.hidden = true;
  announcement.textContent = "";
}

/**
 * Announce the card's content to screen readers.
 *
 * @param {import("./completion.js").Token[]} tokens
 * @param {string} text
 * @param {string[]} names
 */
export function say(tokens, text, names) {
  const [token] = tokens;
  const share = token.weights ? percent(Math.max(...token.weights)) : "";
  const by = names.length > 1 && token.weights ? `, by ${names[activeExpert(token)]}, ${share}` : "";
  announcement.textContent = `${visible(text)}${by}; ${cost(tokens)}`;
}

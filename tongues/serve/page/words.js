// How things are called and counted on the page.

const ROUTINGS = {
  "tfidf:1": "nearest expert, each token",
  "tfidf:2": "two nearest experts",
  tfidf: "all, by nearness",
  text: "one expert a text",
  posterior: "whoever predicts best so far",
  language: "the expert of a language",
  uniform: "all alike",
  random: "one by lot",
};

/** A model's name; of a folder's path its last part. @param {string} id */
export function modelName(id) {
  return /^[./~]/.test(id) ? (id.split("/").findLast((part) => part !== "") ?? id) : id;
}

/** What a routing does, in words. @param {string} routing */
export function routingName(routing) {
  return ROUTINGS[/** @type {keyof typeof ROUTINGS} */ (routing)] ?? routing;
}

/**
 * The routings a reader can choose, the model's own first.
 *
 * @param {import("./server.js").Model} model
 */
export function routingsOf({ routing, routes, languages }) {
  const need = { tfidf: routes, "tfidf:1": routes, "tfidf:2": routes, text: routes };
  const can = { ...need, language: languages.length > 0 };
  const others = Object.keys(ROUTINGS).filter((one) => one !== routing);
  return [routing, ...others.filter((one) => can[/** @type {keyof typeof can} */ (one)] ?? true)];
}

const names = new Intl.DisplayNames(["en"], { type: "language", fallback: "code" });

/** A language's English name, or its tag where it has none. @param {string} tag */
export function languageName(tag) {
  try {
    return names.of(tag) ?? tag;
  } catch {
    return tag;
  }
}

/** @param {number} count @param {string} thing */
export function counted(count, thing) {
  return `${count} ${thing}${count === 1 ? "" : "s"}`;
}

/** A share as a whole percentage. @param {number} share */
export function percent(share) {
  const hundred = share * 100;
  if (hundred > 0 && hundred < 0.1) return "< 0.1 %";
  return `${hundred >= 10 || hundred === 0 ? Math.round(hundred) : hundred.toFixed(1)} %`;
}

/** A token's text with what is not seen made visible. @param {string} name */
export function visible(name) {
  const text = /^bytes:(\\x[0-9a-f]{2})+$/.test(name) ? spelt(name.slice(6)) : name;
  return text.replaceAll(" ", "␣").replaceAll("\n", "⏎").replaceAll("\t", "⇥") || "∅";
}

/** Bytes as far as they are letters; where none is, the bytes. @param {string} escaped */
function spelt(escaped) {
  const bytes = escaped.split("\\x").slice(1);
  const text = new TextDecoder().decode(Uint8Array.from(bytes, (byte) => parseInt(byte, 16)));
  return /[^\ufffd]/.test(text) ? text.replaceAll(/\ufffd+/g, "\ufffd") : bytes.join("\u2009");
}

/** `\n` and `\t` as one writes them in a field, and back. @param {string} written */
export function unescaped(written) {
  const meant = { n: "\n", t: "\t", "\\": "\\" };
  return written.replaceAll(/\\([nt\\])/g, (_, letter) => meant[/** @type {"n"} */ (letter)]);
}

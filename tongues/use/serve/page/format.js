// Names and numbers as the page shows them.

/** A model's name; for a path, the name of the folder. @param {string} id */
export function modelName(id) {
  return /^[./~]/.test(id) ? (id.split("/").findLast((part) => part !== "") ?? id) : id;
}

const names = new Intl.DisplayNames(["en"], { type: "language", fallback: "code" });

/** A language's English name, or its tag if it has none. @param {string} tag */
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

/** A token's text with white space made visible. @param {string} name */
export function visible(name) {
  const text = /^bytes:(\\x[0-9a-f]{2})+$/.test(name) ? decoded(name.slice(6)) : name;
  return text.replaceAll(" ", "␣").replaceAll("\n", "⏎").replaceAll("\t", "⇥") || "∅";
}

/** Bytes decoded as UTF-8; the bytes themselves if nothing decodes. @param {string} escaped */
function decoded(escaped) {
  const bytes = escaped.split("\\x").slice(1);
  const text = new TextDecoder().decode(Uint8Array.from(bytes, (byte) => parseInt(byte, 16)));
  return /[^\ufffd]/.test(text) ? text.replaceAll(/\ufffd+/g, "\ufffd") : bytes.join("\u2009");
}

/** Replace the escapes `\n`, `\t` and `\\` by their characters. @param {string} text */
export function unescaped(text) {
  const characters = { n: "\n", t: "\t", "\\": "\\" };
  return text.replaceAll(/\\([nt\\])/g, (_, letter) => characters[/** @type {"n"} */ (letter)]);
}

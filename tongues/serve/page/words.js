// How things are called and counted on the page.

/** A model's name; of a folder's path its last part. @param {string} id */
export function modelName(id) {
  return /^[./~]/.test(id) ? (id.split("/").findLast((part) => part !== "") ?? id) : id;
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

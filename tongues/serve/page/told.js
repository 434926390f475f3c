// What a server told of a text: its tokens, who spoke each, and what that cost.

/**
 * @typedef {object} Token
 * @property {number} start  where its text begins; tokens that make one character share it
 * @property {string} name
 * @property {number | null} logProb
 * @property {[string, number][]} alternatives  likeliest first, with log-probabilities
 * @property {number[] | null} weights  of the experts
 * @property {boolean} given  stood in the prompt
 */

/**
 * @typedef {object} Telling
 * @property {string} prompt
 * @property {string} text  the prompt, then what is written
 * @property {Token[]} tokens
 * @property {string[]} experts
 * @property {string | null} language
 * @property {string | null} reason  why it ended
 * @property {string} heard  all that the server said: the prompt as its model reads it, and more
 * @property {number | null} end  of the prompt in it; null until that is known
 * @property {{points: number, units: number}} at  the last offset met, in characters and in text
 */

/** Nothing told yet of a prompt. @param {string} prompt @returns {Telling} */
export function begin(prompt) {
  const empty = { tokens: [], experts: [], language: null, reason: null };
  return { prompt, text: prompt, ...empty, heard: "", end: null, at: { points: 0, units: 0 } };
}

/**
 * Take the next chunk of an answer that echoes its prompt.
 *
 * @param {Telling} telling
 * @param {any} chunk
 */
export function hear(telling, chunk) {
  telling.experts = chunk.tongues?.experts ?? telling.experts;
  const choice = chunk.choices?.[0];
  if (!choice) return;
  telling.heard += choice.text;
  telling.reason = choice.finish_reason ?? telling.reason;
  telling.language = choice.tongues?.language ?? telling.language;
  const { tokens = [], token_logprobs, top_logprobs, text_offset } = choice.logprobs ?? {};
  tokens.forEach((/** @type {string} */ name, /** @type {number} */ i) => {
    const given = i < choice.tongues.given;
    const start = unitsAt(telling, text_offset[i]);
    if (!given && telling.end === null) align(telling, start);
    telling.tokens.push({
      start: telling.end === null ? start : start - telling.end + telling.prompt.length,
      name,
      logProb: token_logprobs[i],
      alternatives: Object.entries(top_logprobs?.[i] ?? {}).sort(([, a], [, b]) => b - a),
      weights: choice.tongues.weights[i],
      given,
    });
  });
  if (telling.reason && telling.end === null) align(telling, telling.heard.length);
  if (telling.end !== null) telling.text = telling.prompt + telling.heard.slice(telling.end);
}

/**
 * Bring the prompt's tokens to the prompt as it was typed. Some models read a space before every
 * text; where one reads other letters than were typed, its tokens have no place there.
 */
function align(/** @type {Telling} */ telling, /** @type {number} */ end) {
  const { heard, prompt, tokens } = telling;
  telling.end = end;
  const lead = end - prompt.length;
  if (!heard.slice(0, end).endsWith(prompt)) telling.tokens = [];
  else for (const token of tokens) token.start = Math.max(0, token.start - lead);
}

/** Where a character stands in JavaScript's text, which counts some twice. */
function unitsAt(/** @type {Telling} */ { heard, at }, /** @type {number} */ points) {
  for (; at.points < points && at.units < heard.length; at.points += 1)
    at.units += /** @type {number} */ (heard.codePointAt(at.units)) > 0xffff ? 2 : 1;
  return at.units;
}

/**
 * The tokens up to where a text no longer reads as it was told, as stretches of whole characters.
 *
 * @param {Telling} telling
 * @param {string} text
 * @returns {{start: number, end: number, tokens: Token[]}[]}
 */
export function stretches(telling, text) {
  const found = [];
  const { tokens } = telling;
  const same = alike(telling.text, text);
  for (let i = 0, next = 0; i < tokens.length; i = next) {
    while (next < tokens.length && tokens[next].start === tokens[i].start) next += 1;
    const end = tokens[next]?.start ?? telling.text.length;
    if (end > same) break;
    found.push({ start: tokens[i].start, end, tokens: tokens.slice(i, next) });
  }
  return found;
}

/** How far two texts are the same. @param {string} one @param {string} other */
function alike(one, other) {
  if (other.startsWith(one)) return one.length;
  let length = 0;
  while (length < other.length && one[length] === other[length]) length += 1;
  return length;
}

/** The expert that counted most for a token. @param {Token} token */
export function speaker({ weights }) {
  return weights ? weights.indexOf(Math.max(...weights)) : 0;
}

/**
 * What tokens cost, in bits for each byte of their text; null where nothing is told.
 *
 * @param {ReturnType<typeof stretches>} parts
 * @param {string} text
 * @param {boolean} given
 */
export function bitsPerByte(parts, text, given) {
  const wanted = parts.filter((part) => part.tokens[0].given === given && part.end > part.start);
  const bytes = new TextEncoder();
  let [bits, length] = [0, 0];
  for (const { start, end, tokens } of wanted) {
    if (tokens.some((token) => token.logProb === null)) continue;
    for (const token of tokens) bits -= /** @type {number} */ (token.logProb) / Math.LN2;
    length += bytes.encode(text.slice(start, end)).length;
  }
  return length ? bits / length : null;
}

/**
 * How many tokens each expert spoke, of the prompt and of what is written.
 *
 * @param {ReturnType<typeof stretches>} parts
 * @param {number} experts
 */
export function spoken(parts, experts) {
  const counts = Array.from({ length: experts }, () => ({ given: 0, written: 0 }));
  for (const token of parts.flatMap((part) => part.tokens))
    if (counts[speaker(token)]) counts[speaker(token)][token.given ? "given" : "written"] += 1;
  return counts;
}

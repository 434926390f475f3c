// A completion as it arrives: its tokens, the active expert of each, and its bits per byte.

/**
 * @typedef {object} Token
 * @property {number} start  where its text begins; tokens that make one character share it
 * @property {string} name
 * @property {number | null} logProb
 * @property {[string, number][]} alternatives  most likely first, with log-probabilities
 * @property {number[] | null} weights  of the experts
 * @property {boolean} given  part of the prompt
 */

/**
 * @typedef {object} Completion
 * @property {string} prompt
 * @property {string} text  the prompt, then what is written
 * @property {Token[]} tokens
 * @property {string[]} experts
 * @property {string | null} language
 * @property {string | null} reason  the finish reason
 * @property {string} received  all text received: the prompt as the model reads it, then the continuation
 * @property {number | null} end  of the prompt in it; null until that is known
 * @property {{points: number, units: number}} at  the last offset met, in characters and in text
 */

/** An empty completion of a prompt. @param {string} prompt @returns {Completion} */
export function newCompletion(prompt) {
  const empty = { tokens: [], experts: [], language: null, reason: null };
  return { prompt, text: prompt, ...empty, received: "", end: null, at: { points: 0, units: 0 } };
}

/**
 * Add the next chunk of a response that echoes its prompt.
 *
 * @param {Completion} completion
 * @param {any} chunk
 */
export function addChunk(completion, chunk) {
  completion.experts = chunk.tongues?.experts ?? completion.experts;
  const choice = chunk.choices?.[0];
  if (!choice) return;
  completion.received += choice.text;
  completion.reason = choice.finish_reason ?? completion.reason;
  completion.language = choice.tongues?.language ?? completion.language;
  const { tokens = [], token_logprobs, top_logprobs, text_offset } = choice.logprobs ?? {};
  tokens.forEach((/** @type {string} */ name, /** @type {number} */ i) => {
    const given = i < choice.tongues.echoed;
    const start = unitsAt(completion, text_offset[i]);
    if (!given && completion.end === null) align(completion, start);
    completion.tokens.push({
      start: completion.end === null ? start : start - completion.end + completion.prompt.length,
      name,
      logProb: token_logprobs[i],
      alternatives: Object.entries(top_logprobs?.[i] ?? {}).sort(([, a], [, b]) => b - a),
      weights: choice.tongues.weights[i],
      given,
    });
  });
  if (completion.reason && completion.end === null) align(completion, completion.received.length);
  if (completion.end !== null) completion.text = completion.prompt + completion.received.slice(completion.end);
}

/**
 * Move the prompt's tokens to their places in the prompt as typed. Some models add a space before
 * every text. If a model reads other characters than were typed, its prompt tokens are dropped.
 */
function align(/** @type {Completion} */ completion, /** @type {number} */ end) {
  const { received, prompt, tokens } = completion;
  completion.end = end;
  const lead = end - prompt.length;
  if (!received.slice(0, end).endsWith(prompt)) completion.tokens = [];
  else for (const token of tokens) token.start = Math.max(0, token.start - lead);
}

/** The index of a character in a JavaScript string, which counts UTF-16 units. */
function unitsAt(/** @type {Completion} */ { received, at }, /** @type {number} */ points) {
  for (; at.points < points && at.units < received.length; at.points += 1)
    at.units += /** @type {number} */ (received.codePointAt(at.units)) > 0xffff ? 2 : 1;
  return at.units;
}

/**
 * The tokens of the part of a text that is still as the server sent it, as spans of whole characters.
 *
 * @param {Completion} completion
 * @param {string} text
 * @returns {{start: number, end: number, tokens: Token[]}[]}
 */
export function spans(completion, text) {
  const result = [];
  const { tokens } = completion;
  const same = commonPrefix(completion.text, text);
  for (let i = 0, next = 0; i < tokens.length; i = next) {
    while (next < tokens.length && tokens[next].start === tokens[i].start) next += 1;
    const end = tokens[next]?.start ?? completion.text.length;
    if (end > same) break;
    result.push({ start: tokens[i].start, end, tokens: tokens.slice(i, next) });
  }
  return result;
}

/** The length of the common prefix. @param {string} one @param {string} other */
function commonPrefix(one, other) {
  if (other.startsWith(one)) return one.length;
  let length = 0;
  while (length < other.length && one[length] === other[length]) length += 1;
  return length;
}

/** The expert with the highest weight for a token. @param {Token} token */
export function activeExpert({ weights }) {
  return weights ? weights.indexOf(Math.max(...weights)) : 0;
}

/**
 * Bits per byte of the tokens; null if there are none with a log-probability.
 *
 * @param {ReturnType<typeof spans>} parts
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
 * Tokens by active expert, of the prompt and of the continuation.
 *
 * @param {ReturnType<typeof spans>} parts
 * @param {number} experts
 */
export function tokensByExpert(parts, experts) {
  const counts = Array.from({ length: experts }, () => ({ given: 0, written: 0 }));
  for (const token of parts.flatMap((part) => part.tokens))
    if (counts[activeExpert(token)]) counts[activeExpert(token)][token.given ? "given" : "written"] += 1;
  return counts;
}

// What the page asks of the server it came from, in OpenAI's form.

/**
 * @typedef {object} Model
 * @property {string} id
 * @property {{name: string, languages: string[]}[]} experts
 * @property {string[]} languages
 * @property {string} routing  its own
 * @property {number | null} context  tokens that it sees
 * @property {{routing: string, title: string}[]} routings  that it can be asked by, its own first
 */

/** Something the server, or the way to it, would not do. */
export class Problem extends Error {
  /**
   * @param {string} message
   * @param {{status?: number, field?: string | null, code?: string | null}} [about]
   */
  constructor(message, { status = 0, field = null, code = null } = {}) {
    super(message);
    this.status = status;
    this.field = field;
    this.code = code;
  }
}

let key = sessionStorage.getItem("key") ?? "";

/** Send this key from now on. @param {string} secret */
export function useKey(secret) {
  key = secret;
  sessionStorage.setItem("key", secret);
}

/** The models that are served. @returns {Promise<Model[]>} */
export async function models() {
  const answer = await ask("v1/models", {});
  const { data } = await answer.json();
  return data.map((/** @type {any} */ one) => ({
    id: one.id,
    experts: one.tongues.experts,
    languages: one.tongues.languages,
    routing: one.tongues.routing,
    context: one.tongues.context,
    routings: one.tongues.routings,
  }));
}

/**
 * The chunks of one answer as they come; ends early, with no error, when aborted.
 *
 * @param {object} body  of the request, without `stream`
 * @param {AbortSignal} signal
 */
export async function* complete(body, signal) {
  try {
    const answer = await ask("v1/completions", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ ...body, stream: true }),
      signal,
    });
    for await (const data of events(answer)) {
      if (data === "[DONE]") return;
      const chunk = JSON.parse(data);
      if (chunk.error) throw new Problem(chunk.error.message, { status: 500 });
      yield chunk;
    }
  } catch (error) {
    if (signal.aborted) return;
    if (error instanceof Problem) throw error;
  }
  throw new Problem("The connection broke off. What was written stays.");
}

/** The data of each event of a stream. @param {Response} answer */
async function* events(answer) {
  const reader = /** @type {ReadableStream} */ (answer.body).getReader();
  const decoder = new TextDecoder();
  for (let rest = ""; ; ) {
    const { done, value } = await reader.read();
    if (done) return;
    const lines = (rest + decoder.decode(value, { stream: true })).split("\n");
    rest = /** @type {string} */ (lines.pop());
    for (const line of lines) if (line.startsWith("data: ")) yield line.slice(6).trim();
  }
}

/** @param {string} path @param {RequestInit} options */
async function ask(path, options) {
  const headers = new Headers(options.headers);
  if (key) headers.set("authorization", `Bearer ${key}`);
  let answer;
  try {
    answer = await fetch(path, { ...options, headers });
  } catch (error) {
    if (options.signal?.aborted) throw error;
    throw new Problem("The server does not answer. Is it still running?");
  }
  if (!answer.ok) throw await refusal(answer);
  return answer;
}

/** @param {Response} answer */
async function refusal(answer) {
  const told = await answer.json().catch(() => ({}));
  let message = told.error?.message ?? `The server answered ${answer.status}.`;
  const wait = answer.headers.get("retry-after");
  if (wait && /^\d+$/.test(wait)) message += ` Try again in ${wait} s.`;
  const { param: field = null, code = null } = told.error ?? {};
  return new Problem(message, { status: answer.status, field, code });
}

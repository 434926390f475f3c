// Requests to the server of this page, in OpenAI's format.

/**
 * @typedef {object} Model
 * @property {string} id
 * @property {{name: string, languages: string[]}[]} experts
 * @property {string[]} languages
 * @property {string} routing  the default
 * @property {number | null} context  in tokens
 * @property {{routing: string, title: string}[]} routings  that it can be asked by, the default first
 * @property {boolean} chat  whether it takes conversations
 * @property {Record<string, string>} examples  beginnings of texts, by language
 */

/** An error of the server or the connection. */
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

/** Use this API key from now on. @param {string} secret */
export function useKey(secret) {
  key = secret;
  sessionStorage.setItem("key", secret);
}

/** The models that are served. @returns {Promise<Model[]>} */
export async function models() {
  const response = await request("v1/models", {});
  const { data } = await response.json();
  return data.map((/** @type {any} */ one) => ({
    id: one.id,
    experts: one.tongues.experts,
    languages: one.tongues.languages,
    routing: one.tongues.routing,
    context: one.tongues.context,
    routings: one.tongues.routings,
    chat: one.tongues.chat,
    examples: one.tongues.examples,
  }));
}

/**
 * The chunks of a streamed response; ends early, without error, when aborted.
 *
 * @param {object} body  of the request, without `stream`
 * @param {AbortSignal} signal
 * @param {string} kind  `completions` or `chat/completions`
 */
export async function* complete(body, signal, kind = "completions") {
  try {
    const response = await request(`v1/${kind}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ ...body, stream: true }),
      signal,
    });
    for await (const data of events(response)) {
      if (data === "[DONE]") return;
      const chunk = JSON.parse(data);
      if (chunk.error) throw new Problem(chunk.error.message, { status: 500 });
      yield chunk;
    }
  } catch (error) {
    if (signal.aborted) return;
    if (error instanceof Problem) throw error;
  }
  throw new Problem("The connection was lost. The generated text was kept.");
}

/** The data of each event of a stream. @param {Response} response */
async function* events(response) {
  const reader = /** @type {ReadableStream} */ (response.body).getReader();
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
async function request(path, options) {
  const headers = new Headers(options.headers);
  if (key) headers.set("authorization", `Bearer ${key}`);
  let response;
  try {
    response = await fetch(path, { ...options, headers });
  } catch (error) {
    if (options.signal?.aborted) throw error;
    throw new Problem("The server does not answer. Is it still running?");
  }
  if (!response.ok) throw await refusal(response);
  return response;
}

/** @param {Response} response */
async function refusal(response) {
  const body = await response.json().catch(() => ({}));
  let message = body.error?.message ?? `The server answered ${response.status}.`;
  const wait = response.headers.get("retry-after");
  if (wait && /^\d+$/.test(wait)) message += ` Try again in ${wait} s.`;
  const { param: field = null, code = null } = body.error ?? {};
  return new Problem(message, { status: response.status, field, code });
}

// The page's state in the address's fragment, which never leaves the browser by itself.

const LONGEST = 100_000; // characters; longer addresses are cut where they are pasted

/** @typedef {Record<string, string>} State */

/** What the address says. @returns {State} */
export function readLink() {
  return Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
}

/**
 * Make the address say it; false where that is too long.
 *
 * @param {State} state  of which what is empty goes without saying
 */
export function writeLink(state) {
  const said = new URLSearchParams(Object.entries(state).filter(([, value]) => value !== ""));
  const fragment = said.toString();
  const fits = fragment.length <= LONGEST;
  history.replaceState(null, "", fragment && fits ? `#${fragment}` : location.pathname);
  return fits;
}

/** Put the address where it can be pasted from; false where the browser forbids it. */
export async function copyLink() {
  try {
    await navigator.clipboard.writeText(location.href);
    return true;
  } catch {
    return false;
  }
}

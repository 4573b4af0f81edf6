// Passkeys: what the server says in JSON and the browser in bytes.

import { Refused } from "./api.js";

/** Whether this browser knows them at all. */
export const hasPasskeys = "PublicKeyCredential" in globalThis;

/** @param {any} options as the server gave them @returns {Promise<any>} what the server wants to see */
export async function makePasskey(options) {
  const made = /** @type {any} */ (
    await asked(() =>
      navigator.credentials.create({
        publicKey: {
          ...options,
          challenge: bytes(options.challenge),
          user: { ...options.user, id: bytes(options.user.id) },
          excludeCredentials: (options.excludeCredentials ?? []).map(described),
        },
      }),
    )
  );
  const { response } = made;
  return said(made, {
    clientDataJSON: text(response.clientDataJSON),
    attestationObject: text(response.attestationObject),
    transports: response.getTransports?.() ?? [],
  });
}

/** @param {any} options as the server gave them @returns {Promise<any>} what the server wants to see */
export async function usePasskey(options) {
  const used = /** @type {any} */ (
    await asked(() =>
      navigator.credentials.get({
        publicKey: { ...options, challenge: bytes(options.challenge), allowCredentials: (options.allowCredentials ?? []).map(described) },
      }),
    )
  );
  const { response } = used;
  return said(used, {
    clientDataJSON: text(response.clientDataJSON),
    authenticatorData: text(response.authenticatorData),
    signature: text(response.signature),
    userHandle: response.userHandle && text(response.userHandle),
  });
}

/** Browsers do not say why somebody did not go on. @param {() => Promise<any>} ask */
async function asked(ask) {
  try {
    return await ask();
  } catch (error) {
    const name = /** @type {any} */ (error)?.name;
    throw new Refused(400, { code: name === "InvalidStateError" ? "passkey_known" : "passkey_cancelled" });
  }
}

/** @param {any} credential @param {any} response */
function said(credential, response) {
  return { id: credential.id, rawId: text(credential.rawId), type: credential.type, response, clientExtensionResults: {} };
}

/** @param {any} one */
function described(one) {
  return { ...one, id: bytes(one.id) };
}

/** @param {string} text base64url */
function bytes(text) {
  return Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (character) => character.charCodeAt(0));
}

/** @param {ArrayBuffer} buffer */
function text(buffer) {
  return btoa(String.fromCharCode(...new Uint8Array(buffer))).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

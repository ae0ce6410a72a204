// Opens the browser with a key, and signs in with what comes back encrypted with it. The app watches
// the clipboard by itself; without it the text is pasted, and decrypted here.
const form = document.querySelector("#desktop-sign-in");
const wrong = document.querySelector("#wrong-token");
const pasted = document.querySelector("#pasted");
const bridge = window.electron_bridge;
const TAG_BITS = 128;
const NONCE_BYTES = 12;
let key = null;

function hexOf(bytes) {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function bytesOf(hex) {
  return Uint8Array.from(hex.match(/../g) ?? [], (digits) => Number.parseInt(digits, 16));
}

function finish(token) {
  form.elements.token.value = token;
  form.submit();
}

function newKey() {
  if (typeof bridge?.decrypt_clipboard === "function") {
    const decrypter = bridge.decrypt_clipboard(1);
    decrypter.pasted.then(finish);
    return decrypter.key;
  }
  return crypto.getRandomValues(new Uint8Array(32));
}

function openBrowser() {
  key = newKey();
  const there = new URL(location.href);
  there.searchParams.set("desktop_flow_otp", hexOf(key));
  window.open(there, "_blank");
}

async function decrypt(text) {
  const data = bytesOf(text);
  const algorithm = { name: "AES-GCM", iv: data.subarray(0, NONCE_BYTES), tagLength: TAG_BITS };
  const secret = await crypto.subtle.importKey("raw", key, "AES-GCM", false, ["decrypt"]);
  const plain = await crypto.subtle.decrypt(algorithm, secret, data.subarray(NONCE_BYTES));
  return new TextDecoder().decode(plain);
}

pasted.addEventListener("input", async () => {
  const text = pasted.value.trim();
  wrong.hidden = true;
  if (!text) return;
  try {
    finish(await decrypt(text));
  } catch {
    wrong.hidden = false;
  }
});
form.addEventListener("submit", (event) => event.preventDefault());
document.querySelector("#open-browser").addEventListener("click", openBrowser);
// Without a secure context nothing pasted can be decrypted here: the app does it.
if (!globalThis.crypto?.subtle) pasted.closest(".field").hidden = true;
openBrowser();

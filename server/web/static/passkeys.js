// Asks the browser for a passkey when a form with `data-passkey` is submitted, and sends it along.
function bytesOf(text) {
  const base64 = text.replaceAll("-", "+").replaceAll("_", "/");
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
}

function textOf(buffer) {
  const characters = Array.from(new Uint8Array(buffer), (byte) => String.fromCharCode(byte));
  return btoa(characters.join("")).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

function withBytes(descriptors = []) {
  return descriptors.map((each) => ({ ...each, id: bytesOf(each.id) }));
}

async function created(options) {
  const { response, ...rest } = await navigator.credentials.create({
    publicKey: {
      ...options,
      challenge: bytesOf(options.challenge),
      user: { ...options.user, id: bytesOf(options.user.id) },
      excludeCredentials: withBytes(options.excludeCredentials),
    },
  }).then(plain);
  return {
    ...rest,
    response: {
      clientDataJSON: textOf(response.clientDataJSON),
      attestationObject: textOf(response.attestationObject),
    },
  };
}

async function used(options) {
  const { response, ...rest } = await navigator.credentials.get({
    publicKey: {
      ...options,
      challenge: bytesOf(options.challenge),
      allowCredentials: withBytes(options.allowCredentials),
    },
  }).then(plain);
  return {
    ...rest,
    response: {
      clientDataJSON: textOf(response.clientDataJSON),
      authenticatorData: textOf(response.authenticatorData),
      signature: textOf(response.signature),
      userHandle: response.userHandle ? textOf(response.userHandle) : null,
    },
  };
}

function plain({ id, rawId, type, response }) {
  return { id, rawId: textOf(rawId), type, response };
}

async function answer(form) {
  const problem = form.querySelector("[data-passkey-problem]");
  const ask = form.dataset.passkey === "create" ? created : used;
  problem.hidden = true;
  try {
    form.elements.credential.value = JSON.stringify(await ask(JSON.parse(form.dataset.options)));
  } catch {
    problem.hidden = false;
    return;
  }
  form.submit();
}

for (const form of document.querySelectorAll("form[data-passkey]")) {
  const isSupported = window.PublicKeyCredential !== undefined;
  form.hidden = !isSupported;
  for (const hint of document.querySelectorAll("[data-without-passkeys]")) hint.hidden = isSupported;
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    answer(form);
  });
}

// Copies the token by a button, with what the browser has for it.
const shown = document.querySelector("#desktop-token");
const button = document.querySelector("#copy");
const said = document.querySelector("#copied");

async function copy() {
  if (navigator.clipboard) {
    await navigator.clipboard.writeText(shown.textContent);
    return true;
  }
  getSelection().selectAllChildren(shown);
  return document.execCommand("copy");
}

button.hidden = false;
button.addEventListener("click", async () => {
  const isDone = await copy().catch(() => false);
  said.textContent = isDone ? "Copied. Return to the app." : "Select the text, and copy it.";
});

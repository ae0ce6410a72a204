// Moves the token from the address, where the history of the browser would keep it, into the form.
const token = location.hash.slice(1);
const field = document.querySelector("input[name=token]");
if (token && field) {
  field.value = token;
  field.closest(".field").hidden = true;
  history.replaceState(null, "", location.pathname);
  document.querySelector("#sign-in-link button").focus();
}

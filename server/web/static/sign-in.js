// Keeps the fragment of the address that was asked for, which servers never see: the browser has it
// still, and the form and the links to other sites take it along as a part of `next`.
const fragment = location.hash;
if (fragment.length > 1) {
  for (const field of document.querySelectorAll("input[name=next]")) {
    field.value = field.value.split("#")[0] + fragment;
  }
  for (const link of document.querySelectorAll("a[data-next]")) {
    const url = new URL(link.href);
    url.searchParams.set("next", link.dataset.next.split("#")[0] + fragment);
    link.href = url.href;
  }
}

// Comforts of the panel: copying, and two keys. Every page works without them.
"use strict";

const told = document.getElementById("told");

async function copy(button) {
  // A long text stands once in the page, beside its button.
  const text = button.dataset.copy || button.previousElementSibling.textContent;
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    told.textContent = told.dataset.notCopied;
    return;
  }
  told.textContent = told.dataset.copied;
  button.classList.add("copied");
  setTimeout(() => button.classList.remove("copied"), 1500);
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-copy]");
  if (button) copy(button);
});

document.addEventListener("click", (event) => {
  if (event.target.closest("[data-print]")) print();
});

// Pressed twice, a form is sent once: the browser would drop the first answer, with a secret in it.
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.method !== "post") return;
  if (form.dataset.sent) event.preventDefault();
  form.dataset.sent = "yes";
  // Somebody who stopped the answer may try again.
  setTimeout(() => delete form.dataset.sent, 5000);
});

addEventListener("pageshow", () => {
  for (const form of document.forms) delete form.dataset.sent;
});

// Not while somebody types, nor with a modifier: those keys are the browser's.
function isForUs(event) {
  const types = event.target.closest("input, textarea, select, [contenteditable]");
  const isModified = event.ctrlKey || event.metaKey || event.altKey;
  return !types && !isModified && document.documentElement.dataset.shortcuts !== "off";
}

document.addEventListener("keydown", (event) => {
  if (!isForUs(event)) return;
  if (event.key === "/") {
    const search = document.querySelector("[data-search]");
    if (!search) return;
    event.preventDefault();
    search.focus();
    search.select();
  } else if (event.key === "c") {
    // The page's own id is the first in the main part.
    const button = document.querySelector("main [data-copy]");
    if (button) copy(button);
  }
});

// An open menu closes by a click beside it, and by Escape.
for (const menu of document.querySelectorAll("details.switch")) {
  document.addEventListener("click", (event) => {
    if (!menu.contains(event.target)) menu.open = false;
  });
  menu.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      menu.open = false;
      menu.querySelector("summary").focus();
    }
  });
}

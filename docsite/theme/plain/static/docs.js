// A button beside each sample that copies it. Pages can be read without this script.
"use strict";

const told = document.getElementById("copied");

async function copy(button, sample) {
  try {
    await navigator.clipboard.writeText(sample.textContent.replace(/\n$/, ""));
    told.textContent = "Copied";
  } catch {
    told.textContent = "Could not be copied. Mark the text and copy it yourself.";
    return;
  }
  button.textContent = "Copied";
  setTimeout(() => { button.textContent = "Copy"; }, 1500);
}

for (const sample of document.querySelectorAll("div.highlight > pre")) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "Copy";
  button.addEventListener("click", () => copy(button, sample));
  sample.before(button);
}

// A passkey that was not used is told in words; the page's other ways stay open.
document.addEventListener("allauth.error", (event) => {
  event.preventDefault();
  document.getElementById("passkey-refused").hidden = false;
});

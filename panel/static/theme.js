// Before the first paint: the device's theme, for people who chose none of their own.
"use strict";
{
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const follow = () => {
    document.documentElement.dataset.bsTheme = dark.matches ? "dark" : "light";
  };
  dark.addEventListener("change", follow);
  follow();
}

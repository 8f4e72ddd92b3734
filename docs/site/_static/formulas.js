// A formula that is wider than a phone is scrolled: by keyboard too, once it can be reached.
window.addEventListener("load", async () => {
  await window.MathJax?.startup?.promise;
  for (const one of document.querySelectorAll("mjx-container[display]")) {
    if (one.scrollWidth > one.clientWidth) {
      one.tabIndex = 0;
      one.setAttribute("role", "group");
      one.setAttribute("aria-label", "formula");
    }
  }
});

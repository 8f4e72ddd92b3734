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

// The theme's arrows that unfold a list of pages have no name; it is that of the link beside them.
window.addEventListener("DOMContentLoaded", () => {
  for (const one of document.querySelectorAll(".bd-sidebar-primary summary")) {
    const link = one.parentElement.parentElement.querySelector("a");
    one.setAttribute("aria-label", `Pages under ${link.textContent}`);
  }
});

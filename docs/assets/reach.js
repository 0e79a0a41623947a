// What scrolls can be reached with the keyboard, and the dialog of the search has a name.
(() => {
  const update = () => {
    for (const one of document.querySelectorAll(".md-typeset pre > code, .md-typeset__scrollwrap")) {
      if (one.scrollWidth > one.clientWidth) one.tabIndex = 0;
      else one.removeAttribute("tabindex");
    }
  };
  document.querySelector(".md-search")?.setAttribute("aria-label", "Search");
  addEventListener("load", update);
  addEventListener("resize", update);
  addEventListener("toggle", update, true); // of folded tables
})();

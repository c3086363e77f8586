// Has failures of the page's own scripts shown, instead of a page that stands still in silence. It is no module, and
// runs before them, so that it tells of those that do not load.
{
  const show = (message) => {
    const node = document.getElementById("message");
    node.hidden = false;
    // It stays, also where a later call succeeds.
    node.dataset.failed = "true";
    node.textContent = node.dataset.failure.replace("{message}", message);
  };
  addEventListener("error", ({ message, target }) => {
    if (message || target.localName === "script") show(message || target.src);
  }, true);
  addEventListener("unhandledrejection", ({ reason }) => show(reason?.message || reason));
}

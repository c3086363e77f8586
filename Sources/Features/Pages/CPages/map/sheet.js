// The list as a sheet on narrow screens, which is pulled up over the map by its handle. Elsewhere it is beside the map.

import { byId } from "../pages/common.js";

const narrow = matchMedia("(max-width: 44rem)");
const [sheet, handle] = [byId("places"), byId("toggle-list")];
let pulled;

export function setListOpen(isOpen) {
  document.body.classList.toggle("listing", isOpen);
  sheet.style.height = "";
  handle.setAttribute("aria-expanded", String(isOpen));
  // What is below the edge of the screen is not reached with Tab.
  for (const node of sheet.children) if (node !== handle) node.inert = narrow.matches && !isOpen;
}

export function startSheet() {
  const isOpen = () => document.body.classList.contains("listing");
  setListOpen(false);
  narrow.addEventListener("change", () => setListOpen(false));
  handle.addEventListener("pointerdown", ({ clientY, pointerId }) => {
    pulled = { from: clientY, height: sheet.offsetHeight, by: 0 };
    handle.setPointerCapture(pointerId);
  });
  handle.addEventListener("pointermove", ({ clientY }) => {
    if (!pulled) return;
    pulled.by = pulled.from - clientY;
    if (Math.abs(pulled.by) > 5) sheet.style.height = `${pulled.height + pulled.by}px`;
  });
  handle.addEventListener("pointercancel", () => {
    pulled = undefined;
    setListOpen(isOpen());
  });
  handle.addEventListener("click", () => {
    const by = pulled?.by || 0;
    pulled = undefined;
    // A pull opens or closes by its direction, a tap does the other.
    setListOpen(Math.abs(by) > 5 ? by > 0 : !isOpen());
  });
}

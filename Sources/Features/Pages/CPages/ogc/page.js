// The map of a page of features: the places that the page names, each a link to its own page.

import { byId } from "../pages/common.js";
import { symbolOf } from "../map/symbols.js";
import * as view from "../map/view.js";

/** The zoom levels at which a place is shown by itself, without and with a map of streets. */
const ownZooms = [6.5, 15];
const features = [...document.querySelectorAll("[data-lat]")].map((node, id) => {
  const { name, category, lat, long } = node.dataset;
  return { id: String(id), name, category, symbol: symbolOf(category), lat: Number(lat), long: Number(long), count: 1, href: node.href };
});

function report(text) {
  byId("message").hidden = false;
  byId("message").textContent = text;
}

function showAll() {
  const [lats, longs] = ["lat", "long"].map((name) => features.map((feature) => feature[name]));
  const { lat, long } = features[0];
  if (features.length === 1) view.jump({ lat, long }, ownZooms[Number(view.hasImages({ lat, long }))]);
  else view.fit([Math.min(...longs), Math.min(...lats), Math.max(...longs), Math.max(...lats)]);
}

if (byId("map")) {
  view.startMap({
    report, onShowAll: showAll,
    onOpen: (feature) => {
      if (feature.count > 1) view.open(feature);
      else if (feature.href) location.assign(feature.href);
    },
  });
  view.show(features, new Set());
  if (features.length === 1) view.select(features[0]);
  await view.loadBaseMap().catch((problem) => report(problem.message));
  showAll();
}

// The symbols of categories: a colour, and a drawing in a square of 16 units; and their labels.

import { json, locale } from "../pages/common.js";

const drawings = {
  food: "M4 2v4a2 2 0 0 0 1.2 1.8V14h1.6V7.8A2 2 0 0 0 8 6V2H7.1v3.5h-.6V2h-1v3.5h-.6V2zM11.8 2c-1.6.6-2.4 2.2-2.4 4.2 0 1.3.4 2 1.1 2.4V14H12z",
  cafe: "M3 4h8.2v1.2h.9a2.4 2.4 0 0 1 0 4.8h-1.3A3.4 3.4 0 0 1 8 11.4H6a3 3 0 0 1-3-3zM11.2 6.6v2h.9a1 1 0 0 0 0-2zM2.5 12.4h9.2v1.3H2.5z",
  bar: "M2.3 3h11.4L8.8 8.6V12H11v1.5H5V12h2.2V8.6z",
  shop: "M3.4 5.5h9.2l.8 8.3H2.6zM5.4 5.5a2.6 2.6 0 0 1 5.2 0H9.4a1.4 1.4 0 0 0-2.8 0z",
  hotel: "M1.8 3.8h1.5v4h3.9V5.4h4a3 3 0 0 1 3 3v4h-1.5v-2H3.3v2H1.8zM3.9 5.9a1.3 1.3 0 1 1 2.6 0 1.3 1.3 0 0 1-2.6 0z",
  museum: "M8 1.8l6 3.3v1.2H2V5.1zM3 7.2h1.7v4.4H3zM7.1 7.2h1.8v4.4H7.1zM11.3 7.2H13v4.4h-1.7zM2 12.4h12V14H2z",
  monument: "M7 3.2l1-1.8 1 1.8.9 7.6H6.1zM4.2 11.8h7.6V14H4.2z",
  castle: "M3 2.8h2v1.6h1.6V2.8h2.8v1.6H11V2.8h2V14H9.6v-2.4a1.6 1.6 0 0 0-3.2 0V14H3z",
  religious: "M7.3 1.4h1.4v1.2H10V4H8.7v1.6L12 8v6H9.4v-2.6a1.4 1.4 0 0 0-2.8 0V14H4V8l3.3-2.4V4H6V2.6h1.3z",
  peak: "M6.4 3.4l3 5.2 1.4-2.2 4 6.8H1.2z",
  tree: "M8 1.4l3.6 5h-1.5l2.8 4.1H8.9V14H7.1v-3.5H3.1l2.8-4.1H4.4z",
  water: "M8 1.8c2.5 3 3.9 5.2 3.9 7.3a3.9 3.9 0 0 1-7.8 0c0-2.1 1.4-4.3 3.9-7.3z",
  bus: "M3.4 3.6A1.6 1.6 0 0 1 5 2h6a1.6 1.6 0 0 1 1.6 1.6V12h-1v1.6H10V12H6v1.6H4.4V12h-1zM4.9 3.9v3.9h6.2V3.9zM5 9.2h1.5v1.3H5zM9.5 9.2H11v1.3H9.5z",
  train: "M4 4a2 2 0 0 1 2-2h4a2 2 0 0 1 2 2v6a1.6 1.6 0 0 1-1.1 1.5l1.7 2.6h-1.8l-1.1-1.9H6.3l-1.1 1.9H3.4l1.7-2.6A1.6 1.6 0 0 1 4 10zM5.4 4.2v3h5.2v-3zM5.6 8.6h1.4V10H5.6zM9 8.6h1.4V10H9z",
  plane: "M8 1.3c.7 0 1 .8 1 1.7v3.1l5.1 3v1.5L9 9.1v3l1.5 1.1v1.1L8 13.6l-2.5.7v-1.1L7 12.1v-3l-5.1 1.5V9.1l5.1-3V3c0-.9.3-1.7 1-1.7z",
  ship: "M7.2 2h1.6v2h3.4v4l1.8.8-1.6 3.6c-1 0-1.4-.6-2.2-.6s-1.2.8-2.2.8-1.4-.8-2.2-.8-1.2.6-2.2.6L2 8.8 3.8 8V4h3.4zM5.2 5.4v2L8 6.2l2.8 1.2v-2z",
  parking: "M4.8 2.3h4.3a3.5 3.5 0 0 1 0 7H6.9v4.4H4.8zM6.9 4.3v3h2a1.5 1.5 0 0 0 0-3z",
  bicycle: "M4 7.2a2.9 2.9 0 1 1 0 5.8 2.9 2.9 0 0 1 0-5.8zM4 8.5a1.6 1.6 0 1 0 0 3.2 1.6 1.6 0 0 0 0-3.2zM12 7.2a2.9 2.9 0 1 1 0 5.8 2.9 2.9 0 0 1 0-5.8zM12 8.5a1.6 1.6 0 1 0 0 3.2 1.6 1.6 0 0 0 0-3.2zM5.6 4h2.6v1.1h-.8l.5 1.3h2.5l-.5-1.3H8.9V3h2.2l2 6.8-1.1.4-.9-2.7-2.2 3.2H4V9.5h3.4L6.2 5.1h-.6z",
  health: "M6.2 2.3h3.6v3.9h3.9v3.6H9.8v3.9H6.2V9.8H2.3V6.2h3.9z",
  school: "M8 2.8l7.2 3.1L8 9 .8 5.9zM3.8 8.3L8 10.2l4.2-1.9V11c-1.1 1.3-2.5 1.9-4.2 1.9S4.9 12.3 3.8 11z",
  bank: "M1.5 4.2h13v7.6h-13zM8 6a2 2 0 1 0 0 4 2 2 0 0 0 0-4zM3 7.3v1.4h1.2V7.3zM11.8 7.3v1.4H13V7.3z",
  office: "M4 2h8v12H9.1v-2.6H6.9V14H4zM5.5 3.8v1.5H7V3.8zM9 3.8v1.5h1.5V3.8zM5.5 6.7v1.5H7V6.7zM9 6.7v1.5h1.5V6.7z",
  star: "M8 1.5l1.9 4.1 4.5.5-3.3 3 .9 4.4L8 11.3l-4 2.2.9-4.4-3.3-3 4.5-.5z",
  art: "M2 3h12v10H2zM3.5 4.5v5.4l2.5-2.9 2.2 2.4 1.4-1.4 2.9 2.8V4.5z",
  stage: "M2.5 3h11v5a5.5 5.5 0 0 1-11 0zM5 5.2v1.4h2V5.2zM9 5.2v1.4h2V5.2zM5.2 8.6a2.9 2.9 0 0 0 5.6 0z",
  sport: "M8 1.8a6.2 6.2 0 1 1 0 12.4A6.2 6.2 0 0 1 8 1.8zM8 4.6L5.1 6.7l1.1 3.4h3.6l1.1-3.4z",
  fuel: "M2.8 3.2A1.2 1.2 0 0 1 4 2h4a1.2 1.2 0 0 1 1.2 1.2V14H2.8zM4.2 3.6v3h3.6v-3zM9.8 6l-.6-1.1 1.1-.9 2.9 2.5V11a1.7 1.7 0 0 1-3.4 0V8.6h-.6V7.3h1.9V11a.4.4 0 0 0 .8 0V7.7z",
  person: "M8 1.5a1.7 1.7 0 1 1 0 3.4 1.7 1.7 0 0 1 0-3.4zM5.4 5.7h5.2v4.5h-1v4.2H6.4v-4.2h-1z",
  info: "M6.9 2.3h2.2v2.2H6.9zM5.8 6h3.3v6h1.1v1.6H5.8V12h1.1V7.6H5.8z",
  book: "M1.8 3.3c2.2-.8 4.2-.8 5.6.3v9.6c-1.4-1-3.4-1-5.6-.3zM14.2 3.3c-2.2-.8-4.2-.8-5.6.3v9.6c1.4-1 3.4-1 5.6-.3z",
  house: "M8 1.8l6.3 5.7h-1.7V14H9.5v-3.6h-3V14H3.4V7.5H1.7z",
  post: "M2 3.8h12L8 8.3zM2 5.6l6 4.5 6-4.5v6.6H2z",
  bridge: "M1.5 6c3 0 4-2 6.5-2s3.5 2 6.5 2v1.5c-1 0-1.8-.2-2.5-.5V12h-1.6V6.9C9.6 6.4 8.9 6 8 6s-1.6.4-2.4.9V12H4V7c-.7.3-1.5.5-2.5.5z",
  other: "M8 5.2a2.8 2.8 0 1 1 0 5.6 2.8 2.8 0 0 1 0-5.6z",
  tower: "M7.3 1.4h1.4v1.8l1 .9v2.5L11.6 14H9.8L8 11.6 6.2 14H4.4l1.9-7.4V4.1l1-.9z",
};

// Families of categories: the number of the colour, the interest in their places, and words of categories by symbol.
const families = [
  [7, 6, { museum: "museum palace", stage: "theatre cinema music_venue concert_hall opera", star:
    "attraction viewpoint theme_park zoo landmark wonder", monument: "monument", castle:
    "castle fort ruins archaeological archaeological_site city_gate historic", religious:
    "religious place_of_worship church mosque synagogue temple monastery cathedral", tower:
    "tower lighthouse skyscraper", bridge: "bridge aqueduct viaduct dam" }],
  [4, 5, { train: "station subway_entrance train railway_station halt", plane: "airport aerodrome helipad", ship:
    "ferry_terminal harbour marina port pier" }],
  [3, 5, { tree: "park garden forest nature_reserve national_park tree wood desert", peak:
    "peak volcano mountain hill rock glacier cave_entrance ridge cliff", water:
    "lake water waterfall spring beach bay river island reef" }],
  [6, 4, { hotel: "hotel hostel motel guest_house apartment camp_site alpine_hut" }],
  [0, 4, { health: "hospital clinic pharmacy doctors dentist veterinary chemist" }],
  [2, 4, { school: "school university college kindergarten", book: "library", sport:
    "stadium sports_centre pitch fitness_centre swimming_pool playground sport" }],
  [1, 3, { food: "restaurant fast_food food_court ice_cream bakery deli", cafe: "cafe coffee tea", bar:
    "bar pub biergarten nightclub" }],
  [7, 2, { art: "art gallery artwork arts_centre", monument: "memorial statue", water: "fountain" }],
  [5, 2, { shop: "shop supermarket convenience clothes shoes jewelry mall department_store market furniture kiosk gift"
    + " beauty hairdresser cosmetics optician books florist alcohol electronics mobile_phone sports toys" }],
  [4, 2, { bus: "bus_stop bus_station tram_stop platform taxi stop_position tram", parking: "parking parking_entrance",
    bicycle: "bicycle_rental bicycle_parking bicycle", fuel: "fuel charging_station" }],
  [8, 1, { bank: "bank atm bureau_de_change", office: "office company government lawyer ngo embassy townhall courthouse"
    + " police fire_station", post: "post_office post_box", person: "toilets", info: "information", house:
    "house residential city_block square village town city" }],
];

/** Street furniture and the like: small dots without a drawing. */
const minor = new Set(("bench waste_basket fire_hydrant vending_machine bicycle_parking post_box platform stop_position"
  + " waste_disposal life_ring recycling street_lamp crossing parking_entrance city_block traffic_signals").split(" "));

const known = new Map();
for (const [colour, weight, symbols] of families) {
  for (const [name, words] of Object.entries(symbols)) {
    for (const word of words.split(" ")) known.set(word, { colour, weight, drawing: drawings[name] });
  }
}

const found = new Map();

/** Returns the symbol of a category: its colour and drawing, the interest in it, and whether its places are dots. */
export function symbolOf(category = "") {
  if (!found.has(category)) found.set(category, find(category));
  return found.get(category);
}

function find(category) {
  // Categories may have several parts, such as "office:company": the last known one counts.
  const words = category.toLowerCase().split(/[:/.;,\s]+/).filter(Boolean).reverse();
  const symbol = words.map((word) => known.get(word)).find(Boolean);
  const hash = [...category].reduce((hash, character) => (hash * 31 + character.codePointAt(0)) >>> 0, 7);
  const colour = symbol?.colour ?? (category ? hash % 8 : 8);
  const isMinor = words.some((word) => minor.has(word));
  return {
    colour: `var(--c${colour})`, drawing: symbol?.drawing || drawings.other, isMinor,
    weight: isMinor ? 0 : symbol?.weight ?? 1,
  };
}

const labels = new Map();

/** Returns the label of a category in the language of the page; where it has none, the last part of the category. */
export function labelOf(category) {
  const words = (category ?? "").replace(/^[\w:]+:/, "").replaceAll("_", " ");
  return labels.get(category) ?? words.charAt(0).toUpperCase() + words.slice(1);
}

/** Loads the labels, and returns the categories that have places, each below its group, with its depth there. */
export async function loadCategories() {
  const listed = (categories, depth) => categories.flatMap(({ category, label, count, children = [] }) => {
    if (label) labels.set(category, label);
    return [{ category, count, depth }, ...listed(children, depth + 1)];
  });
  return listed(await json("categories", { tree: true, lang: locale }), 0);
}

// The built-in base map: vector tiles of land, lakes, borders, countries and cities, drawn on a canvas that is larger
// than the view, so that moving the map moves the canvas.

import { locale } from "../pages/common.js";

const extent = 4096;
const margin = 0.25;
/** The zoom levels between which shapes fade, which are no longer accurate there. */
const fading = [8, 9.5];
const maximumLabels = 250;
const names = new Intl.DisplayNames(locale, { type: "region", fallback: "none" });

/** Reads a Mapbox Vector Tile: layers by name, each with the paths of its shapes and its points. */
function decode(bytes) {
  let position = 0;
  const text = new TextDecoder();
  const number = () => {
    let [value, factor, byte] = [0, 1, 0];
    do {
      byte = bytes[position++];
      value += (byte & 127) * factor;
      factor *= 128;
    } while (byte > 127);
    return value;
  };
  /** Calls a function with the number and the value of each field up to an end; bytes are their start and end. */
  const fields = (end, use) => {
    while (position < end) {
      const key = number();
      const value = number();
      if (key % 8 === 0) {
        use(key >> 3, value);
      } else {
        const next = position + value;
        use(key >> 3, position, next);
        position = next;
      }
    }
  };
  const numbers = (start, end) => {
    const list = [];
    for (position = start; position < end;) list.push(number());
    return list;
  };
  const layers = {};
  fields(bytes.length, (_, start, end) => {
    const [features, keys, values] = [[], [], []];
    let name;
    position = start;
    fields(end, (field, from, to) => {
      if (field === 1) name = text.decode(bytes.subarray(from, to));
      else if (field === 2) features.push([from, to]);
      else if (field === 3) keys.push(text.decode(bytes.subarray(from, to)));
      else if (field === 4) {
        position = from;
        fields(to, (kind, a, b) => values.push(kind === 1 ? text.decode(bytes.subarray(a, b)) : a));
      }
    });
    const layer = layers[name] = { path: new Path2D(), points: [] };
    for (const [from, to] of features) {
      const properties = {};
      position = from;
      fields(to, (field, a, b) => {
        if (field === 2) {
          const tags = numbers(a, b);
          for (let index = 0; index < tags.length; index += 2) properties[keys[tags[index]]] = values[tags[index + 1]];
        } else if (field === 4) {
          draw(numbers(a, b), layer, properties);
        }
      });
    }
  });
  return layers;
}

function draw(commands, { path, points }, properties) {
  const difference = (value) => (value % 2 ? -(value + 1) / 2 : value / 2);
  let [x, y, index] = [0, 0, 0];
  while (index < commands.length) {
    const [command, count] = [commands[index] & 7, commands[index] >> 3];
    index += 1;
    if (command === 7) path.closePath();
    for (let each = 0; each < count && command !== 7; each += 1, index += 2) {
      x += difference(commands[index]);
      y += difference(commands[index + 1]);
      if (properties.name) points.push({ x: x / extent, y: y / extent, ...properties });
      else if (command === 1) path.moveTo(x, y);
      else path.lineTo(x, y);
    }
  }
}

/**
 * A canvas with the base map. `onTile` is called when tiles have come.
 */
export class Land {
  constructor(canvas, template, maximumZoom, onTile) {
    Object.assign(this, { canvas, template, maximumZoom, onTile, tiles: new Map(), drawn: undefined });
    this.context = canvas.getContext("2d");
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.onTile());
  }

  /** Returns a tile, or the nearest loaded one above it; `undefined` while there is none. */
  tile(z, x, y) {
    const key = `${z}/${x}/${y}`;
    const tile = this.tiles.get(key);
    if (!tile) this.load(key, { z, x, y });
    return tile;
  }

  async load(key, names) {
    this.tiles.set(key, undefined);
    try {
      const response = await fetch(this.template.replace(/\{([zxy])\}/g, (_, name) => names[name]));
      if (!response.ok) throw new Error(response.statusText);
      this.tiles.set(key, decode(new Uint8Array(await response.arrayBuffer())));
      this.onTile();
    } catch {
      // Requested again with the next view.
      this.tiles.delete(key);
    }
  }

  /** Moves the canvas for a view, which is drawn anew where `isSettled`, or where the canvas no longer fits. */
  show({ width, height, centre, zoom, scale }, isSettled, taken) {
    const last = this.drawn;
    const factor = last ? scale / last.scale : 0;
    const dx = last ? (last.centre.x - centre.x - Math.round(last.centre.x - centre.x)) * scale : 0;
    const dy = last ? (last.centre.y - centre.y) * scale : 0;
    const fits = last && last.width === width && last.height === height && factor > 0.7 && factor < 1.5
      && Math.abs(dx) + width / 2 <= width * (0.5 + margin) * factor
      && Math.abs(dy) + height / 2 <= height * (0.5 + margin) * factor;
    if (fits && !isSettled) {
      this.canvas.style.transform = `translate(${dx}px, ${dy}px) scale(${factor})`;
      return;
    }
    this.canvas.style.transform = "";
    this.drawn = { width, height, centre: { ...centre }, zoom, scale };
    this.draw(taken);
  }

  draw(taken) {
    const { width, height, centre, zoom, scale } = this.drawn;
    const { canvas, context } = this;
    const ratio = Math.min(devicePixelRatio || 1, 2);
    const [across, along] = [width * (1 + 2 * margin), height * (1 + 2 * margin)];
    const [pixelWidth, pixelHeight] = [Math.round(across * ratio), Math.round(along * ratio)];
    if (canvas.width !== pixelWidth || canvas.height !== pixelHeight) {
      Object.assign(canvas, { width: pixelWidth, height: pixelHeight });
      Object.assign(canvas.style, { width: `${across}px`, height: `${along}px`, left: `${-width * margin}px`,
        top: `${-height * margin}px` });
    }
    const style = getComputedStyle(canvas);
    const colour = (name) => style.getPropertyValue("--map-" + name).trim();
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.globalAlpha = 1;
    context.fillStyle = colour("water");
    context.fillRect(0, 0, pixelWidth, pixelHeight);
    const tiles = this.visible(across, along);
    const shape = (name, paint) => {
      for (const { layers, left, top, size } of tiles) {
        const layer = layers?.[name];
        if (!layer) continue;
        const unit = size / extent * ratio;
        context.setTransform(unit, 0, 0, unit, left * ratio, top * ratio);
        paint(layer.path, unit);
      }
    };
    const fill = (name, paint) => {
      context.fillStyle = colour(paint);
      shape(name, (path) => context.fill(path, "evenodd"));
    };
    const stroke = (name, paint, pixels, dash = []) => {
      context.strokeStyle = colour(paint);
      context.lineJoin = "round";
      shape(name, (path, unit) => {
        context.lineWidth = pixels * ratio / unit;
        context.setLineDash(dash.map((length) => length * ratio / unit));
        context.stroke(path);
      });
      context.setLineDash([]);
    };
    fill("land", "land");
    fill("lakes", "water");
    if (zoom > 3.5) stroke("regions", "region", 0.8, [3, 2.5]);
    stroke("borders", "border", zoom > 4.5 ? 1.3 : 0.9);
    context.setTransform(1, 0, 0, 1, 0, 0);
    const faded = Math.min(Math.max((zoom - fading[0]) / (fading[1] - fading[0]), 0), 1);
    context.globalAlpha = faded;
    context.fillStyle = colour("land");
    context.fillRect(0, 0, pixelWidth, pixelHeight);
    context.globalAlpha = 1;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.label(tiles, zoom, scale, colour, taken.map(([left, top, right, bottom]) =>
      [left + width * margin, top + height * margin, right + width * margin, bottom + height * margin]));
  }

  /** Returns the tiles of the canvas with their positions on it. */
  visible(across, along) {
    const { centre, zoom, scale } = this.drawn;
    const z = Math.min(Math.max(Math.round(zoom - 1), 0), this.maximumZoom);
    const count = 2 ** z;
    const size = scale / count;
    const [left, top] = [centre.x * scale - across / 2, centre.y * scale - along / 2];
    const tiles = [];
    for (let row = Math.max(0, Math.floor(top / size)); row < count && row * size < top + along; row += 1) {
      for (let column = Math.floor(left / size); column * size < left + across; column += 1) {
        const x = ((column % count) + count) % count;
        let layers = this.tile(z, x, row);
        let [level, part] = [z, { left: column * size - left, top: row * size - top, size }];
        // Tiles of levels above until this one is there.
        while (!layers && level > 0) {
          level -= 1;
          const step = 2 ** (z - level);
          layers = this.tiles.get(`${level}/${Math.floor(x / step)}/${Math.floor(row / step)}`);
          part = { left: Math.floor(column / step) * step * size - left, top: Math.floor(row / step) * step * size - top,
            size: size * step };
        }
        if (!tiles.some((tile) => tile.layers === layers && tile.left === part.left)) tiles.push({ layers, ...part });
      }
    }
    return tiles;
  }

  /** Writes names where there is room, which symbols and their names have taken. */
  label(tiles, zoom, scale, colour, taken) {
    const { context } = this;
    const boxes = [...taken];
    const isFree = (box) => !boxes.some((other) =>
      box[0] < other[2] && other[0] < box[2] && box[1] < other[3] && other[1] < box[3]);
    const all = (name) => tiles.flatMap(({ layers, left, top, size }) =>
      (layers?.[name]?.points || []).map((point) => ({ ...point, x: left + point.x * size, y: top + point.y * size })));
    Object.assign(context, { textBaseline: "middle", lineJoin: "round", lineWidth: 3, strokeStyle: colour("halo") });
    const write = (text, x, y, paint) => {
      context.fillStyle = paint;
      context.strokeText(text, x, y);
      context.fillText(text, x, y);
    };
    let count = 0;
    context.textAlign = "center";
    for (const country of all("countries").sort((a, b) => b.size - a.size)) {
      const side = country.size / extent * scale;
      if (side < 26 || zoom > 7.5 || count > maximumLabels) continue;
      const height = Math.min(Math.max(10 + side / 90, 11), 16);
      context.font = `600 ${height}px system-ui, sans-serif`;
      context.letterSpacing = `${side > 150 ? 1.5 : 0.3}px`;
      const name = (country.code && names.of(country.code)) || country.name;
      const half = context.measureText(name).width / 2;
      const box = [country.x - half - 4, country.y - height / 2 - 3, country.x + half + 4, country.y + height / 2 + 3];
      if (half > side * 0.9 || !isFree(box)) continue;
      boxes.push(box);
      write(name, country.x, country.y, colour("country"));
      count += 1;
    }
    context.letterSpacing = "0px";
    context.textAlign = "left";
    if (zoom < 3.2) return;
    const dot = 1.6 + Math.min(zoom, 8) / 8;
    for (const city of all("cities").sort((a, b) => b.population - a.population)) {
      const isLarge = city.capital || city.population > 2e6;
      if (count > maximumLabels) break;
      context.font = `${isLarge ? 600 : 400} ${isLarge ? 12.5 : 11.5}px system-ui, sans-serif`;
      const length = context.measureText(city.name).width;
      const box = [city.x - 12, city.y - 12, city.x + length + 16, city.y + 12];
      if (!isFree(box)) continue;
      boxes.push(box);
      context.beginPath();
      context.arc(city.x, city.y, dot + (city.capital ? 1 : 0), 0, 7);
      context.fillStyle = colour("city");
      context.stroke();
      context.fill();
      if (city.capital) {
        context.beginPath();
        context.arc(city.x, city.y, dot - 0.6, 0, 7);
        context.fillStyle = colour("halo");
        context.fill();
      }
      write(city.name, city.x + dot + 4, city.y, colour("city"));
      count += 1;
    }
  }
}

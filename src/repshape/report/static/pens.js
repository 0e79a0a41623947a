// Two classes with the same methods: one draws on a canvas, the other writes SVG. The same code draws a
// figure on the screen and to a file.

const ruler = document.createElement('canvas').getContext('2d');
function textWidth(text, size, font, weight = 400) {
  ruler.font = `${weight} ${size}px ${font}`;
  return ruler.measureText(text).width;
}

/** Corners of a marker around the origin; a circle has none. */
function corners(shape, r) {
  if (shape === 'square') return [[-r, -r], [r, -r], [r, r], [-r, r]].map(([x, y]) => [0.88 * x, 0.88 * y]);
  if (shape === 'triangle') return [[0, -1.2 * r], [1.1 * r, 0.8 * r], [-1.1 * r, 0.8 * r]];
  if (shape === 'down') return [[0, 1.2 * r], [1.1 * r, -0.8 * r], [-1.1 * r, -0.8 * r]];
  if (shape === 'diamond') return [[0, -1.3 * r], [1.1 * r, 0], [0, 1.3 * r], [-1.1 * r, 0]];
  const t = 0.4 * r;
  const plus = [[-t, -r], [t, -r], [t, -t], [r, -t], [r, t], [t, t], [t, r], [-t, r], [-t, t], [-r, t], [-r, -t], [-t, -t]];
  return shape === 'times' ? plus.map(([x, y]) => [(x + y) * Math.SQRT1_2, (y - x) * Math.SQRT1_2]) : plus;
}

class CanvasPen {
  constructor(canvas, width, height, scale) {
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    this.c = canvas.getContext('2d');
    this.c.setTransform(scale, 0, 0, scale, 0, 0);
    this.c.clearRect(0, 0, width, height);
  }

  _paint({ fill, stroke, width = 1, opacity = 1, dash = [] }) {
    const c = this.c;
    c.globalAlpha = opacity;
    if (fill) {
      c.fillStyle = fill;
      c.fill();
    }
    c.globalAlpha = 1;
    if (stroke) {
      c.strokeStyle = stroke;
      c.lineWidth = width;
      c.setLineDash(dash);
      c.stroke();
    }
  }

  rect(x, y, w, h, paint) {
    this.c.beginPath();
    this.c.rect(x, y, w, h);
    this._paint(paint);
  }

  path(points, paint, closed = false) {
    this.c.beginPath();
    points.forEach(([x, y], k) => (k ? this.c.lineTo(x, y) : this.c.moveTo(x, y)));
    if (closed) this.c.closePath();
    this._paint(paint);
  }

  ellipse(x, y, rx, ry, angle, paint) {
    this.c.beginPath();
    this.c.ellipse(x, y, Math.max(rx, 0.01), Math.max(ry, 0.01), angle, 0, 2 * Math.PI);
    this._paint(paint);
  }

  text(x, y, text, { size = 12, fill, anchor = 'start', weight = 400, font, turn = 0 }) {
    const c = this.c;
    c.save();
    c.translate(x, y);
    c.rotate(turn);
    c.font = `${weight} ${size}px ${font}`;
    c.fillStyle = fill;
    c.textAlign = { start: 'left', middle: 'center', end: 'right' }[anchor];
    c.textBaseline = 'middle';
    c.direction = 'ltr';
    c.fillText(text, 0, 0);
    c.restore();
  }

  shift(x, y) {
    this.c.translate(x, y);
  }

  image(source, x, y, w, h, smooth = false) {
    this.c.imageSmoothingEnabled = smooth;
    this.c.imageSmoothingQuality = 'high';
    this.c.drawImage(source, x, y, w, h);
  }
}

class SvgPen {
  constructor(width, height) {
    this.head = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">`;
    this.parts = [];
    this.tail = '</svg>';
  }

  static escape(text) {
    return String(text).replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
  }

  _put(tag, attributes, paint, body) {
    const { fill, stroke, width = 1, opacity = 1, dash = [] } = paint;
    const all = { ...attributes, fill: fill || 'none' };
    if (fill && opacity < 1) all['fill-opacity'] = opacity;
    if (stroke) Object.assign(all, { stroke, 'stroke-width': width });
    if (stroke && dash.length) all['stroke-dasharray'] = dash.join(' ');
    const round = (v) => (typeof v === 'number' ? +v.toFixed(3) : SvgPen.escape(v));
    const written = Object.entries(all).map(([key, value]) => `${key}="${round(value)}"`);
    this.parts.push(`<${tag} ${written.join(' ')}${body === undefined ? '/>' : `>${SvgPen.escape(body)}</${tag}>`}`);
  }

  rect(x, y, w, h, paint) {
    this._put('rect', { x, y, width: w, height: h }, paint);
  }

  path(points, paint, closed = false) {
    const list = points.map(([x, y]) => `${+x.toFixed(3)},${+y.toFixed(3)}`).join(' ');
    this._put(closed ? 'polygon' : 'polyline', { points: list }, paint);
  }

  ellipse(x, y, rx, ry, angle, paint) {
    const turn = angle ? { transform: `rotate(${((angle * 180) / Math.PI).toFixed(3)} ${x.toFixed(3)} ${y.toFixed(3)})` } : {};
    this._put('ellipse', { cx: x, cy: y, rx: Math.max(rx, 0.01), ry: Math.max(ry, 0.01), ...turn }, paint);
  }

  text(x, y, text, { size = 12, fill, anchor = 'start', weight = 400, font, turn = 0 }) {
    const where = { x, y, 'font-size': size, 'font-family': font, 'font-weight': weight, 'text-anchor': anchor, 'dominant-baseline': 'middle' };
    if (turn) where.transform = `rotate(${((turn * 180) / Math.PI).toFixed(2)} ${x} ${y})`;
    this._put('text', where, { fill }, text);
  }

  shift(x, y) {
    this.parts.push(`<g transform="translate(${x} ${y})">`);
    this.tail = `</g>${this.tail}`;
  }

  image(source, x, y, w, h, smooth = false) {
    const how = smooth ? 'auto' : 'pixelated';
    this.parts.push(`<image x="${x}" y="${y}" width="${w}" height="${h}" preserveAspectRatio="none" style="image-rendering:${how}" href="${source.toDataURL('image/png')}"/>`);
  }

  done() {
    return `${this.head}${this.parts.join('')}${this.tail}`;
  }
}

function marker(pen, x, y, shape, r, paint) {
  if (shape === 'circle') pen.ellipse(x, y, r, r, 0, paint);
  else pen.path(corners(shape, r).map(([dx, dy]) => [x + dx, y + dy]), paint, true);
}

/** A colour bar with its limits below it. */
function colourBar(pen, x, y, w, colours, low, high, t) {
  const steps = 64;
  for (let k = 0; k < steps; k++) {
    pen.rect(x + (w * k) / steps, y, w / steps + 0.6, 9, { fill: colours[Math.round((255 * k) / (steps - 1))] });
  }
  const style = { size: 11, fill: t.soft, font: t.font };
  pen.text(x, y + 18, low, style);
  pen.text(x + w, y + 18, high, { ...style, anchor: 'end' });
}

/** Draw the legend of the colours, starting at y, and return its height. Without a pen, only measure it. */
function legend(pen, x, y, width, t) {
  const column = columnNow();
  if (!column) return 0;
  const style = { size: 12, fill: t.ink, font: t.font };
  const title = tidy(column.name, 34);
  if (column.kind === 'number') {
    const offset = Math.min(textWidth(title, 12, t.font, 600) + 16, width * 0.6);
    pen?.text(x, y + 6, title, { ...style, weight: 600 });
    if (pen) colourBar(pen, x + offset, y + 1, Math.min(180, width - offset - 2), pointColours(t), ...barWords(column), t);
    return 28;
  }
  pen?.text(x, y + 6, title, { ...style, weight: 600 });
  let [left, top] = [x + textWidth(title, 12, t.font, 600) + 16, y];
  const most = 16;
  const shown = column.levels.slice(0, most).map((level, code) => [tidy(level, 22), levelLook(code)]);
  if (column.levels.length > most) shown.push([`and ${column.levels.length - most} more`, null]);
  if (column.codes.includes(-1)) shown.push(['unknown', levelLook(-1)]);
  for (const [text, how] of shown) {
    const needs = textWidth(text, 12, t.font) + 30;
    if (left + needs - 12 > x + width && left > x) [left, top] = [x, top + 18];
    if (pen && how) marker(pen, left + 6, top + 6, how.shape, 5, { fill: how.colour });
    pen?.text(left + 15, top + 6, text, style);
    left += needs;
  }
  return top - y + 20;
}

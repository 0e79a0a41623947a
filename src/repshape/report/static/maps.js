// What maps of distances share: their image, hatching, and steps of the arrow keys.

/** An image with a pixel for each row a and column b, coloured by share(a, b) in [0, 1]; NaN is transparent. */
function mapImage(rows, columns, share) {
  const image = document.createElement('canvas');
  [image.width, image.height] = [columns, rows];
  const context = image.getContext('2d');
  const pixels = context.createImageData(columns, rows);
  const words = new Uint32Array(pixels.data.buffer);
  const little = new Uint8Array(new Uint32Array([1]).buffer)[0] === 1;
  const colours = HEAT.map((hex) => {
    const rgb = parseInt(hex.slice(1), 16);
    const [r, g, b] = [rgb >> 16, (rgb >> 8) & 255, rgb & 255];
    return little ? ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0 : ((r << 24) | (g << 16) | (b << 8) | 255) >>> 0;
  });
  for (let a = 0; a < rows; a++) {
    for (let b = 0; b < columns; b++) {
      const value = share(a, b);
      words[a * columns + b] = Number.isNaN(value) ? 0 : colours[Math.min(255, Math.max(0, Math.round(255 * value)))];
    }
  }
  context.putImageData(pixels, 0, 0);
  return image;
}

/** Hatching for distances that are not computed yet, where the image is transparent. */
function drawMissing(pen, left, top, width, height, t) {
  pen.rect(left, top, width, height, { fill: t.back });
  for (let d = 6; d < width + height; d += 6) {
    const [x0, y0] = [Math.max(0, d - height), Math.min(d, height)];
    const [x1, y1] = [Math.min(d, width), Math.max(0, d - width)];
    pen.path([[left + x0, top + y0], [left + x1, top + y1]], { stroke: t.line });
  }
}

const pad = (card) => parseFloat(getComputedStyle(card).paddingLeft);
const STEPS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], PageUp: [-10, 0], PageDown: [10, 0] };

/** Show lines of text at the pointer; nothing without them. */
function showTip(event, lines) {
  const tip = $('tip');
  tip.hidden = !event || !lines.length;
  if (tip.hidden) return;
  tip.replaceChildren(...lines.map((line) => element('div', line, { dir: 'auto' })));
  const [w, h] = [tip.offsetWidth, tip.offsetHeight];
  tip.style.left = `${Math.max(4, Math.min(event.clientX + 14, innerWidth - w - 8))}px`;
  tip.style.top = `${event.clientY + 18 + h > innerHeight ? event.clientY - h - 10 : event.clientY + 18}px`;
}

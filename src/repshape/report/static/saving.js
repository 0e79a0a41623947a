// Saving figures as PNG and SVG on a white background, and numbers as CSV. A page has PICTURES and ROWS by
// name, a title(), and redraw().

function save(content, type, file) {
  const link = element('a', null, { href: URL.createObjectURL(new Blob([content], { type })), download: file });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  say(`Saved ${file}.`);
}

const csvCell = (value) => {
  const text = value === null || Number.isNaN(value) ? '' : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};
const csv = (rows) => `${rows.map((row) => row.map(csvCell).join(',')).join('\n')}\n`;
const stem = () => title().replace(/[^\p{L}\p{N}.]+/gu, '-').replace(/^-|-$/g, '').slice(0, 60) || 'matrix';

const WIDE = 720;
const MARGIN = 16;
const TITLE = 26;

/** Size of a figure to save, and how to draw it: on white, with a margin and a title. */
function framed(what) {
  const { width, height, draw } = PICTURES[what];
  const size = [width + 2 * MARGIN, height(PAPER) + 2 * MARGIN + TITLE];
  return { size, draw(pen) {
    pen.rect(0, 0, ...size, { fill: PAPER.back });
    pen.text(MARGIN, MARGIN + 6, tidy(title(), 90), { size: 14, weight: 600, fill: PAPER.ink, font: PAPER.font });
    pen.shift(MARGIN, MARGIN + TITLE);
    draw(pen, PAPER);
  } };
}

function savePng(what) {
  const { size, draw } = framed(what);
  const canvas = document.createElement('canvas');
  draw(new CanvasPen(canvas, ...size, 3));
  canvas.toBlob((blob) => save(blob, 'image/png', `${what}-${stem()}.png`), 'image/png');
  redraw();
}
function saveSvg(what) {
  const { size, draw } = framed(what);
  const pen = new SvgPen(...size);
  draw(pen);
  save(pen.done(), 'image/svg+xml', `${what}-${stem()}.svg`);
  redraw();
}
const saveCsv = (what) => save(csv(ROWS[what]()), 'text/csv', `${what}-${stem()}.csv`);

function makeSaves() {
  for (const place of document.querySelectorAll('[data-saves]')) {
    const what = place.dataset.saves;
    const kinds = { ...(PICTURES[what] ? { PNG: savePng, SVG: saveSvg } : {}), CSV: saveCsv };
    for (const [kind, act] of Object.entries(kinds)) {
      const button = element('button', kind, { type: 'button', class: 'save', 'data-save': `${what}-${kind.toLowerCase()}`, 'aria-label': `Save as ${kind}` });
      button.addEventListener('click', () => act(what));
      place.append(button);
    }
  }
}

// The slider of which-metric.html: moves the points of the drawing to those of another alpha.
(() => {
  const figure = document.querySelector(".alpha-slider");
  if (!figure) return;
  const data = JSON.parse(figure.querySelector("script[type='application/json']").textContent);
  const points = [...figure.querySelectorAll("svg > g")];
  const input = figure.querySelector("input");
  const output = figure.querySelector("output");
  const words = (alpha) =>
    alpha === 0 ? "covariances alone" : alpha === 2 ? "means alone" : "means and covariances";
  const show = () => {
    const k = Number(input.value);
    const alpha = data.alphas[k];
    points.forEach((point, i) => {
      const [x, y] = data.points[k][i];
      point.style.transform = `translate(${x}px, ${y}px)`;
    });
    data.distances.forEach((values, i) => {
      figure.querySelector(`[data-pair="${i}"]`).textContent = values[k].toFixed(2);
    });
    output.textContent = `${alpha.toFixed(1)}: ${words(alpha)}`;
    input.setAttribute("aria-valuetext", `alpha ${alpha.toFixed(1)}, ${words(alpha)}`);
  };
  figure.querySelector(".alpha-controls").hidden = false;
  input.addEventListener("input", show);
  show();
})();

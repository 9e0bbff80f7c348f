"use strict";
(() => {
  const form = document.getElementById("filter");
  if (!form) return;
  const samples = [...document.querySelectorAll(".sample")];
  const shown = () => samples.filter((sample) => !sample.hidden);
  const matches = (sample, text, show) =>
    (show === "" || (show === "disagree" ? "disagree" in sample.dataset : sample.dataset.verdict === show)) &&
    sample.querySelector(".where").textContent.toLowerCase().includes(text);
  const update = () => {
    const text = form.elements.text.value.trim().toLowerCase();
    for (const sample of samples) sample.hidden = !matches(sample, text, form.elements.show.value);
    form.querySelector("output").textContent = shown().length + " shown";
  };
  form.elements.expand.addEventListener("click", () => {
    const open = shown().some((sample) => !sample.open);
    for (const sample of shown()) sample.open = open;
    form.elements.expand.textContent = open ? "Close all shown" : "Open all shown";
  });
  form.addEventListener("input", update);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.hidden = false;
  update();
})();

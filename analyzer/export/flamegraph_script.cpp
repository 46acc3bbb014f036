// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/export/flamegraph_script.hpp"

namespace perfvigil::analyzer {

const std::string_view kFlamegraphStyle = R"css(
.pv-flamegraph { background: #fff; font: 12px system-ui, "Segoe UI", "DejaVu Sans", Verdana, sans-serif; }
.pv-flamegraph text { fill: #111; }
.pv-flamegraph .pv-title { font-size: 16px; font-weight: 600; }
.pv-flamegraph .pv-subtitle, .pv-flamegraph .pv-legend text { fill: #444; }
.pv-flamegraph .pv-frames { font: 11px "DejaVu Sans Mono", Menlo, Consolas, monospace; }
.pv-flamegraph .pv-frames text { pointer-events: none; white-space: pre; }
.pv-flamegraph .pv-frames g { cursor: pointer; outline: none; }
.pv-flamegraph .pv-frames rect { stroke: #fff; stroke-width: 0.5; }
.pv-flamegraph .pv-frames g:hover rect { stroke: #000; stroke-width: 1; }
.pv-flamegraph .pv-frames g:focus rect { stroke: #000; stroke-width: 2; }
.pv-flamegraph .pv-frames g.pv-above rect { opacity: 0.5; }
.pv-flamegraph .pv-frames g.pv-found rect { fill: #e455e4; }
.pv-flamegraph .pv-reset { cursor: pointer; fill: #0645ad; text-decoration: underline; }
.pv-flamegraph input { box-sizing: border-box; width: 100%; height: 24px; font: inherit; padding: 1px 6px; }
)css";

const std::string_view kFlamegraphScript = R"js(
(() => {
'use strict';
const SVG = 'http://www.w3.org/2000/svg', PAGE = 'http://www.w3.org/1999/xhtml';
const NEAR = 1e-6;

function start(svg) {
  svg.setAttribute('data-started', '');
  const area = svg.querySelector('.pv-frames');
  const info = svg.querySelector('.pv-info');
  const margin = Number(svg.getAttribute('data-margin')), character = Number(svg.getAttribute('data-character'));
  const up = svg.getAttribute('data-growth') === 'up';
  const rows = [];
  const frames = Array.from(area.querySelectorAll('g'), (g) => {
    const rect = g.querySelector('rect');
    const title = g.querySelector('title').textContent;
    const frame = {
      g, rect, title, name: title.split('\n', 1)[0], text: g.querySelector('text'),
      depth: Number(g.getAttribute('data-depth')),
      x: parseFloat(rect.getAttribute('x')) / 100, width: parseFloat(rect.getAttribute('width')) / 100,
    };
    (rows[frame.depth] ||= []).push(frame);
    g.setAttribute('tabindex', frame.depth === 0 ? '0' : '-1');
    return frame;
  });
  rows.forEach((row) => row.sort((a, b) => a.x - b.x));
  const byElement = new Map(frames.map((frame) => [frame.g, frame]));
  const root = rows[0][0];
  let zoomed = root, pixels = 0;

  const holds = (outer, inner) =>
    outer.depth <= inner.depth && outer.x <= inner.x + NEAR && inner.x + inner.width <= outer.x + outer.width + NEAR;
  const parentOf = (frame) => (rows[frame.depth - 1] || []).find((other) => holds(other, frame));
  const childOf = (frame) => (rows[frame.depth + 1] || []).filter((other) => holds(frame, other))
    .reduce((best, other) => (best && best.width >= other.width ? best : other), null);
  const besides = (frame, step) => {
    const row = rows[frame.depth].filter((other) => holds(zoomed, other) || holds(other, zoomed));
    return row[row.indexOf(frame) + step];
  };

  function write(frame, width) {
    const room = Math.floor((width - 6) / character);
    if (room < 3) {
      if (frame.text) frame.text.textContent = '';
      return;
    }
    if (!frame.text) {
      frame.text = document.createElementNS(SVG, 'text');
      frame.text.setAttribute('y', Number(frame.rect.getAttribute('y')) + 12);
      frame.text.setAttribute('dx', '3');
      frame.g.appendChild(frame.text);
    }
    const letters = Array.from(frame.name);
    frame.text.textContent = letters.length <= room ? frame.name : letters.slice(0, room - 1).join('') + '\u2026';
  }

  function draw() {
    for (const frame of frames) {
      const above = frame.depth < zoomed.depth && holds(frame, zoomed);
      const shown = above || holds(zoomed, frame);
      frame.g.style.display = shown ? '' : 'none';
      frame.g.classList.toggle('pv-above', above);
      if (!shown) continue;
      const x = above ? 0 : (frame.x - zoomed.x) / zoomed.width;
      const width = above ? 1 : frame.width / zoomed.width;
      frame.rect.setAttribute('x', 100 * x + '%');
      frame.rect.setAttribute('width', 100 * width + '%');
      write(frame, width * pixels);
      if (frame.text) frame.text.setAttribute('x', 100 * x + '%');
    }
    reset.style.display = zoomed === root ? 'none' : '';
  }
  function zoom(frame) {
    zoomed = frame;
    draw();
  }
  function focus(frame) {
    if (frame) frame.g.focus({ preventScroll: false });
  }

  const reset = document.createElementNS(SVG, 'text');
  reset.setAttribute('class', 'pv-reset');
  reset.setAttribute('y', '20');
  reset.setAttribute('text-anchor', 'end');
  reset.setAttribute('tabindex', '0');
  reset.setAttribute('role', 'button');
  reset.textContent = 'reset zoom';
  reset.addEventListener('click', () => zoom(root));
  svg.appendChild(reset);

  const box = document.createElementNS(SVG, 'foreignObject');
  const input = document.createElementNS(PAGE, 'input');
  const result = document.createElementNS(SVG, 'text');
  box.setAttribute('y', '4');
  box.setAttribute('width', '260');
  box.setAttribute('height', '26');
  input.setAttribute('type', 'search');
  input.setAttribute('placeholder', 'search ( / ), regular expressions');
  input.setAttribute('aria-label', 'search');
  result.setAttribute('y', '46');
  result.setAttribute('text-anchor', 'end');
  box.appendChild(input);
  svg.append(box, result);

  function search() {
    const wanted = input.value;
    let matches = () => false;
    if (wanted) {
      try {
        const expression = new RegExp(wanted, 'i');
        matches = (name) => expression.test(name);
      } catch {
        matches = (name) => name.toLowerCase().includes(wanted.toLowerCase());
      }
    }
    const found = frames.filter((frame) => {
      const hit = frame !== root && matches(frame.name);
      frame.g.classList.toggle('pv-found', hit);
      return hit;
    });
    found.sort((a, b) => a.x - b.x || a.depth - b.depth);
    let sum = 0, end = -1;
    for (const frame of found) {
      if (frame.x < end - NEAR) continue;
      sum += frame.width;
      end = frame.x + frame.width;
    }
    result.textContent = wanted ? `${found.length} frames, ${(100 * sum).toFixed(2)} % of all` : '';
  }
  input.addEventListener('input', search);

  area.addEventListener('click', (event) => {
    const frame = byElement.get(event.target.closest('g'));
    if (frame) zoom(frame);
  });
  const tell = (event) => {
    const frame = byElement.get(event.target.closest('g'));
    if (frame) info.textContent = frame.title.split('\n').join(' \u00b7 ');
  };
  area.addEventListener('mouseover', tell);
  area.addEventListener('focusin', tell);
  area.addEventListener('mouseleave', () => { info.textContent = ''; });

  svg.addEventListener('keydown', (event) => {
    if (event.target === input) {
      if (event.key !== 'Escape') return;
      input.value = '';
      search();
      focus(zoomed);
      return;
    }
    if (event.key === 'Escape') return zoom(root);
    if (event.key === '/') {
      event.preventDefault();
      return input.focus();
    }
    if (event.target === reset && (event.key === 'Enter' || event.key === ' ')) return zoom(root);
    const frame = byElement.get(event.target.closest('g'));
    if (!frame) return;
    const inwards = up ? 'ArrowUp' : 'ArrowDown', outwards = up ? 'ArrowDown' : 'ArrowUp';
    if (event.key === 'Enter') zoom(frame);
    else if (event.key === inwards) focus(childOf(frame));
    else if (event.key === outwards) focus(parentOf(frame));
    else if (event.key === 'ArrowLeft') focus(besides(frame, -1));
    else if (event.key === 'ArrowRight') focus(besides(frame, 1));
    else return;
    event.preventDefault();
  });

  function fit() {
    const width = Math.max(400, svg.getBoundingClientRect().width);
    if (width - 2 * margin === pixels) return;
    pixels = width - 2 * margin;
    area.setAttribute('width', pixels);
    box.setAttribute('x', width - margin - 260);
    result.setAttribute('x', width - margin);
    reset.setAttribute('x', width - margin - 274);
    draw();
  }
  svg.setAttribute('width', '100%');
  fit();
  addEventListener('resize', fit);
}

for (const svg of document.querySelectorAll('svg.pv-flamegraph:not([data-started])')) start(svg);
})();
)js";

}  // namespace perfvigil::analyzer

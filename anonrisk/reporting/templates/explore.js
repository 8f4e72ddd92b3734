"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const by = (id) => document.getElementById(id);
  const kinds = { 8: Uint8Array, 16: Uint16Array, 32: Uint32Array };
  const unpack = ({ bits, data: text }, unit) => {
    const bytes = Uint8Array.from(atob(text), (one) => one.charCodeAt(0));
    return Float64Array.from(new kinds[bits](bytes.buffer), (one) => one * unit);
  };
  const { k, floor, people, columns, who } = data;
  const alone = unpack(data.alone, floor);
  const below = unpack(data.below, floor);
  const classes = unpack(data.classes, floor);
  const smallest = unpack(data.smallest, 1);
  const bands = data.bands.map((one) => unpack(one, floor));
  const sensitive = data.sensitive.map((one) => ({
    l: unpack(one.ldiv, 1), t: unpack(one.tcloseness, 1), limits: one.limits }));
  const strides = columns.map((_, c) =>
    columns.slice(c + 1).reduce((product, one) => product * one.levels.length, 1));
  const levelsOf = (node) => columns.map((one, c) =>
    Math.floor(node / strides[c]) % one.levels.length);
  const nodeOf = (levels) => levels.reduce((sum, level, c) => sum + level * strides[c], 0);
  const detail = Float64Array.from(below, (_, node) => 1 - levelsOf(node).reduce(
    (sum, level, c) => sum + columns[c].levels[level].loss, 0) / columns.length);

  const count = (number) => number.toLocaleString("en-US");
  const percent = (share) => share > 0 && share < 0.001 ? "<0.1%"
    : share > 0.999 && share < 1 ? ">99.9%" : (100 * share).toFixed(1) + "%";
  const upTo = (number) => "up to " + count(number) + " " + who + " (" +
    percent(Math.min(number / people, 1)) + ")";
  const put = (element, text) => {
    if (element.textContent !== text) element.textContent = text;
  };
  const make = (name, text, kind) => {
    const made = document.createElement(name);
    made.textContent = text;
    if (kind) made.className = kind;
    return made;
  };

  let node = 0;
  const rest = by("rest");
  const unseen = () => rest && !rest.checked ? data.not_looked_at : [];
  const radios = columns.map((_, c) => [...document.getElementsByName("c" + c)]);
  const rows = [...document.querySelectorAll("tr.size")].map((row) => ({
    cells: row.querySelectorAll("td"), bar: row.querySelector("rect") }));
  const given = [...document.querySelectorAll("tr.sensitive")].map((row) =>
    row.querySelectorAll("td"));

  // People are told rounded up, and so is their whole number: what is allowed is of the least.
  const allowed = () => by("leave").checked
    ? Math.floor(Number(by("share").value) * (people - floor + 1) + 1e-9) : 0;

  // t is told in thousandths, and one more.
  const breaks = (i) => sensitive.flatMap(({ l, t, limits }, s) => [
    ...(limits.l !== undefined && l[i] < limits.l ? [[s, "l", limits.l]] : []),
    ...(limits.t !== undefined && (t[i] - 1) / 1000 > limits.t + 1e-9 ? [[s, "t", limits.t]] : []),
  ]);

  const gentlest = (most) => {
    let best = -1;
    for (let i = 0; i < below.length; i++) {
      if (below[i] > most || breaks(i).length) continue;
      const gain = best < 0 ? 1 : detail[i] - detail[best];
      if (gain > 1e-9 || (gain > -1e-9 && below[i] < below[best])) best = i;
    }
    return best;
  };

  const headline = () => {
    const few = below[node];
    const line = by("headline");
    const broken = breaks(node);
    const enough = few <= allowed();
    const doubts = unseen().length + data.not_judged.length;
    const good = enough && !broken.length;
    by("verdict").className = "verdict " + (!good ? "bad" : doubts ? "doubt" : "good");
    const sign = !good ? "\u2717 " : doubts ? "? " : "\u2713 ";
    const every = who === "people" ? "Everybody" : "Every record";
    const other = who === "people" ? "Everybody else" : "Every other record";
    const said = few === 0 ? [sign + every, " hides among " + count(k) + " or more."]
      : enough ? [sign + other, " hides among " + count(k) + " or more once " +
        upTo(few) + " are left out."]
      : [sign + upTo(few).replace("up", "Up"), " hide among fewer than " + count(k) +
        (alone[node] ? ", up to " + count(alone[node]) + " of them alone." : ".")];
    if (line.textContent !== said.join("")) line.replaceChildren(make("b", said[0]), said[1]);
    const notes = broken.map(([s, word, limit]) => [data.sensitive[s].name,
      ": the limit of " + word + " is " + limit + "."]);
    if (unseen().length) {
      notes.push(["", "Nobody has looked at these columns, which are published with it:"],
        ...unseen().map((name) => [name, ""]));
    }
    for (const name of data.not_judged) {
      notes.push([name, " of the policy is not judged here: check the table that you make."]);
    }
    by("notes").replaceChildren(...notes.map(([name, text]) => {
      const item = document.createElement("li");
      if (name) item.append(make("bdi", name));
      item.append(text);
      return item;
    }));
  };

  // Of the state that the headline speaks of: once the small classes are left out, or before.
  const figures = () => {
    const after = below[node] > 0 && below[node] <= allowed();
    put(by("smallest"), after ? count(k) + " or more"
      : smallest[node] ? count(smallest[node]) : "fewer than " + count(floor));
    put(by("alone"), alone[node] && !after ? percent(Math.min(alone[node] / people, 1)) : "nobody");
    put(by("risk"), (after ? "at most " : "") +
      percent(after ? Math.min(classes[node] / people, 1 / k) : Math.min(classes[node] / people, 1)));
    put(by("detail"), percent(detail[node]));
    const sizes = [below, ...bands];
    rows.forEach(({ cells, bar }, i) => {
      const share = Math.min(sizes[i][node] / people, 1);
      put(cells[0], count(sizes[i][node]));
      put(cells[1], percent(share));
      bar.setAttribute("width", sizes[i][node] ? Math.max(share * 200, 1) : 0);
    });
    given.forEach((cells, i) => {
      const { l, t } = sensitive[i];
      put(cells[0], l[node] ? count(l[node]) : "nobody is left");
      put(cells[1], t[node] ? ((t[node] - 1) / 1000).toFixed(2) : "-");
    });
  };

  const steps = (levels) => columns.forEach((column, c) => {
    const last = levels[c] + 1 === column.levels.length;
    const fewer = last ? 0 : below[node] - below[node + strides[c]];
    put(by("s" + c), column.levels[levels[c]].text + (last || below[node] === 0 ? "." : fewer > 0
      ? ". One step coarser would help about " + count(fewer) + " " + who + "."
      : ". One step coarser would help nobody."));
  });

  const takeAway = (levels) => {
    const leave = by("leave").checked;
    const chosen = columns.map((column, c) => column.levels[levels[c]]);
    const [head, afterK, afterShare, tail] = rest && rest.checked ? data.plan_without : data.plan;
    const share = by("share").value;
    put(by("plan"), head + (leave ? k : "null") + afterK + (leave ? share : "0.0") + afterShare +
      chosen.map((level) => level.piece).join(",\n    ") + tail);
    const trees = columns.filter((_, c) => chosen[c].hierarchy);
    const ruled = chosen.some((level) => level.rule);
    put(by("shell"), "anonrisk apply plan.json TABLE -o coarse.csv" +
      (ruled ? " --resolved confidential.json" : "") +
      (trees.length ? " --hierarchies " + trees.map((one) => one.shell).join(" ") : ""));
    put(by("python"), "plan = anonrisk.Plan.from_json(open(\"plan.json\").read()" +
      (trees.length ? ", hierarchies={" + trees.map((one) => one.python).join(", ") + "}" : "") +
      ")\n" + (ruled ? "plan = plan.resolve(df)  # names values: keep it confidential, apply it " +
      "every month\nopen(\"confidential.json\", \"w\").write(plan.to_json())\n" : "") +
      "coarse = df.anon.apply(plan)");
    put(by("refused"), !leave && below[node] ? "Nobody is left out: " + upTo(below[node]) +
      " stay in classes smaller than " + count(k) + "."
      : leave && below[node] > allowed() ? "This leaves out more than may be: the plan is refused " +
      "when it is applied. Choose coarser levels, or allow more." : "");
  };

  // ---- the picture: all dots once, then the ring over them ------------------------------------
  const canvas = by("dots");
  const all = document.createElement("canvas");
  const tiny = Math.log10(floor / people / 2);
  const edge = { left: 54, right: 14, top: 12, bottom: 40 };
  const [atX, atY] = [new Float64Array(below.length), new Float64Array(below.length)];
  const height = (share) => share > 0 ? 1 - Math.log10(Math.min(share, 1)) / tiny : 0;

  const sized = (one) => {
    const ratio = window.devicePixelRatio || 1;
    one.width = Math.round(canvas.clientWidth * ratio);
    one.height = Math.round(canvas.clientHeight * ratio);
    const pen = one.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    return pen;
  };

  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  const drawAll = () => {
    const pen = sized(all);
    const wide = canvas.clientWidth, high = canvas.clientHeight;
    const y = (share) => high - edge.bottom - height(share) * (high - edge.top - edge.bottom);
    pen.font = "12px system-ui, sans-serif";
    pen.strokeStyle = colour("--line");
    pen.fillStyle = colour("--soft");
    pen.textBaseline = "middle";
    pen.textAlign = "right";
    for (const share of [0, 0.001, 0.01, 0.1, 1]) {
      if (share && share < floor / people) continue;
      const at = Math.round(y(share)) + 0.5;
      pen.fillText(share ? String(100 * share) + "%" : "nobody", edge.left - 4, at);
      pen.beginPath();
      pen.moveTo(edge.left, at);
      pen.lineTo(wide - edge.right, at);
      pen.stroke();
    }
    pen.textBaseline = "top";
    for (const part of wide < 480 ? [0, 0.5, 1] : [0, 0.25, 0.5, 0.75, 1]) {
      pen.textAlign = part === 1 ? "right" : part ? "center" : "left";
      pen.fillText(100 * part + "%", edge.left + part * (wide - edge.left - edge.right),
        high - edge.bottom + 8);
    }
    pen.textAlign = "center";
    pen.fillText("detail kept", (edge.left + wide - edge.right) / 2, high - 14);
    pen.fillStyle = colour("--blue");
    for (let i = 0; i < below.length; i++) {
      atX[i] = edge.left + detail[i] * (wide - edge.left - edge.right);
      atY[i] = y(below[i] / people);
      pen.fillRect(atX[i] - 1.2, atY[i] - 1.2, 2.4, 2.4);
    }
  };

  const drawRing = () => {
    const pen = sized(canvas);
    const wide = canvas.clientWidth, high = canvas.clientHeight;
    pen.drawImage(all, 0, 0, wide, high);
    if (allowed()) {
      const limit = Math.round(high - edge.bottom -
        height(allowed() / people) * (high - edge.top - edge.bottom)) + 0.5;
      pen.strokeStyle = pen.fillStyle = colour("--text");
      pen.setLineDash([6, 4]);
      pen.beginPath();
      pen.moveTo(edge.left, limit);
      pen.lineTo(wide - edge.right, limit);
      pen.stroke();
      pen.setLineDash([]);
      pen.font = "12px system-ui, sans-serif";
      pen.textAlign = "left";
      pen.textBaseline = "bottom";
      pen.fillText("as many may be left out", edge.left + 4, limit - 2);
    }
    pen.beginPath();
    pen.arc(atX[node], atY[node], 7, 0, 2 * Math.PI);
    pen.lineWidth = 3;
    pen.strokeStyle = colour("--bad");
    pen.stroke();
  };

  const show = () => {
    const levels = levelsOf(node);
    levels.forEach((level, c) => { radios[c][level].checked = true; });
    headline();
    figures();
    steps(levels);
    takeAway(levels);
    drawRing();
  };

  const choose = (chosen) => {
    node = chosen;
    show();
  };

  const redraw = () => {
    drawAll();
    drawRing();
  };

  radios.forEach((group, c) => group.forEach((one, level) => {
    one.addEventListener("change", () => {
      const levels = levelsOf(node);
      levels[c] = level;
      choose(nodeOf(levels));
    });
  }));
  const press = (id, most) => by(id).addEventListener("click", () => {
    const found = gentlest(most());
    if (found < 0) by("headline").textContent = "No combination leaves out so few.";
    else choose(found);
  });
  press("gentlest", allowed);
  press("nobody", () => 0);
  by("finest").addEventListener("click", () => choose(0));
  by("share").addEventListener("change", show);
  by("leave").addEventListener("change", show);
  if (rest) rest.addEventListener("change", show);

  canvas.addEventListener("click", (event) => {
    const frame = canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - frame.left, event.clientY - frame.top];
    let best = 0, least = Infinity;
    for (let i = 0; i < below.length; i++) {
      const far = (atX[i] - x) ** 2 + (atY[i] - y) ** 2;
      if (far < least) [best, least] = [i, far];
    }
    choose(best);
  });

  for (const one of data.best) {
    const row = document.createElement("tr");
    const levels = levelsOf(one);
    const text = columns.map((column, c) => column.levels[levels[c]].label);
    const button = make("button", "Choose");
    button.type = "button";
    button.setAttribute("aria-label", "Choose the combination with " + percent(detail[one]) +
      " detail kept and " + (below[one] ? upTo(below[one]) : "nobody") + " below " + count(k));
    button.addEventListener("click", () => choose(one));
    const names = document.createElement("td");
    columns.forEach((column, c) => {
      names.append(c ? ", " : "", make("bdi", column.name), ": " + text[c]);
    });
    const last = document.createElement("td");
    last.append(button);
    row.append(make("td", percent(detail[one]), "number"),
      make("td", below[one] ? count(below[one]) : "nobody", "number"), names, last);
    by("best").append(row);
  }

  for (const button of document.querySelectorAll("[data-copies]")) {
    button.addEventListener("click", async () => {
      const from = by(button.dataset.copies);
      try {
        await navigator.clipboard.writeText(from.textContent);
        by("copied").textContent = "Copied.";
      } catch {
        getSelection().selectAllChildren(from);
        by("copied").textContent = "The text is selected: copy it with the keyboard.";
      }
    });
  }
  by("save").addEventListener("click", () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([by("plan").textContent + "\n"],
      { type: "application/json" }));
    link.download = "plan.json";
    link.click();
    URL.revokeObjectURL(link.href);
  });

  new ResizeObserver(redraw).observe(canvas);
  for (const media of ["(prefers-color-scheme: dark)", "print"]) {
    matchMedia(media).addEventListener("change", redraw);
  }
  drawAll();
  show();
})();

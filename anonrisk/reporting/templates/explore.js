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
  // A page that is served asks for combinations, and knows those that were counted: the rest is NaN.
  const served = data.state !== null;
  const every = columns.reduce((product, one) => product * one.levels.length, 1);
  const blank = () => new Float64Array(every).fill(NaN);
  const [alone, below, classes, smallest] = [blank(), blank(), blank(), blank()];
  const bands = data.counted.bands.map(blank);
  const sensitive = data.limits.map(([name, limits]) => ({ name, limits, l: blank(), t: blank() }));
  const known = (i) => !Number.isNaN(below[i]);
  const take = (part) => {
    const into = (values, packed, unit) => unpack(packed, unit).forEach((value, i) => {
      values[part.nodes ? part.nodes[i] : i] = value;
    });
    into(alone, part.alone, floor);
    into(below, part.below, floor);
    into(classes, part.classes, floor);
    into(smallest, part.smallest, 1);
    bands.forEach((values, i) => into(values, part.bands[i], floor));
    sensitive.forEach((one, i) => {
      into(one.l, part.sensitive[i].ldiv, 1);
      into(one.t, part.sensitive[i].tcloseness, 1);
    });
  };
  take(data.counted);
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
  let trouble = "";
  // Whatever is pressed ends the search that was on.
  let turn = 0;
  const past = [];
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

  // What is locked stays at its level.
  const locks = columns.map((_, c) => by("lock" + c));
  const free = (i) => {
    const [now, then] = [levelsOf(node), levelsOf(i)];
    return locks.every((lock, c) => !lock.checked || now[c] === then[c]);
  };

  const gentlest = (most) => {
    let best = -1;
    for (let i = 0; i < every; i++) {
      if (!known(i) || below[i] > most || breaks(i).length || !free(i)) continue;
      const gain = best < 0 ? 1 : detail[i] - detail[best];
      if (gain > 1e-9 || (gain > -1e-9 && below[i] < below[best])) best = i;
    }
    return best;
  };

  const headline = () => {
    const few = below[node];
    const line = by("headline");
    if (!known(node)) {
      by("verdict").className = "verdict none";
      put(line, trouble || "Counting \u2026");
      by("notes").replaceChildren();
      return;
    }
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
    const notes = broken.map(([s, word, limit]) => [sensitive[s].name,
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
    put(by("detail"), percent(detail[node]));
    if (!known(node)) {
      const cells = [...rows, ...given.map((one) => ({ cells: one }))];
      for (const one of [by("smallest"), by("alone"), by("risk"),
        ...cells.flatMap((row) => [row.cells[0], row.cells[1]])]) put(one, "\u2026");
      rows.forEach(({ bar }) => bar.setAttribute("width", 0));
      return;
    }
    const after = below[node] > 0 && below[node] <= allowed();
    put(by("smallest"), after ? count(k) + " or more"
      : smallest[node] ? count(smallest[node]) : "fewer than " + count(floor));
    put(by("alone"), alone[node] && !after ? percent(Math.min(alone[node] / people, 1)) : "nobody");
    put(by("risk"), (after ? "at most " : "") +
      percent(after ? Math.min(classes[node] / people, 1 / k) : Math.min(classes[node] / people, 1)));
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
    const open = last || !known(node) || below[node] === 0;
    put(by("s" + c), column.levels[levels[c]].text + (open ? "." : Number.isNaN(fewer)
      ? ". One step coarser is not counted yet." : fewer > 0
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
    put(by("refused"), !known(node) ? "Not counted yet." : !leave && below[node] ? "Nobody is left out: " + upTo(below[node]) +
      " stay in classes smaller than " + count(k) + "."
      : leave && below[node] > allowed() ? "This leaves out more than may be: the plan is refused " +
      "when it is applied. Choose coarser levels, or allow more." : "");
  };

  // ---- the picture: all dots once, then the ring over them ------------------------------------
  const canvas = by("dots");
  const all = document.createElement("canvas");
  const tiny = Math.log10(floor / people / 2);
  const edge = { left: 54, right: 14, top: 12, bottom: 40 };
  const [atX, atY] = [blank(), blank()];
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
    for (let i = 0; i < every; i++) {
      if (!known(i)) continue;
      atX[i] = edge.left + detail[i] * (wide - edge.left - edge.right);
      atY[i] = y(below[i] / people);
      pen.fillRect(atX[i] - 1.2, atY[i] - 1.2, 2.4, 2.4);
    }
  };

  const drawRing = () => {
    // The frame of a notebook may have no size yet; once it has, all is drawn again.
    if (!canvas.clientWidth) return;
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
    if (!known(node)) return;
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
    by("undo").disabled = !past.length;
    const more = by("more");
    if (more) more.disabled = !known(node) || below[node] === 0;
    // A link to what is shown; in the frame of a notebook there is none.
    if (location.protocol !== "about:") history.replaceState(null, "", "#" + levels.join("."));
  };

  const post = async (path, asked) => {
    const token = new URLSearchParams(location.search).get("token");
    try {
      const answer = await fetch(path, { method: "POST", body: JSON.stringify(asked),
        headers: { "Authorization": "Bearer " + token, "Content-Type": "application/json" } });
      return await answer.json().catch(() => ({ refused: "It could not be counted." }));
    } catch {
      return { refused: "This page is served no more: start it again." };
    }
  };

  // Count what is not known yet, one after another; false where that failed or another press came.
  const ask = async (nodes, mine) => {
    for (const one of nodes) {
      if (known(one)) continue;
      const told = await post("/count", { state: data.state, nodes: [one] });
      trouble = told.refused || "";
      if (!trouble) {
        take(told);
        drawAll();
      }
      if (trouble || mine !== turn) return false;
    }
    return true;
  };

  const choose = async (chosen, undone) => {
    const mine = ++turn;
    if (!undone && chosen !== node) past.push(node);
    node = chosen;
    trouble = "";
    show();
    if (known(chosen)) return;
    await ask([chosen], mine);
    if (node === chosen) show();
  };

  // If too many are below k at one combination, so they are at all that are finer in every column:
  // from the most detail on, a way to the coarsest is halved until it is known where too many end.
  const search = async (most, mine) => {
    const failed = [];
    const finer = (a, b) => a.every((level, c) => columns[c].coarsens[level][b[c]]);
    const way = (from) => {
      const [levels, found] = [[...from], [nodeOf(from)]];
      for (let moved = true; moved;) {
        moved = false;
        columns.forEach(({ coarsens }, c) => {
          const next = locks[c].checked ? -1
            : coarsens[levels[c]].findIndex((yes, level) => yes && level > levels[c]);
          if (next < 0) return;
          levels[c] = next;
          found.push(nodeOf(levels));
          moved = true;
        });
      }
      return found;
    };
    let best = -1;
    const order = [...detail.keys()].filter(free).sort((a, b) => detail[b] - detail[a]);
    for (const one of order) {
      if (best >= 0 && detail[one] < detail[best] - 1e-9) break;
      const levels = levelsOf(one);
      if (failed.some((other) => finer(levels, other))) continue;
      const nodes = way(levels);
      let [low, high] = [-1, nodes.length];
      while (high - low > 1) {
        const middle = (low + high) >> 1;
        put(by("headline"), "Looking for the gentlest: " +
          count(below.reduce((sum, _, i) => sum + known(i), 0)) + " of " + count(every) +
          " counted. Whatever you press ends it.");
        if (!await ask([nodes[middle]], mine)) return false;
        if (below[nodes[middle]] > most) low = middle;
        else high = middle;
      }
      if (low >= 0) failed.push(levelsOf(nodes[low]));
      else if (best < 0 && !breaks(one).length) best = one;
    }
    return true;
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
  const press = (id, most) => by(id).addEventListener("click", async () => {
    const mine = ++turn;
    const least = most();
    if (served && !await search(least, mine)) {
      if (mine === turn) by("headline").textContent = trouble;
      return;
    }
    const found = gentlest(least);
    if (found < 0) by("headline").textContent = "No combination leaves out so few.";
    else choose(found);
  });
  press("gentlest", allowed);
  press("nobody", () => 0);
  by("finest").addEventListener("click", () => choose(0));
  by("undo").addEventListener("click", () => {
    if (past.length) choose(past.pop(), true);
  });
  if (served) {
    by("more").addEventListener("click", async () => {
      const levels = levelsOf(node);
      const next = columns.flatMap((column, c) =>
        levels[c] + 1 < column.levels.length ? [node + strides[c]] : []);
      const mine = ++turn;
      for (const one of next) {
        if (!await ask([one], mine)) break;
        show();
      }
      if (mine === turn && trouble) by("headline").textContent = trouble;
    });
  }
  if (by("recount")) {
    by("recount").addEventListener("click", async () => {
      put(by("norecount"), "Counting \u2026");
      const told = await post("/roles", { k: Number(by("k").value),
        roles: [...document.querySelectorAll("select.role")].map((one) => one.value) });
      put(by("norecount"), told.refused || "");
      if (told.refused) return;
      history.replaceState(null, "", location.pathname + location.search);
      location.reload();
    });
  }
  for (const one of [by("share"), by("leave"), rest, ...locks]) {
    if (one) one.addEventListener("change", () => { turn++; show(); });
  }

  canvas.addEventListener("click", (event) => {
    const frame = canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - frame.left, event.clientY - frame.top];
    let best = 0, least = Infinity;
    for (let i = 0; i < every; i++) {
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
  for (const button of document.querySelectorAll("[data-saves]")) {
    button.addEventListener("click", () => {
      const name = button.dataset.saves;
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([by(name).textContent + "\n"],
        { type: "application/json" }));
      link.download = name + ".json";
      link.click();
      URL.revokeObjectURL(link.href);
    });
  }

  new ResizeObserver(redraw).observe(canvas);
  for (const media of ["(prefers-color-scheme: dark)", "print"]) {
    matchMedia(media).addEventListener("change", redraw);
  }
  // Levels that a link names, if it is one of this page.
  const linked = () => {
    const levels = location.hash.slice(1).split(".").map(Number);
    return levels.length === columns.length && levels.every((level, c) =>
      Number.isInteger(level) && level >= 0 && level < columns[c].levels.length)
      ? nodeOf(levels) : node;
  };
  addEventListener("hashchange", () => {
    if (linked() !== node) choose(linked());
  });
  drawAll();
  choose(linked(), true);
})();

"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const by = (id) => document.getElementById(id);
  // Candidates, of which a link may hold so many.
  const MOST = 20;
  const kinds = { 8: Uint8Array, 16: Uint16Array, 32: Uint32Array };
  const unpack = ({ bits, data: text }, unit) => {
    const bytes = Uint8Array.from(atob(text), (one) => one.charCodeAt(0));
    return Float64Array.from(new kinds[bits](bytes.buffer), (one) => one * unit);
  };
  const { floor, people, columns, who, sizes } = data;
  // What depends on k, which may be changed: the policy, what was tried, what is best.
  const views = [data, ...data.other_k];
  let view = data;
  let { k } = data;
  // A page that is served asks for combinations, and knows those that were counted: the rest is NaN.
  const served = data.state !== null;
  const every = columns.reduce((product, one) => product * one.levels.length, 1);
  const blank = () => new Float64Array(every).fill(NaN);
  const [classes, smallest, smaller] = [blank(), blank(), sizes.map(blank)];
  const alone = smaller[0];
  let below = smaller[sizes.indexOf(k)];
  const sensitive = data.limits.map(([name, limits]) => ({ name, limits,
    every: data.kept.map(() => ({ l: blank(), t: blank() })) }));
  const known = (i) => !Number.isNaN(below[i]);
  const take = (part) => {
    const into = (values, packed, unit) => unpack(packed, unit).forEach((value, i) => {
      values[part.nodes ? part.nodes[i] : i] = value;
    });
    smaller.forEach((values, i) => into(values, part.smaller[i], floor));
    into(classes, part.classes, floor);
    into(smallest, part.smallest, 1);
    sensitive.forEach(({ every: of }, i) => of.forEach(({ l, t }, j) => {
      into(l, part.sensitive[i][j].ldiv, 1);
      into(t, part.sensitive[i][j].tcloseness, 1);
    }));
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
  // States that were shown, for Undo, with what was locked; and the one that is shown now.
  const past = [];
  let now = null;
  const rest = by("rest");
  const unseen = () => rest && !rest.checked ? data.not_looked_at : [];
  const radios = columns.map((_, c) => [...document.getElementsByName("c" + c)]);
  const rows = [...document.querySelectorAll("tr.size")].map((row) => ({
    row, cells: row.querySelectorAll("td"), bar: row.querySelector("rect") }));
  const given = [...document.querySelectorAll("tr.sensitive")].map((row) =>
    row.querySelectorAll("td"));

  // People are told rounded up, and so is their whole number: what is allowed is of the least.
  const most_of = (share) => Math.floor(share * (people - floor + 1) + 1e-9);
  const allowed = () => by("leave").checked ? most_of(Number(by("share").value)) : 0;

  // l and t of a combination, of the classes that are large enough; t is told in steps, and one more.
  const given_away = (s, i) => {
    const { l, t } = sensitive[s].every[data.kept.indexOf(Math.max(k, floor))];
    return { l: l[i], t: t[i] ? Math.min((t[i] - 1) * data.t_step, 1) : null };
  };
  const breaks = (i) => sensitive.flatMap(({ limits }, s) => {
    const { l, t } = given_away(s, i);
    return [...(limits.l !== undefined && l < limits.l ? [[s, "l", limits.l]] : []),
      ...(limits.t !== undefined && t > limits.t + 1e-9 ? [[s, "t", limits.t]] : [])];
  });

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

  // What is shown, and all that its verdict rests on.
  const state = () => ({ node, k, leave: by("leave").checked, share: Number(by("share").value),
    rest: !unseen().length });
  const viewOf = (one) => views.find((other) => other.k === one.k);
  // Whether a state is what was applied to the table, and passed the gate.
  const wasTried = (one) => {
    const { levels } = viewOf(one).next;
    return Boolean(levels) && one.node === nodeOf(levels) && one.leave && one.rest &&
      one.share === data.max_suppressed;
  };
  const tried = () => wasTried(state());
  const judge = (one) => {
    const few = smaller[sizes.indexOf(one.k)][one.node];
    const enough = few <= (one.leave ? most_of(one.share) : 0);
    const not_judged = wasTried(one) ? [] : data.not_judged;
    // Only a policy has limits of l and t, and it says k.
    const good = enough && !breaks(one.node).length;
    // The gate knows better: what looks good here did not pass it.
    const { levels, passes } = viewOf(one).next;
    const refuted = passes === false;
    // It asks more than is counted here. What columns hold that stay as they are, it said wherever
    // it passed; what a policy asks, of what it tried alone, or of all if the table passes as it is.
    const untried = { policy: !wasTried(one) && (levels !== null || !passes), roles: !passes,
      k: false }[data.asked_by];
    const sure = one.rest && !not_judged.length && !refuted && !untried &&
      !data.attributes_not_judged.length;
    return { few, enough, good, not_judged, refuted, untried,
      tone: !good ? "bad" : sure ? "good" : "doubt" };
  };
  const signs = { bad: "\u2717 ", doubt: "? ", good: "\u2713 " };

  const headline = () => {
    const line = by("headline");
    if (!known(node)) {
      by("verdict").className = "verdict none";
      put(line, trouble || "Counting \u2026");
      by("notes").replaceChildren();
      return;
    }
    const broken = breaks(node);
    const { few, enough, good, not_judged, refuted, untried, tone } = judge(state());
    by("verdict").className = "verdict " + tone;
    const sign = signs[tone];
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
    for (const name of not_judged) {
      notes.push([name, " of the policy is not judged here: check the table that you make."]);
    }
    if (good && refuted) notes.push(["", "The policy did not pass for what looks as good: " +
      "check the table that you make."]);
    else if (good && untried && !not_judged.length) notes.push(["", "Not tried against the policy: anonrisk check says " +
      "whether the table that you make passes."]);
    if (good) for (const name of data.attributes_not_judged) {
      notes.push([name, ": attribute disclosure not judged, only the sizes of classes protect it."]);
    }
    by("notes").replaceChildren(...notes.map(([name, text]) => {
      const item = document.createElement("li");
      if (name) item.append(make("bdi", name));
      item.append(text);
      return item;
    }));
    put(by("next"), tried() ? "This was tried on the table. " + view.next.text
      : good && !not_judged.length && (view.next.levels || view.next.passes === null) ? "This was not tried on the table: apply the plan, and check the " +
        "result with the policy." : view.next.text);
    by("advised").hidden = !view.next.levels || tried();
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
    rows.forEach(({ cells, bar }, i) => {
      const upTo = i < sizes.length ? smaller[i][node] : people;
      const number = upTo - (i ? smaller[i - 1][node] : 0);
      put(cells[0], count(number));
      put(cells[1], percent(number / people));
      bar.setAttribute("width", number ? Math.max(number / people * 200, 1) : 0);
    });
    given.forEach((cells, i) => {
      const { l, t } = given_away(i, node);
      put(cells[0], l ? count(l) : "nobody is left");
      put(cells[1], t === null ? "-" : (Math.ceil(t * 100 - 1e-6) / 100).toFixed(2));
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
      (trees.length ? " --hierarchies " + trees.map((one) => one.shell).join(" ") : "") +
      (by("policy") ? "\nanonrisk check coarse.csv --policy policy.json" +
      (data.n_original === null ? "" : " --n-original " + data.n_original) : ""));
    put(by("python"), "plan = anonrisk.Plan.from_json(open(\"plan.json\").read()" +
      (trees.length ? ", hierarchies={" + trees.map((one) => one.python).join(", ") + "}" : "") +
      ")\n" + (ruled ? "plan = plan.resolve(df)  # names values: keep it confidential, apply it " +
      "every month\nopen(\"confidential.json\", \"w\").write(plan.to_json())\n" : "") +
      "coarse = df.anon.apply(plan)" + (by("policy")
      ? "\nanonrisk.Policy.load(\"policy.json\").check(coarse" + (data.n_original === null ? ""
      : ", n_original=" + data.n_original) + ").raise_for_status()" : ""));
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

  // ---- candidates: states that somebody keeps, each with a note; they live in the link alone ------
  let candidates = [];
  const same = (one, other) => ["node", "k", "leave", "share", "rest"].every((part) =>
    one[part] === other[part]);
  const words = { bad: "do not publish", doubt: "not all is judged", good: "enough" };
  const namesOf = (levels) => {
    const cell = document.createElement("td");
    columns.forEach((column, c) => {
      cell.append(c ? ", " : "", make("bdi", column.name), ": " + column.levels[levels[c]].label);
    });
    return cell;
  };
  const tick = (one) => {
    by("leave").checked = one.leave;
    for (const option of by("share").options) option.selected = Number(option.value) === one.share;
    if (rest) rest.checked = one.rest;
  };
  const setTo = (one) => {
    withK(one.k);
    tick(one);
    choose(one.node);
  };
  const remember = () => {
    const then = { ...state(), locked: locks.map((lock) => lock.checked) };
    if (now && JSON.stringify(now) !== JSON.stringify(then)) past.push(now);
    now = then;
  };
  const listCandidates = () => {
    by("listed").hidden = !candidates.length;
    by("kept_states").replaceChildren(...candidates.map((one, i) => {
      const row = document.createElement("tr");
      const { few, enough, tone } = judge(one);
      const counted = !Number.isNaN(few);
      const verdict = make("th", counted ? signs[tone] + words[tone] + (wasTried(one) ? ", tried" : "")
        : "not counted yet", counted ? "word " + tone : "");
      verdict.scope = "row";
      const among = make("td", !counted ? "\u2026" : (few ? upTo(few) : "nobody") +
        " among fewer than " + count(one.k) + (few && enough ? ", left out" : "") +
        (one.rest ? "" : "; with columns nobody looked at"));
      const note = document.createElement("td");
      note.append(make("bdi", one.note));
      const buttons = document.createElement("td");
      for (const [text, what] of [["Go back to it", () => setTo(one)],
        ["Remove", () => { candidates = candidates.filter((other) => other !== one); show(); }]]) {
        const button = make("button", text);
        button.type = "button";
        button.setAttribute("aria-label", text + ": candidate " + (i + 1));
        button.addEventListener("click", what);
        buttons.append(button, " ");
      }
      row.append(verdict, make("td", percent(detail[one.node]) + " kept"), among,
        namesOf(levelsOf(one.node)), note, buttons);
      return row;
    }));
  };
  by("keep").addEventListener("click", () => {
    const one = { ...state(), note: by("note").value.trim() };
    candidates = [...candidates.filter((other) => !same(one, other)), one].slice(-MOST);
    by("note").value = "";
    show();
  });

  const show = () => {
    remember();
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
    listCandidates();
    // A link to all that the verdict rests on; in the frame of a notebook there is none.
    const { leave, share, rest: left } = state();
    if (location.protocol !== "about:")
      history.replaceState(null, "", "#" + levels.join(".") + (view === data ? "" : "&k=" + k) +
        (leave ? "" : "&leave=0") + (share === data.max_suppressed ? "" : "&share=" + share) +
        (left ? "" : "&rest=0") +
        candidates.map((one) => "&" + new URLSearchParams({ keep: [levelsOf(one.node).join("."), one.k,
          one.leave ? 1 : 0, one.share, one.rest ? 1 : 0, one.note].join("~") })).join(""));
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

  const choose = async (chosen) => {
    const mine = ++turn;
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
  by("advised").addEventListener("click", () => setTo({ node: nodeOf(view.next.levels), k, leave: true,
    share: data.max_suppressed, rest: true }));
  if (by("of_k")) {
    by("of_k").addEventListener("change", () => {
      turn++;
      withK(Number(by("of_k").value));
      show();
    });
  }
  by("finest").addEventListener("click", () => choose(0));
  by("undo").addEventListener("click", () => {
    if (!past.length) return;
    const one = past.pop();
    now = null;
    locks.forEach((lock, c) => { lock.checked = one.locked[c]; });
    setTo(one);
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

  const listBest = () => by("best").replaceChildren(...view.best.map((one) => {
    const row = document.createElement("tr");
    const button = make("button", "Choose");
    button.type = "button";
    button.setAttribute("aria-label", "Choose the combination with " + percent(detail[one]) +
      " detail kept and " + (below[one] ? upTo(below[one]) : "nobody") + " below " + count(k));
    button.addEventListener("click", () => choose(one));
    const last = document.createElement("td");
    last.append(button);
    row.append(make("td", percent(detail[one]), "number"),
      make("td", below[one] ? count(below[one]) : "nobody", "number"), namesOf(levelsOf(one)), last);
    return row;
  }));

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
  const withK = (chosen) => {
    view = views.find((one) => one.k === chosen) || data;
    k = view.k;
    below = smaller[sizes.indexOf(k)];
    for (const one of document.querySelectorAll(".k")) one.textContent = count(k);
    if (by("kept")) by("kept").textContent = count(Math.max(k, floor));
    if (by("of_k")) by("of_k").value = String(k);
    if (by("policy")) by("policy").textContent = view.policy;
    // The bands that are too small stand above the line.
    const few = sizes.indexOf(k) + 1;
    rows.forEach(({ bar }, i) => bar.setAttribute("class", i < few ? "fill-bad" : "fill-blue"));
    rows[few].row.before(document.querySelector("tr.kline"));
    if (by("best")) listBest();
    drawAll();
  };
  // What a link names, if it is one of this page.
  const nodeNamed = (text) => {
    const levels = text.split(".").map(Number);
    return levels.length === columns.length && levels.every((level, c) =>
      Number.isInteger(level) && level >= 0 && level < columns[c].levels.length)
      ? nodeOf(levels) : -1;
  };
  const linked = () => {
    const [first, ...more] = location.hash.slice(1).split("&");
    const asked = new URLSearchParams(more.join("&"));
    withK(Number(asked.get("k")));
    const shares = [...by("share").options].map((option) => Number(option.value));
    const share = Number(asked.get("share") || data.max_suppressed);
    tick({ leave: asked.get("leave") !== "0", rest: asked.get("rest") !== "0",
      share: shares.includes(share) ? share : data.max_suppressed });
    candidates = asked.getAll("keep").slice(-MOST).map((text) => {
      const [levels, of_k, leave, part, left, ...note] = text.split("~");
      return { node: nodeNamed(levels), k: Number(of_k), leave: leave === "1", share: Number(part),
        rest: !rest || left === "1", note: note.join("~").slice(0, 200) };
    }).filter((one) => one.node >= 0 && viewOf(one) && shares.includes(one.share));
    const named = nodeNamed(first);
    return named < 0 ? node : named;
  };
  addEventListener("hashchange", () => choose(linked()));
  choose(linked());
})();

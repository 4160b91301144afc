// Stepping through the run: selection, keys, and what the mouse does.

const view = {compact: true, filter: '', opened: new Set(), openOperations: new Set(), rows: [], shown: []};
let selected = -1;
let geometry = null;

function redraw() {
  const focused = byId('rows').contains(document.activeElement);
  geometry = drawRows(view);
  byId('compact').setAttribute('aria-pressed', String(view.compact));
  byId('count').textContent = `${view.shown.length} of ${events.length} events, ` +
    `${geometry.places.size} of ${trace.lanes.length} lanes shown`;
  mark(selected);
  if (focused) byId(`e${selected}`)?.focus({preventScroll: true});
}

// Shows which event is selected, if it is drawn.
function mark(index) {
  for (const old of document.querySelectorAll('[aria-current]')) {
    old.removeAttribute('aria-current');
    old.tabIndex = -1;
    old.parentElement.classList.remove('selected');
  }
  const box = byId(`e${index}`);
  if (box) {
    box.setAttribute('aria-current', 'true');
    box.tabIndex = 0;
    box.parentElement.classList.add('selected');
  }
  for (const head of byId('heads').querySelectorAll('.lane')) {
    head.classList.toggle('selected', isEvent(index) &&
      Number(head.dataset.lane) === events[index].lane);
  }
  drawArrows(index, geometry);
}

// Makes an event visible: what folds or filters it away is opened.
function reveal(index) {
  if (byId(`e${index}`)) return;
  const operation = operationOf[index];
  const fold = view.rows.find((row) => row.fold?.includes(index));
  if (fold) view.opened.add(fold.fold[0]);
  else if (view.compact && !view.filter && operation) view.openOperations.add(operation);
  else setFilter('');
  redraw();
  if (!byId(`e${index}`)) reveal(index);
}

function scrollTo(box, place) {
  const scroller = byId('scroller');
  const heads = byId('heads').offsetHeight;
  const row = box.parentElement.getBoundingClientRect();
  const frame = scroller.getBoundingClientRect();
  const above = row.top - (frame.top + heads + 8);
  const below = row.bottom - (frame.bottom - 48);
  if (place === 'middle') {
    scroller.scrollTop += row.top - frame.top - frame.height * 0.6;
  } else if (above < 0) {
    scroller.scrollTop += above;
  } else if (below > 0) {
    scroller.scrollTop += below;
  }
}

function select(index, place = 'near') {
  if (!isEvent(index)) return;
  reveal(index);
  selected = index;
  mark(index);
  drawDetail(index);
  const box = byId(`e${index}`);
  box.focus({preventScroll: true});
  const frame = byId('scroller').getBoundingClientRect();
  const row = box.parentElement.getBoundingClientRect();
  const far = row.bottom < frame.top - 100 || row.top > frame.bottom + 100;
  scrollTo(box, far ? 'middle' : place);
}

// Shows what the operation that begins with this event consists of, or hides it again.
function toggleOperation(first) {
  const operation = operationOf[first];
  if (!operation) return;
  if (!view.openOperations.delete(operation)) view.openOperations.add(operation);
  redraw();
  select(operation.events[0]);
}

// The next of `candidates` (in order of time) after the selected event, or before it. Goes round
// at the end if `round`.
function neighbour(candidates, step, round = false) {
  const after = candidates.filter((index) => (step > 0 ? index > selected : index < selected));
  if (after.length) return step > 0 ? after[0] : after.at(-1);
  if (!round) return undefined;
  return step > 0 ? candidates[0] : candidates.at(-1);
}

function stepInLane(step) {
  const lane = isEvent(selected) ? events[selected].lane : events[view.shown[0]]?.lane;
  select(neighbour(view.shown.filter((index) => events[index].lane === lane), step));
}

// The ends of missing orders, one after the other.
function nextMissing() {
  const stops = missing.flatMap((edge) => [edge.from, edge.to]);
  if (stops.length) select(stops[(stops.lastIndexOf(selected) + 1) % stops.length]);
}

function nextRelated(step) {
  select(neighbour([...related].sort((a, b) => a - b), step, true));
}

function setFilter(text) {
  view.filter = text.trim();
  if (byId('filter').value.trim() !== view.filter) byId('filter').value = text;
}

function setCompact(compact) {
  view.compact = compact;
  view.opened.clear();
  view.openOperations.clear();
  redraw();
  if (isEvent(selected)) select(selected, 'middle');
}

function endFilter() {
  if (view.filter) {
    setFilter('');
    redraw();
  }
  if (isEvent(selected)) select(selected, 'middle');
}

const KEYS = {
  j: () => select(neighbour(view.shown, 1)),
  k: () => select(neighbour(view.shown, -1)),
  ArrowDown: () => select(neighbour(view.shown, 1)),
  ArrowUp: () => select(neighbour(view.shown, -1)),
  ArrowRight: () => stepInLane(1),
  ArrowLeft: () => stepInLane(-1),
  Home: () => select(view.shown[0]),
  End: () => select(view.shown.at(-1)),
  m: nextMissing,
  f: () => nextRelated(1),
  F: () => nextRelated(-1),
  c: () => setCompact(!view.compact),
  o: () => toggleOperation(selected),
  '/': () => byId('filter').select(),
  '?': () => byId('help').showModal(),
  Escape: endFilter,
};

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || byId('help').open) return;
  const typing = event.target === byId('filter');
  if (typing && event.key === 'Enter') {
    event.preventDefault();
    select(view.shown.includes(selected) ? selected : view.shown[0]);
    return;
  }
  const action = typing && event.key !== 'Escape' ? undefined : KEYS[event.key];
  if (!action) return;
  event.preventDefault();
  action();
}

function onClick(event) {
  const box = event.target.closest('.event, [data-go], [data-fold], [data-operation]');
  if (!box) return;
  if (box.dataset.operation) {
    toggleOperation(Number(box.dataset.operation));
  } else if (box.dataset.fold) {
    view.opened.add(Number(box.dataset.fold));
    redraw();
    select(Number(box.dataset.fold));
  } else {
    select(Number(box.dataset.go ?? box.id.slice(1)));
  }
}

// Some browsers give a page from a file no clipboard; then the command is selected instead.
async function copyReplay() {
  try {
    await navigator.clipboard.writeText(trace.replay);
    byId('copy').textContent = 'Copied';
  } catch {
    getSelection().selectAllChildren(byId('replay'));
    byId('copy').textContent = document.execCommand('copy') ? 'Copied' : 'Selected';
  }
}

function begin() {
  drawSummary();
  redraw();
  document.addEventListener('keydown', onKey);
  document.addEventListener('click', onClick);
  byId('copy').addEventListener('click', copyReplay);
  byId('compact').addEventListener('click', () => setCompact(!view.compact));
  byId('to-missing').addEventListener('click', nextMissing);
  byId('to-finding').addEventListener('click', () => nextRelated(1));
  byId('to-help').addEventListener('click', () => byId('help').showModal());
  byId('filter').addEventListener('input', () => {
    setFilter(byId('filter').value);
    redraw();
  });
  byId('map').addEventListener('click', (event) => {
    const scroller = byId('scroller');
    scroller.scrollTop = scroller.scrollHeight * event.offsetY / byId('map').clientHeight -
      scroller.clientHeight / 2;
  });
  let width = byId('scroller').clientWidth;
  new ResizeObserver(() => {
    if (width === byId('scroller').clientWidth) return;
    width = byId('scroller').clientWidth;
    redraw();
  }).observe(byId('scroller'));
  if (isEvent(trace.start)) select(trace.start, 'middle');
  else drawDetail(-1);
}

begin();

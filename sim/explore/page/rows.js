// The picture: a column for each lane, a row for each event.
//
// Only one lane acts in a row, so its text may run on across the columns beside it: to the right
// of its badge, or to the left in the right half of the picture.

const MIN_COLUMN = 56;
const GUTTER = 44;

function element(tag, className, ...children) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  made.append(...children);
  return made;
}

const byId = (id) => document.getElementById(id);

// A narrow picture is a list: one column for all lanes, and each event names its own.
const isNarrow = () => byId('scroller').clientWidth < 560;

// Where a column lies: `track` is the x where its arrows run, beside its badges.
function geometryOf(columns) {
  const room = byId('scroller').clientWidth - GUTTER;
  const width = Math.max(MIN_COLUMN, Math.floor(room / Math.max(1, columns.length)));
  const places = new Map();
  if (isNarrow()) {
    const place = {left: GUTTER, right: GUTTER + room, leftward: false, badge: GUTTER + 34,
      track: (offset) => GUTTER + offset};
    for (const lane of columns) places.set(lane.index, place);
    return {places, width: room, total: GUTTER + room};
  }
  columns.forEach((lane, column) => {
    const left = GUTTER + column * width;
    const leftward = columns.length > 2 && column >= columns.length / 2;
    places.set(lane.index, {left, right: left + width, leftward,
      badge: leftward ? left + width - 34 : left + 34,
      track: (offset) => (leftward ? left + width - offset : left + offset)});
  });
  return {places, width, total: GUTTER + width * columns.length};
}

function drawHeads(columns, geometry) {
  const heads = byId('heads');
  const stripes = byId('stripes');
  heads.replaceChildren();
  stripes.replaceChildren();
  byId('sheet').classList.toggle('narrow', isNarrow());
  if (isNarrow()) return;
  columns.forEach((lane, column) => {
    const {left, right} = geometry.places.get(lane.index);
    const first = column === 0 || columns[column - 1].group !== lane.group;
    if (first) {
      const span = columns.filter((other) => other.group === lane.group).length;
      const group = element('div', 'group', element('span', '', lane.group || ' '));
      group.style.cssText = `left:${left}px;width:${span * geometry.width}px`;
      heads.append(group);
    }
    const own = lane.name.startsWith(`${lane.group} `) ? lane.name.slice(lane.group.length + 1)
                                                        : lane.name;
    // "block 0 thread 3" may break before "thread" only.
    const head = element('div', 'lane', own.replace(/ (?=\d)/g, '\u00a0'));
    head.title = lane.name;
    head.dataset.lane = lane.index;
    head.style.cssText = `left:${left}px;width:${right - left}px`;
    heads.append(head);
    const stripe = element('div', first ? 'stripe first' : 'stripe');
    stripe.style.cssText = `left:${left}px;width:${right - left}px`;
    stripes.append(stripe);
  });
}

const ROOM_FOR_MARKS = 220;

// Marks stand outside of a long box, before its badge, if the columns there leave room.
function addMark(item, mark, place, total) {
  const room = place.leftward ? total - place.right : place.left - GUTTER;
  if (room < ROOM_FOR_MARKS) {
    item.querySelector('.event').append(mark);
    return;
  }
  let marks = item.querySelector('.marks');
  if (!marks) {
    marks = element('span', 'marks');
    marks.style.cssText = place.leftward ? `left:${place.right - 8}px`
                                         : `right:${total - place.left - 8}px`;
    item.append(marks);
  }
  marks.append(mark);
}

// What is wrong with an event.
function marksOf(index) {
  const stale = staleBy(index);
  const old = stale ? [element('b', 'mark old', `⟲ stale by ${stale}`)] : [];
  return old.concat(missing.flatMap((edge) => [
    ...(edge.from === index ? [element('b', 'mark missing', `✗ must precede #${edge.to}`)] : []),
    ...(edge.to === index ? [element('b', 'mark missing', `✗ must follow #${edge.from}`)] : []),
  ]));
}

function eventBox({event: index, operation}, place, total) {
  const event = events[index];
  const closed = operation && !view.openOperations.has(operation);
  const box = element('button', `event kind-${event.kind}`);
  box.type = 'button';
  box.id = `e${index}`;
  box.tabIndex = -1;
  box.classList.toggle('end', ends.has(index));
  box.classList.toggle('stale', staleBy(index) > 0);
  box.classList.toggle('leftward', place.leftward);
  const [badge, meaning] = KINDS[event.kind] ?? [event.kind, event.kind];
  if (isNarrow()) box.append(element('span', 'who', laneOf(index).name));
  // A badge that would only say the same again gives its place to the words.
  if (closed) {
    const words = event.kind === 'call' ? 'call' : badge.split(' ')[0];
    box.append(element('i', 'badge', words), element('span', 'what', operation.what));
  } else if (event.what === event.kind) box.append(element('i', 'badge', event.what));
  else box.append(element('i', 'badge', badge), element('span', 'what', event.what));
  box.title = meaning;
  // The words of an operation name the place, but for a call, where they name the operation.
  const isWhole = !closed || event.kind === 'call';
  const dot = event.kind === 'call' ? '· ' : '';
  if (event.where && isWhole) box.append(element('span', 'where', dot + event.where));
  if (event.value && (isWhole || operation.events.length === 1)) box.append(element('span', 'value', shortHex(event.value)));
  if (event.order && isWhole) box.append(element('span', 'order', event.order));
  if (event.user && event.line && isWhole) {
    const file = event.file.slice(event.file.lastIndexOf('/') + 1);
    box.append(element('span', 'place', `${file}:${event.line}`));
  }
  box.setAttribute('aria-label', [textOf(index),
    ...missing.filter((edge) => edge.from === index || edge.to === index)
      .map((edge) => `missing order: ${edge.sentence}`)].join(', '));
  if (isNarrow()) return box;
  if (place.leftward) {
    box.style.cssText =
      `right:${total - place.right + 14}px;max-width:${place.right - 14 - GUTTER}px`;
  } else {
    box.style.cssText = `left:${place.left + 14}px;max-width:${total - place.left - 18}px`;
  }
  return box;
}

// 0x00000000000000ff reads better as 0xff; the detail has all digits.
const shortHex = (hex) => hex.replace(/^0x0+(?=.)/, '0x');

function foldRow(row, geometry) {
  const counts = new Map();
  for (const index of row.fold) {
    counts.set(events[index].lane, (counts.get(events[index].lane) ?? 0) + 1);
  }
  const item = element('li', 'row fold', element('span', 'number', '⋯'));
  for (const [lane, count] of counts) {
    const place = geometry.places.get(lane);
    const words = geometry.width >= 84 ? `${count} event${count > 1 ? 's' : ''}` : `${count} ev`;
    const chip = element('button', 'chip', `▸ ${words}`);
    chip.type = 'button';
    chip.dataset.fold = row.fold[0];
    chip.setAttribute('aria-label', `${count} unremarkable events of ${trace.lanes[lane].name}: ` +
      'unfold');
    chip.title = 'Unfold';
    if (!isNarrow()) chip.style.cssText = `left:${place.left + 8}px;max-width:${geometry.width - 12}px`;
    item.append(chip);
  }
  return item;
}

// What opens and closes an operation, at the end of its box.
function operationToggle(operation) {
  const parts = operation.events.length - (events[operation.events[0]].kind === 'call' ? 1 : 0);
  const isOpen = view.openOperations.has(operation);
  const toggle = element('b', 'toggle', `${isOpen ? '▾' : '▸'} ${parts}`);
  toggle.dataset.operation = operation.events[0];
  toggle.title = `${parts} event${parts === 1 ? '' : 's'} (key o)`;
  return toggle;
}

function rowElement(row, geometry) {
  if (row.fold) return foldRow(row, geometry);
  if (row.edge) {
    const label = element('p', 'sentence', element('b', '', 'Missing order  '),
      row.edge.isVerdict ? '' : row.edge.sentence);
    const item = element('li', 'row gap', label);
    item.dataset.edge = missing.indexOf(row.edge);
    return item;
  }
  const index = row.event;
  const place = geometry.places.get(events[index].lane);
  const item = element('li', 'row', element('span', 'number', String(index)),
    eventBox(row, place, geometry.total));
  if (row.operation?.events.length > 1) {
    item.querySelector('.event').append(operationToggle(row.operation));
  }
  for (const mark of marksOf(index)) addMark(item, mark, place, geometry.total);
  item.classList.toggle('end', ends.has(index));
  return item;
}

// Draws everything but the selection; returns the geometry for the arrows.
function drawRows(view) {
  const columns = columnsOf(view.compact);
  const geometry = geometryOf(columns);
  byId('sheet').style.width = `${geometry.total}px`;
  drawHeads(columns, geometry);
  view.rows = rowsOf(view);
  view.shown = view.rows.filter((row) => 'event' in row).map((row) => row.event);
  byId('rows').replaceChildren(...view.rows.map((row) => rowElement(row, geometry)));
  drawMap();
  return geometry;
}

// The strip beside the scroll bar: where in the run the marked events are.
function drawMap() {
  const height = byId('rows').offsetHeight || 1;
  const ticks = [...byId('rows').querySelectorAll('.event.end, .event.stale')].map((box) => {
    const tick = element('i', box.classList.contains('end') ? 'tick end' : 'tick');
    tick.style.top = `${100 * box.parentElement.offsetTop / height}%`;
    return tick;
  });
  byId('map').replaceChildren(...ticks);
}

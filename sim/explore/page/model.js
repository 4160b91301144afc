'use strict';
// The model: the run as the page knows it, and what follows from it. No drawing here.
//
//   trace.events[i]   {lane, kind, what, where, order, file, line, bytes, value, old, readsFrom,
//                      staleBy, follows, user, repeats}; fields that say nothing are left out
//   trace.operations  {what, events, dull}: events that belong together, as those of a call do
//   values            hexadecimal text, since a number of JavaScript holds 53 bits only

const trace = JSON.parse(document.getElementById('trace').textContent);
const events = trace.events;

// Each kind has a short word, so that colour never stands alone.
const KINDS = {
  load: ['ld', 'load'],
  store: ['st', 'store'],
  rmw: ['rmw', 'read-modify-write'],
  fence: ['fen', 'fence'],
  barrier: ['bar', 'barrier passed'],
  mmio_store: ['mmio', 'doorbell leaves its thread'],
  doorbell: ['bell', 'doorbell arrives'],
  dma_read: ['dma r', 'NIC reads memory'],
  dma_write: ['dma w', 'NIC writes memory'],
  packet: ['pkt', 'packet'],
  wait: ['wait', 'waits'],
  note: ['note', 'note'],
  call: ['call', 'the kernel calls gdakit'],
  check: ['chk', 'checked in the end'],
};

const isEvent = (index) => Number.isInteger(index) && index >= 0 && index < events.length;
const laneOf = (index) => trace.lanes[events[index].lane];
const followsOf = (index) => (events[index].follows ?? []).filter(isEvent);
const staleBy = (index) => events[index].staleBy ?? 0;
const missing = trace.missing.filter((edge) => isEvent(edge.from) && isEvent(edge.to));

// For each event, the operation that it is a part of, or undefined.
const operations = trace.operations ?? [];
const operationOf = [];
for (const operation of operations) {
  for (const index of operation.events) operationOf[index] = operation;
}
const beginsOperation = (index) => operationOf[index]?.events[0] === index;
// Where a kernel is known, the picture is about the kernel.
const hasUser = events.some((event) => event.user);

// For each event, those that read from it, and those that took up its order.
const readers = events.map(() => []);
const followers = events.map(() => []);
events.forEach((event, index) => {
  if (isEvent(event.readsFrom)) readers[event.readsFrom].push(index);
  for (const release of followsOf(index)) followers[release].push(index);
});

// Events of one place, in order of time.
const places = new Map();
events.forEach((event, index) => {
  if (!event.where) return;
  if (!places.has(event.where)) places.set(event.where, []);
  places.get(event.where).push(index);
});

const ends = new Set(missing.flatMap((edge) => [edge.from, edge.to]));

// The read that made the later end of a missing order possible, and the store that it read: of
// what the one lane read from the other between the ends, the newest. {store, read}, or null.
function flagOf(edge) {
  const [reader, writer] = [events[edge.to].lane, events[edge.from].lane];
  const between = events.map((event, read) => ({store: event.readsFrom, read}))
    .filter(({store, read}) => read < edge.to && events[read].lane === reader && isEvent(store) &&
      store > edge.from && events[store].lane === writer);
  return between.reduce((best, next) => (best && best.store > next.store ? best : next), null);
}

// What the finding is: the ends of missing orders and their flags, and stale reads.
const core = new Set(ends);
for (const flag of missing.map(flagOf).filter(Boolean)) core.add(flag.store).add(flag.read);
events.forEach((event, index) => {
  if (staleBy(index)) core.add(index);
});

// What has to do with the finding: the ends of missing orders and their flags, stale reads and the
// stores they read, and what else touched the place of an end or is ordered with it.
const related = new Set(ends);
events.forEach((event, index) => {
  if (!staleBy(index) && event.kind !== 'check') return;
  related.add(index);
  if (isEvent(event.readsFrom)) related.add(event.readsFrom);
});
for (const flag of missing.map(flagOf).filter(Boolean)) related.add(flag.store).add(flag.read);
for (const end of ends) {
  for (const index of places.get(events[end].where) ?? []) related.add(index);
  for (const index of [...followsOf(end), ...followers[end]]) related.add(index);
}

// What a compact picture never folds away.
const LOUD_KINDS = new Set(['fence', 'mmio_store', 'doorbell', 'note']);
function isRemarkable(index) {
  if (hasUser) {
    const operation = beginsOperation(index) ? operationOf[index] : undefined;
    return core.has(index) || events[index].kind === 'note' ||
      (operation ? !operation.dull : Boolean(events[index].user) && !events[index].repeats);
  }
  return related.has(index) || LOUD_KINDS.has(events[index].kind) || followers[index].length > 0 ||
    followsOf(index).length > 0;
}

// Beside a kernel, what the protocol does is not worth a row of its own.
const FOLD_AT_LEAST = hasUser ? 1 : 3;
const decimal = (hex) => BigInt(hex).toString();

function textOf(index) {
  const event = events[index];
  const value = event.value ? `${event.value} ${decimal(event.value)}` : '';
  const file = event.file ? `${event.file}:${event.line}` : '';
  const stale = staleBy(index) ? `stale by ${staleBy(index)}` : '';
  return [`#${index}`, laneOf(index).name, event.kind, event.what, event.where, value, event.order,
    file, stale].filter(Boolean).join(' ');
}

// Lanes as columns: groups stand together, in the order in which they first appear.
function columnsOf(compact) {
  const busy = new Set(events.map((event) => event.lane));
  const groups = [...new Set(trace.lanes.map((lane) => lane.group ?? ''))];
  const shown = trace.lanes.map((lane, index) => ({...lane, group: lane.group ?? '', index}))
    .filter((lane) => !compact || busy.has(lane.index));
  return groups.flatMap((group) => shown.filter((lane) => lane.group === group));
}

// The rows to draw, from top to bottom: {event}, {event, operation} for the first of an operation,
// {fold: [events]} or {edge}, the last one standing right above the later end of a missing order.
function rowsOf(view) {
  const wanted = view.filter.toLowerCase().split(/\s+/).filter(Boolean);
  const matches = (index) => {
    const text = textOf(index).toLowerCase();
    return wanted.every((word) => text.includes(word));
  };
  const shown = events.map((_, index) => index).filter(matches);
  const folding = view.compact && wanted.length === 0;
  const rows = [];
  let quiet = [];
  const flush = () => {
    const folded = quiet.length >= FOLD_AT_LEAST && !view.opened.has(quiet[0]);
    rows.push(...(folded ? [{fold: quiet}] : quiet.map((event) => ({event}))));
    quiet = [];
  };
  for (const index of shown) {
    const operation = folding ? operationOf[index] : undefined;
    const isOpen = view.openOperations.has(operation);
    if (operation && !isOpen && !beginsOperation(index) && !core.has(index)) continue;
    if (folding && !isOpen && !isRemarkable(index)) {
      quiet.push(index);
      continue;
    }
    flush();
    for (const edge of missing) {
      if (Math.max(edge.from, edge.to) === index) rows.push({edge});
    }
    rows.push({event: index, operation: beginsOperation(index) ? operation : undefined});
  }
  flush();
  return rows;
}

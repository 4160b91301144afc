// The arrows over the picture. An arrow leaves its event sideways, runs along the track beside the
// badges of that lane, crosses over in the gap before the other event and ends at its badge.

const ROW_GAP = 3;

// The top, bottom and column of an event's box, or null if it is not drawn.
function spotOf(index, geometry) {
  const box = byId(`e${index}`);
  if (!box) return null;
  const row = box.parentElement;
  const top = byId('rows').offsetTop + row.offsetTop + box.offsetTop;
  return {...geometry.places.get(events[index].lane), top, bottom: top + box.offsetHeight};
}

// Where the badge of a box begins.
const sideOf = (spot) => (spot.leftward ? spot.right - 14 : spot.left + 14);

function addPath(kind, d, headed) {
  const path = document.createElementNS(byId('arrows').namespaceURI, 'path');
  path.setAttribute('class', kind);
  path.setAttribute('d', d);
  if (headed) path.setAttribute('marker-end', `url(#head-${kind})`);
  byId('paths').append(path);
}

function addArrow(kind, from, to, offset, geometry) {
  const a = spotOf(from, geometry);
  const b = spotOf(to, geometry);
  if (!a || !b) return;
  const down = a.top <= b.top;
  const x = a.track(offset);
  const start = (a.top + a.bottom) / 2;
  const turn = down ? b.top - ROW_GAP : b.bottom + ROW_GAP;
  const tip = down ? b.top : b.bottom;
  const target = b.badge + (offset - 6) * 4;
  addPath(kind, `M${sideOf(a)} ${start}H${x}V${turn}H${target}V${tip}`, true);
}

// The missing order: from the one end into the sentence above the later end, and on to the other.
function addMissing(edge, number, geometry) {
  const gap = document.querySelector(`.gap[data-edge="${number}"]`);
  const a = spotOf(edge.from, geometry);
  const b = spotOf(edge.to, geometry);
  if (!gap || !a || !b) return;
  const label = gap.querySelector('.sentence');
  const top = byId('rows').offsetTop + gap.offsetTop + label.offsetTop;
  const bottom = top + label.offsetHeight;
  const down = a.top <= b.top;
  const x = a.track(6);
  addPath('missing', `M${sideOf(a)} ${(a.top + a.bottom) / 2}H${x}V${down ? top : bottom}`, false);
  // The sentence stands right above the one, but may be far below the other.
  if (down) addPath('missing', `M${b.badge} ${bottom}V${b.top}`, true);
  else addPath('missing', `M${b.track(6)} ${top}V${(b.top + b.bottom) / 2}H${sideOf(b)}`, true);
}

// What the selected event is tied to: {kind, from, to}. An end of a missing order also shows the
// flag through which the other end got ahead.
function tiesOf(index) {
  if (!isEvent(index)) return [];
  const source = events[index].readsFrom;
  const flags = missing.filter((edge) => edge.from === index || edge.to === index).map(flagOf);
  return [
    ...(isEvent(source) ? [{kind: 'reads', from: source, to: index}] : []),
    ...readers[index].map((to) => ({kind: 'reads', from: index, to})),
    ...flags.filter(Boolean).map((flag) => ({kind: 'reads', from: flag.store, to: flag.read})),
    ...followsOf(index).map((from) => ({kind: 'follows', from, to: index})),
    ...followers[index].map((to) => ({kind: 'follows', from: index, to})),
  ];
}

const TIE_WORDS = {reads: ['read by', 'reads'], follows: ['ordered before', 'ordered after']};

// The words of an arrow stand at its ends, in the boxes of the events.
function addTags({kind, from, to}, index, geometry) {
  const [fromWords, toWords] = TIE_WORDS[kind];
  const add = (end, words) => {
    const item = end !== index && byId(`e${end}`)?.parentElement;
    if (!item) return;
    const place = geometry.places.get(events[end].lane);
    addMark(item, element('b', `mark tie ${kind}`, words), place, geometry.total);
  };
  add(from, `${fromWords} #${to}`);
  add(to, `${toWords} #${from}`);
}

function drawArrows(selected, geometry) {
  const svg = byId('arrows');
  for (const tag of document.querySelectorAll('.tie')) tag.remove();
  svg.setAttribute('width', geometry.total);
  svg.setAttribute('height', byId('sheet').offsetHeight);
  byId('paths').replaceChildren();
  // A list has no room for arrows beside its texts; the tags say the same.
  const hasRoom = !isNarrow();
  if (hasRoom) missing.forEach((edge, number) => addMissing(edge, number, geometry));
  for (const tie of tiesOf(selected)) {
    if (hasRoom) addArrow(tie.kind, tie.from, tie.to, tie.kind === 'reads' ? 10 : 2, geometry);
    addTags(tie, selected, geometry);
  }
}

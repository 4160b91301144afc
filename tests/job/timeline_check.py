#!/usr/bin/env python3
"""Checks a timeline that `gdakit run --trace` wrote against the trace event format and the job.

Usage: timeline_check.py FILE [--counters FILE] [--lane TEXT]... [--unfinished]

Reads the timeline and, where it is given, what `gdakit run --counters FILE.json` wrote of the same
job. Prints what is wrong, a line each, and ends with 1 if anything is. --lane: each process must
have a lane of this name, for each other PE where the name has %PE in place of its number.
--unfinished: spans may lack their end, as those of a PE that was killed, and arrows.
"""
import argparse
import collections
import json
import re
import sys

PHASES = {"X", "i", "s", "f", "M"}


def ns(microseconds):
    return round(microseconds * 1000)


class Span:
    def __init__(self, event):
        self.event = event
        self.begin = ns(event["ts"])
        self.end = self.begin + ns(event["dur"])
        self.lane = (event["pid"], event["tid"])

    def around(self, at):
        return self.begin <= at <= self.end


class Timeline:
    def __init__(self, document):
        self.events = document["traceEvents"]
        self.about = document["otherData"]
        self.processes, self.lanes = {}, {}
        self.spans = collections.defaultdict(list)
        self.instants = collections.Counter()
        self.arrows = collections.defaultdict(dict)
        self.told, self.wrong = {}, []

    def expect(self, holds, sentence):
        if not holds:
            self.wrong.append(sentence)

    def read(self):
        for event in self.events:
            self.expect(event["ph"] in PHASES, f"no phase of ours: {event}")
            if event["ph"] == "M":
                self.read_name(event)
            else:
                self.read_event(event)

    def read_name(self, event):
        if event["name"] == "process_name":
            self.expect(event["pid"] not in self.processes, f"a process has two names: {event}")
            self.processes[event["pid"]] = event["args"]["name"]
        elif event["name"] == "thread_name":
            self.expect(event["tid"] not in {tid for _, tid in self.lanes}, f"two lanes: {event}")
            self.lanes[event["pid"], event["tid"]] = event["args"]["name"]

    def read_event(self, event):
        self.expect(event["ts"] >= 0 and event["name"], f"no time or no name: {event}")
        self.expect((event["pid"], event["tid"]) in self.lanes, f"a lane without a name: {event}")
        if event["ph"] == "X":
            self.expect(event["dur"] >= 0, f"ends before it begins: {event}")
            self.spans[event["pid"], event["tid"]].append(Span(event))
        elif event["ph"] == "i":
            self.instants[event["pid"], event["cat"], event["name"].split()[0]] += 1
            self.instants[event["pid"], event["cat"]] += 1
        else:
            self.expect(event["ph"] not in self.arrows[event["id"]], f"two ends: {event}")
            self.arrows[event["id"]][event["ph"]] = event

    def of_category(self, category, pid=None):
        return [span for spans in self.spans.values() for span in spans
                if span.event["cat"] == category and pid in (None, span.event["pid"])]

    # Spans of a lane lie one in the other, or apart.
    def check_nesting(self):
        for lane, spans in self.spans.items():
            around = []
            for span in sorted(spans, key=lambda one: (one.begin, -one.end)):
                while around and around[-1].end <= span.begin:
                    around.pop()
                self.expect(not around or span.end <= around[-1].end,
                            f"overlap in {self.lanes[lane]}: {span.event}")
                around.append(span)

    def span_at(self, event, category):
        lane, at = (event["pid"], event["tid"]), ns(event["ts"])
        found = [span for span in self.spans[lane] if span.begin == at]
        self.expect(found and found[0].event["cat"] == category,
                    f"an arrow hangs at no {category}: {event}")
        return found[0] if found else None

    # The last WQE of a span's queue that ended with a CQE.
    def last_told(self, span):
        if not self.told:
            for other in self.of_category("wqe"):
                arguments = other.event["args"]
                key = other.event["pid"], arguments["qp"]
                if arguments["end"] != "without a CQE":
                    self.told[key] = max(self.told.get(key, -1), arguments["wqe"])
        return self.told.get((span.event["pid"], span.event["args"]["qp"]), -1)

    # Each from a WQE to the CQE of its queue that tells of it.
    def check_arrows(self, unfinished):
        told, tells = set(), set()
        for ends in self.arrows.values():
            self.expect(set(ends) == {"s", "f"}, f"half an arrow: {ends}")
            if set(ends) != {"s", "f"}:
                continue
            wqe, cqe = self.span_at(ends["s"], "wqe"), self.span_at(ends["f"], "cqe")
            if wqe is None or cqe is None:
                continue
            self.expect(ends["f"]["bp"] == "e" and wqe.begin <= cqe.begin, f"backwards: {ends}")
            self.expect(id(wqe) not in told, f"two arrows from one WQE: {ends}")
            told.add(id(wqe))
            tells.add(id(cqe))
            queue = re.sub(r" \(\d+\)$", "", self.lanes[wqe.lane])
            self.expect(queue == cqe.event["args"]["queue"], f"to another queue's CQE: {ends}")
            ahead = (cqe.event["args"]["wqe"] - wqe.event["args"]["wqe"]) & 0xffff
            self.expect(ahead < 1 << 15, f"to an earlier WQE's CQE: {ends}")
            self.expect(cqe.begin <= wqe.end or ahead > 0, f"its CQE comes after its end: {ends}")
        for span in self.of_category("wqe"):
            if not unfinished and (span.event["args"]["end"] != "without a CQE" or
                                   span.event["args"]["wqe"] < self.last_told(span)):
                self.expect(id(span) in told, f"no arrow: {span.event}")
        for span in self.of_category("cqe"):
            if span.event["name"] != "CQE of a receive" and not unfinished:
                self.expect(id(span) in tells, f"a CQE of no WQE: {span.event}")

    def check_lanes(self, wanted):
        numbers = {pid: name.split()[1] for pid, name in self.processes.items()}
        for pid in self.processes:
            names = {name for (of, _), name in self.lanes.items() if of == pid}
            for text in wanted:
                others = [number for other, number in numbers.items() if other != pid]
                for other in others if "%PE" in text else [""]:
                    name = text.replace("%PE", other)
                    self.expect(name in names, f"{self.processes[pid]} has no lane {name}")

    # A NIC counts what it shows.
    def check_counters(self, pes):
        self.expect(len(pes) == len(self.processes), f"{len(self.processes)} PEs of {len(pes)}")
        for pe in pes:
            pid, nic = pe["pe"] + 1, pe["nic"]
            wqes, cqes = self.of_category("wqe", pid), self.of_category("cqe", pid)
            for what, shown, counted in (
                    ("WQEs", len(wqes), nic["completed_wqes"]), ("CQEs", len(cqes), nic["cqes"]),
                    ("doorbells", self.instants[pid, "nic", "doorbell"], nic["doorbells"]),
                    ("sent", self.instants[pid, "sent"], nic["packets_sent"])):
                self.expect(shown == counted and shown > 0,
                            f"PE {pe['pe']}: {shown} {what} shown, {counted} counted")

    def check_ends(self):
        for span in (span for spans in self.spans.values() for span in spans):
            end = span.event.get("args", {}).get("end")
            self.expect(end not in ("not ended", "lost", "the part ends here"),
                        f"{end}: {span.event}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("file")
    parser.add_argument("--counters")
    parser.add_argument("--lane", action="append", default=[])
    parser.add_argument("--unfinished", action="store_true")
    arguments = parser.parse_args()
    with open(arguments.file, encoding="utf-8") as file:
        timeline = Timeline(json.load(file))
    timeline.read()
    timeline.expect(timeline.about["lost_events"] == 0, f"lost: {timeline.about}")
    timeline.expect(timeline.about["cut_parts"] == 0, f"cut: {timeline.about}")
    timeline.check_nesting()
    timeline.check_arrows(arguments.unfinished)
    timeline.check_lanes(arguments.lane)
    if not arguments.unfinished:
        timeline.check_ends()
    if arguments.counters:
        with open(arguments.counters, encoding="utf-8") as file:
            timeline.check_counters(json.load(file)["pes"])
    print("\n".join(timeline.wrong[:20]) or f"{len(timeline.events)} events are right")
    return 1 if timeline.wrong else 0


if __name__ == "__main__":
    sys.exit(main())

"""Whether there is a way in which an id's history can have come about; see scripts/history.py for what a history is."""

import collections

from history import (
    ABSENT,
    CONDITION,
    DOUBLED,
    HORIZON_SECONDS,
    LOST,
    REFUSED,
    RESURRECTED,
    RETRACTED,
    STALE,
    TORN,
    UNDECIDED,
    UNSURE,
    Condition,
    Read,
    Violation,
    Write,
)

# More ways than this at once are not followed; the id is then reported as undecided.
MAXIMUM_WAYS = 5000


def violations_of(place, start=0.0):
    """The violations of an id's history."""
    search = Search(place)
    search.run()
    found = place.violations + search.violations
    return [Violation(kind, f"{place.id}: {text}", place.history(time, start)) for kind, text, time in found]


# One way in which an id may have got where it is: its state, the writes under way that have been made, and the reads under
# way that have seen what they tell.
Way = collections.namedtuple("Way", "state made seen")


class Search:
    """Follows all the ways in which an id's writes and reads may have come about (Lowe's "just-in-time" linearization):
    when an operation ends, each way in which it has not taken place yet is continued by writes under way up to it, and
    ways in which it can't have are given up. When none is left, the history is wrong."""

    def __init__(self, place):
        self.place = place
        self.violations = []
        self.ways = {Way(ABSENT, frozenset(), frozenset())}
        self.writes = set()
        self.reads = set()
        # The writes that were made or may have been, by the state they leave.
        self.by_outcome = {write.token: write for write in place.writes if write.token}
        self.past = set()

    def run(self):
        for time, is_end, operation in self.events():
            if isinstance(operation, Write):
                self.writes.add(operation) if not is_end else self.end_write(operation, time)
            elif is_end:
                self.end_read(operation, time)
            else:
                self.reads.add(operation)
                self.ways = {self.looking(way) for way in self.ways}
            if len(self.ways) > MAXIMUM_WAYS:
                self.violations.append((UNDECIDED, f"more than {MAXIMUM_WAYS} ways", time))
                return

    def events(self):
        events = []
        number = 0

        def add(operation, begin, end):
            nonlocal number
            number += 1
            events.append((begin, False, number, operation))
            if end is not None:
                events.append((end, True, number, operation))

        for write in self.place.writes:
            if write.result in ("missing", "failed"):
                add(Condition(write), write.sent, write.answered)
            elif write.result == "made":
                add(write, write.sent, write.answered)
            elif write.result == "unknown":
                add(write, write.sent, write.answered and write.answered + HORIZON_SECONDS)
        for read in self.place.reads:
            add(read, read.sent, read.answered)
        # What begins at the very time at which another ends is taken to be at the same time.
        events.sort(key=lambda event: event[:3])
        return [(time, is_end, operation) for time, is_end, _, operation in events]

    def looking(self, way):
        seen = [read for read in self.reads if read not in way.seen and read.admits(way.state)]
        return way._replace(seen=way.seen.union(seen)) if seen else way

    def continued(self, way, is_enough):
        """The ways that continue one by writes under way, each up to where it is enough."""
        found = set()
        known = {way}
        open_ways = [way]
        while open_ways and len(known) <= MAXIMUM_WAYS:
            last = open_ways.pop()
            for write in self.writes - last.made:
                state = write.effect(last.state)
                if state is None:
                    continue
                next_way = self.looking(Way(state, last.made | {write}, last.seen))
                if next_way in known:
                    continue
                known.add(next_way)
                if is_enough(next_way):
                    found.add(next_way)
                else:
                    open_ways.append(next_way)
        return found

    def end_read(self, read, time):
        kept = set()
        for way in self.ways:
            if read in way.seen:
                kept.add(way)
            else:
                kept |= self.continued(way, lambda next_way: read in next_way.seen)
        if not kept:
            self.blame_read(read, time)
            # Either it is wrong, or what was known before: what comes next tells.
            kept = {way._replace(seen=frozenset(self.reads)) for way in self.ways}
            state = read.value if type(read) is Read and read.region is None else UNSURE
            kept |= {way._replace(state=state) for way in kept}
        if type(read) is Read and read.region is None:
            kept = {way._replace(state=read.value) if way.state == UNSURE else way for way in kept}
        self.reads.discard(read)
        self.ways = {way._replace(seen=way.seen - {read}) for way in kept}

    def end_write(self, write, time):
        kept = set()
        for way in self.ways:
            if write in way.made:
                kept.add(way)
                continue
            if write.result == "unknown":
                kept.add(way)
            kept |= self.continued(way, lambda next_way: write in next_way.made)
        if not kept:
            self.blame_write(write, time)
            kept = {Way(write.outcome, frozenset(self.writes), frozenset(self.reads))}
        self.writes.discard(write)
        self.past.add(write)
        self.ways = {way._replace(made=way.made - {write}) for way in kept}

    # What is wrong.

    def all_states(self):
        """The states that the ways so far allow, what is still under way left aside."""
        return {way.state for way in self.ways}

    def states(self):
        return " or ".join(sorted(str(state) for state in self.all_states()))

    def blame_write(self, write, time):
        expected = self.all_states()
        kind = CONDITION
        if write.kind == "create" or write.created:
            kind = LOST
        elif expected == {ABSENT}:
            since = max((each.answered for each in self.past if each.kind == "delete"), default=0)
            repeats = [repeat for each in self.past for repeat in each.repeats]
            kind = DOUBLED if any(since < repeat < write.answered for repeat in repeats) else RESURRECTED
        text = f"{write.kind} {write.token or ''} was answered with {write.note}, but the place was {self.states()}"
        self.violations.append((kind, text, time))

    def blame_read(self, read, time):
        expected = self.all_states()
        if isinstance(read, Condition):
            write = read.write
            kind = self.kind_of(read, expected)
            if write.result == "failed":
                kind = REFUSED if self.follows_refusal(read) else CONDITION
            text = f"{write.kind} {write.token or ''} was answered with {write.note}, but the place was {self.states()}"
            self.violations.append((kind, text, time))
            return
        told = f"{read.value} was read" if read.region is None else f"the place was missing in {read.region}"
        self.violations.append((self.kind_of(read, expected), f"{told}, expected {self.states()} [{read.label}]", time))

    def kind_of(self, read, expected):
        value = read.value if read.region is None else self.next_value(read)
        if value in expected:
            return STALE
        write = self.by_outcome.get(value)
        if value not in (None, ABSENT) and write is None:
            return TORN
        if write is not None and write.result == "refused":
            return REFUSED
        if self.follows_refusal(read) and not self.is_seen_later(read, expected):
            return REFUSED
        if write in self.past and any(time < read.answered for time in write.repeats):
            return DOUBLED
        if self.only_unacknowledged(expected):
            return RETRACTED
        if self.is_seen_later(read, expected):
            return STALE
        return RESURRECTED if expected == {ABSENT} else LOST

    def next_value(self, read):
        """What the first read after one tells of the state; None where there is none."""
        later = [other for other in self.place.reads if other.region is None and other.sent > read.answered]
        return min(later, key=lambda other: other.sent).value if later else None

    def follows_refusal(self, read):
        """Whether a write that was answered as not made would explain what is read."""
        return any(
            write.result == "refused" and (isinstance(read, Condition) or read.admits(write.outcome))
            for write in self.place.writes
            if read.answered - 2 * HORIZON_SECONDS < write.sent < read.answered
        )

    def only_unacknowledged(self, expected):
        writes = [self.by_outcome.get(state) for state in expected if state != ABSENT]
        return bool(writes) and all(write is not None and write.result == "unknown" for write in writes)

    def is_seen_later(self, read, expected):
        """Whether a later read shows what this one should have."""
        return any(
            other.sent > read.answered and other.region is None and other.value in expected for other in self.place.reads
        )

"""The linearizability checker for the history of one id, which history.py defines."""

import collections

from history import (
    ABSENT,
    ANY_STATE,
    DIRTY_READ,
    DUPLICATED,
    LOST,
    MAXIMUM_DELAY_SECONDS,
    REJECTED_BUT_APPLIED,
    RESURRECTED,
    STALE,
    UNDECIDED,
    WRONG_CONDITION,
    WRONG_CONTENT,
    Condition,
    Read,
    Violation,
    Write,
)

# The search stops beyond this number, and the id is reported as undecided.
MAXIMUM_CONFIGURATIONS = 5000


def violations_of(place, start=0.0):
    """Returns the violations in the history of an id."""
    search = Search(place)
    search.run()
    found = place.violations + search.violations
    return [Violation(kind, f"{place.id}: {text}", place.history(time, start)) for kind, text, time in found]


# A partial linearization: the state, and those writes and reads in progress that were applied or satisfied.
Configuration = collections.namedtuple("Configuration", "state applied satisfied")


class Search:
    """A search over all linearizations of an id's operations (Lowe, "Testing for linearizability": just-in-time
    linearization). When an operation completes, each configuration without it is extended by writes in progress until it
    contains the operation, or dropped if that is impossible. A history without a remaining configuration is a violation."""

    def __init__(self, place):
        self.place = place
        self.violations = []
        self.configurations = {Configuration(ABSENT, frozenset(), frozenset())}
        self.writes = set()
        self.reads = set()
        # All writes, by the state that they leave.
        self.by_outcome = {write.token: write for write in place.writes if write.token}
        self.completed = set()

    def run(self):
        for time, is_end, operation in self.events():
            if isinstance(operation, Write):
                self.writes.add(operation) if not is_end else self.end_write(operation, time)
            elif is_end:
                self.end_read(operation, time)
            else:
                self.reads.add(operation)
                self.configurations = {self.with_satisfied_reads(each) for each in self.configurations}
            if len(self.configurations) > MAXIMUM_CONFIGURATIONS:
                self.violations.append((UNDECIDED, f"more than {MAXIMUM_CONFIGURATIONS} configurations", time))
                return

    def events(self):
        """Returns the begin and end of each operation, in order."""
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
                add(Condition(write), write.sent, write.completed)
            elif write.result == "applied":
                add(write, write.sent, write.completed)
            elif write.result == "unknown":
                add(write, write.sent, write.completed and write.completed + MAXIMUM_DELAY_SECONDS)
        for read in self.place.reads:
            add(read, read.sent, read.completed)
        # Begins sort before ends, so that operations which only touch are concurrent.
        events.sort(key=lambda event: event[:3])
        return [(time, is_end, operation) for time, is_end, _, operation in events]

    def with_satisfied_reads(self, configuration):
        """Returns the configuration with the reads in progress that its state satisfies."""
        reads = [read for read in self.reads if read not in configuration.satisfied and read.admits(configuration.state)]
        return configuration._replace(satisfied=configuration.satisfied.union(reads)) if reads else configuration

    def extensions(self, configuration, is_complete):
        """Returns the extensions of a configuration by writes in progress, each up to the first complete one."""
        found = set()
        known = {configuration}
        incomplete = [configuration]
        while incomplete and len(known) <= MAXIMUM_CONFIGURATIONS:
            last = incomplete.pop()
            for write in self.writes - last.applied:
                state = write.effect(last.state)
                if state is None:
                    continue
                extension = self.with_satisfied_reads(Configuration(state, last.applied | {write}, last.satisfied))
                if extension in known:
                    continue
                known.add(extension)
                if is_complete(extension):
                    found.add(extension)
                else:
                    incomplete.append(extension)
        return found

    def end_read(self, read, time):
        kept = set()
        for each in self.configurations:
            if read in each.satisfied:
                kept.add(each)
            else:
                kept |= self.extensions(each, lambda extension: read in extension.satisfied)
        if not kept:
            self.report_read(read, time)
            # Either the read or the previous state is wrong; the search continues with both.
            kept = {each._replace(satisfied=frozenset(self.reads)) for each in self.configurations}
            state = read.value if type(read) is Read and read.region is None else ANY_STATE
            kept |= {each._replace(state=state) for each in kept}
        if type(read) is Read and read.region is None:
            kept = {each._replace(state=read.value) if each.state == ANY_STATE else each for each in kept}
        self.reads.discard(read)
        self.configurations = {each._replace(satisfied=each.satisfied - {read}) for each in kept}

    def end_write(self, write, time):
        kept = set()
        for each in self.configurations:
            if write in each.applied:
                kept.add(each)
                continue
            if write.result == "unknown":
                kept.add(each)
            kept |= self.extensions(each, lambda extension: write in extension.applied)
        if not kept:
            self.report_write(write, time)
            kept = {Configuration(write.outcome, frozenset(self.writes), frozenset(self.reads))}
        self.writes.discard(write)
        self.completed.add(write)
        self.configurations = {each._replace(applied=each.applied - {write}) for each in kept}

    # Classification of violations.

    def possible_states(self):
        """Returns the states of all configurations, without extending them by writes in progress."""
        return {each.state for each in self.configurations}

    def states_text(self):
        return " or ".join(sorted(str(state) for state in self.possible_states()))

    def report_write(self, write, time):
        expected = self.possible_states()
        kind = WRONG_CONDITION
        if write.kind == "create" or write.created:
            kind = LOST
        elif expected == {ABSENT}:
            since = max((each.completed for each in self.completed if each.kind == "delete"), default=0)
            repeats = [repeat for each in self.completed for repeat in each.repeats]
            kind = DUPLICATED if any(since < repeat < write.completed for repeat in repeats) else RESURRECTED
        text = f"{write.kind} {write.token or ''} returned {write.response}, but the place was {self.states_text()}"
        self.violations.append((kind, text, time))

    def report_read(self, read, time):
        expected = self.possible_states()
        if isinstance(read, Condition):
            write = read.write
            kind = self.kind_of(read, expected)
            if write.result == "failed":
                kind = REJECTED_BUT_APPLIED if self.follows_rejection(read) else WRONG_CONDITION
            text = f"{write.kind} {write.token or ''} returned {write.response}, but the place was {self.states_text()}"
            self.violations.append((kind, text, time))
            return
        observed = f"{read.value} was read" if read.region is None else f"the place was missing in {read.region}"
        text = f"{observed}, expected {self.states_text()} [{read.label}]"
        self.violations.append((self.kind_of(read, expected), text, time))

    def kind_of(self, read, expected):
        value = read.value if read.region is None else self.next_value(read)
        if value in expected:
            return STALE
        write = self.by_outcome.get(value)
        if value not in (None, ABSENT) and write is None:
            return WRONG_CONTENT
        if write is not None and write.result == "rejected":
            return REJECTED_BUT_APPLIED
        if self.follows_rejection(read) and not self.is_seen_later(read, expected):
            return REJECTED_BUT_APPLIED
        if write in self.completed and any(time < read.completed for time in write.repeats):
            return DUPLICATED
        if self.has_only_unknown_writes(expected):
            return DIRTY_READ
        if self.is_seen_later(read, expected):
            return STALE
        return RESURRECTED if expected == {ABSENT} else LOST

    def next_value(self, read):
        """Returns the value of the first read by id after the given one; None if there is none."""
        later = [other for other in self.place.reads if other.region is None and other.sent > read.completed]
        return min(later, key=lambda other: other.sent).value if later else None

    def follows_rejection(self, read):
        """Returns True if an earlier rejected write would explain the read."""
        return any(
            write.result == "rejected" and (isinstance(read, Condition) or read.admits(write.outcome))
            for write in self.place.writes
            if read.completed - 2 * MAXIMUM_DELAY_SECONDS < write.sent < read.completed
        )

    def has_only_unknown_writes(self, expected):
        writes = [self.by_outcome.get(state) for state in expected if state != ABSENT]
        return bool(writes) and all(write is not None and write.result == "unknown" for write in writes)

    def is_seen_later(self, read, expected):
        """Returns True if a later read returns an expected state."""
        return any(
            other.sent > read.completed and other.region is None and other.value in expected for other in self.place.reads
        )

"""The record of writes of scripts/faults consistency, and the checker of reads.

A lane is a set of places with one writer, which commits one change after another. The commits of a lane are numbered. A
place has the number of the commit that wrote it in its name and tags, so a response shows which commit it is from. A read
that began when `low` was the last acknowledged commit, and ended when `high` was the last commit begun, must show the state
after some commit from `low` to `high`: of one place, and of all places of the lane in a list together.
"""

import collections
import time

STALE, MISSING, RESURRECTED, WRONG = "stale", "missing", "resurrected", "wrong"
KINDS = (STALE, MISSING, RESURRECTED, WRONG)
# The number of history entries of a place that are kept, far more than are committed during a request.
KEPT_ENTRIES = 2000
# The time for which the acknowledged commits of the past are kept.
KEPT_SECONDS = 90.0


class Slot:
    """A place, or its absence. Places with an id from the server have a new slot for each creation."""

    __slots__ = ("lane", "number", "id", "lat", "long", "history")

    def __init__(self, lane, number, id, lat, long):
        self.lane = lane
        self.number = number
        # None until the server has responded with the id.
        self.id = id
        self.lat = lat
        self.long = long
        # The commits that changed the place, ascending, each with its value: the commit, or None for absence.
        self.history = [(0, None)]

    @property
    def value(self):
        """The value after the last commit."""
        return self.history[-1][1]

    def ranges(self, value, low, high):
        """Returns the ranges of commits within the given one after which the slot has the value, descending."""
        found = []
        end = high
        for commit, present in reversed(self.history):
            if commit > end:
                continue
            if present == value:
                found.append((max(commit, low), end))
            if commit <= low:
                break
            end = commit - 1
        return found

    def values(self, low, high):
        """Returns the values that the slot has after the commits of a range."""
        found = set()
        for commit, present in reversed(self.history):
            if commit <= high:
                found.add(present)
                if commit <= low:
                    break
        return found

    def kind_of(self, value, low, high):
        """Returns the kind of violation of a value that is not possible in a range of commits."""
        if value is None:
            return MISSING
        if value in self.lane.burnt or value > high or not any(commit == value for commit, _ in self.history):
            return WRONG
        return RESURRECTED if self.values(low, high) == {None} else STALE


class Lane:
    """Places with one writer, and the commits of it."""

    def __init__(self, number, index):
        self.number = number
        # The index in the ledger's list of lanes.
        self.index = index
        self.slots = {}
        # The last commit that every read which begins now must contain.
        self.low = 0
        # The last commit that was begun.
        self.high = 0
        # The last number that was given to a commit.
        self.last = 0
        # The numbers of commits that were rolled back or rejected.
        self.burnt = set()
        # The numbers of changes that consist of several transactions.
        self.partial = set()
        # The changes of commits in progress, by number.
        self.pending = {}

    def add(self, number, id, lat, long):
        slot = self.slots[number] = Slot(self, number, id, lat, long)
        return slot

    def reserve(self):
        """Returns the number of the next commit."""
        self.last += 1
        return self.last

    def burn(self):
        """Returns a number for content that is rolled back."""
        number = self.reserve()
        self.burnt.add(number)
        return number

    def begin(self, commit, changes, is_atomic=True):
        """Notes that a commit may take effect from now on. The changes are True for places that exist after it."""
        for slot, is_present in changes.items():
            slot.history.append((commit, commit if is_present else None))
            if len(slot.history) > KEPT_ENTRIES:
                del slot.history[: KEPT_ENTRIES // 2]
        if not is_atomic:
            self.partial.add(commit)
        self.pending[commit] = changes
        self.high = commit

    def acknowledge(self, commit):
        """Notes that a commit has taken effect."""
        del self.pending[commit]
        self.low = max(self.low, commit)

    def withdraw(self, commit, slots):
        """Removes changes that a commit did not make."""
        for slot in slots:
            slot.history = [entry for entry in slot.history if entry[0] != commit]

    def see(self, commit):
        """Notes that a read has returned the state after a commit: later reads must contain it too."""
        if commit > self.low and not (commit in self.partial and commit in self.pending):
            self.low = commit


class Ledger:
    """The lanes, and the reads that were checked."""

    def __init__(self, sees=True):
        self.lanes = []
        self.by_number = {}
        # True if a read must contain what an earlier read has returned, as in strict mode.
        self.sees = sees
        self.counts = collections.Counter()
        self.checked = collections.Counter()
        self.writes = collections.Counter()
        self.errors = collections.Counter()
        self.violations = []
        # Recently changed slots.
        self.recent = collections.deque(maxlen=64)
        # The acknowledged commits of all lanes, by time.
        self.past = collections.deque()
        self.now = time.monotonic

    @property
    def reads(self):
        return sum(self.checked.values())

    def add_lane(self, number):
        lane = self.by_number[number] = Lane(number, len(self.lanes))
        self.lanes.append(lane)
        return lane

    def lows(self):
        return [lane.low for lane in self.lanes]

    def sample(self):
        """Keeps the acknowledged commits of this moment."""
        now = self.now()
        self.past.append((now, self.lows()))
        while self.past[0][0] < now - KEPT_SECONDS:
            self.past.popleft()

    def lows_at(self, moment):
        """Returns the acknowledged commits of a moment in the past, or of one shortly before it."""
        for sampled, lows in reversed(self.past):
            if sampled <= moment:
                return lows
        return [0] * len(self.lanes)

    def report(self, kind, text):
        self.counts[kind] += 1
        self.violations.append((kind, text))

    def reject(self, lane, commit):
        """Notes that a commit did not take effect and will not."""
        changes = lane.pending.pop(commit)
        lane.withdraw(commit, changes)
        lane.burnt.add(commit)
        if lane.low >= commit:
            self.report(WRONG, f"commit {commit} of lane {lane.number} was read, but was not made")

    def settle(self, lane, commit, values):
        """Notes the effect of a commit of unknown outcome, from the values of its slots in the database."""
        changes = lane.pending[commit]
        made = [slot for slot, is_present in changes.items() if values.get(slot) == (commit if is_present else None)]
        others = [slot for slot in changes if slot not in made]
        # A deletion of places that are absent anyway tells nothing.
        evident = [slot for slot in made if slot.history[-2][1] is not None or values.get(slot) is not None]
        if not evident:
            self.reject(lane, commit) if others else lane.acknowledge(commit)
            return
        if others and commit not in lane.partial:
            self.report(WRONG, f"commit {commit} of lane {lane.number} was made for {len(made)} of {len(changes)} places")
        lane.withdraw(commit, others)
        lane.acknowledge(commit)

    # Reads.

    def check_place(self, slot, value, low, label):
        """Checks a read of one place that ends now, and began when the given commit was the last acknowledged one."""
        lane = slot.lane
        ranges = slot.ranges(value, low, lane.high)
        if not ranges:
            kind = slot.kind_of(value, low, lane.high)
            expected = sorted(slot.values(low, lane.high), key=str)
            self.report(
                kind, f"{label}: place {lane.number}.{slot.number} has {value}, expected {expected}, "
                f"commits {low} to {lane.high}, {self.context(slot)}")
        elif self.sees:
            lane.see(ranges[-1][0])

    def check_list(self, lane, slots, values, low, label):
        """Checks a list that ends now. The values are the commits of the places that it has, by their numbers."""
        high = lane.high
        possible = [(low, high)]
        for slot in slots:
            value = values.get(slot.number)
            if len(slot.history) > 1 and low >= slot.history[-1][0] and slot.history[-1][1] == value:
                continue
            ranges = slot.ranges(value, low, high)
            if not ranges:
                self.report(
                    slot.kind_of(value, low, high),
                    f"{label}: place {lane.number}.{slot.number} has {value} in a list of {len(values)}, expected "
                    f"{sorted(slot.values(low, high), key=str)}, commits {low} to {high}, {self.context(slot)}")
                return
            if possible and ranges != [(low, high)]:
                possible = [
                    (max(first, other), min(last, end))
                    for first, last in possible
                    for other, end in ranges
                    if max(first, other) <= min(last, end)
                ]
        if not possible and not any(low < commit <= high for commit in lane.partial):
            self.report(WRONG, f"{label}: a list of lane {lane.number} is of no moment, commits {low} to {high}: {values}")
        elif possible and self.sees:
            lane.see(min(first for first, _ in possible))

    def context(self, slot):
        return f"at {self.now():.3f}, history {slot.history[-6:]}, pending {sorted(slot.lane.pending)}"

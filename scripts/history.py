"""The model that scripts/chaos holds responses against: one linearizable register for each place.

The history of an id is a set of writes and reads, each with an interval from when it was sent to when it was answered.
The history is right if each write and each read can be given one moment within its interval so that every read sees the
last write before it. What each response says of its write, and when it may take effect, is in docs/consistency.md.
Times are parameters, so that histories can be made up: scripts/history_test.py does.
"""

import collections
import math

# The state of an id without a place. Every other state is the token of the write that left it.
ABSENT = "absent"
# Any state: what is assumed after a violation, so that it is reported once.
UNSURE = "unsure"
# How long after its end a write of unknown outcome may take effect. Longer than any fault holds a request back.
HORIZON_SECONDS = 30.0

LOST, STALE, DOUBLED, RESURRECTED = "lost", "stale", "doubled", "resurrected"
REPEATED, REFUSED, RETRACTED = "repeated version", "refused but made", "seen and taken back"
CONDITION, TORN, UNDECIDED = "wrong condition", "wrong content", "undecided"
UNEXPECTED = "unexpected response"
KINDS = (LOST, STALE, DOUBLED, RESURRECTED, REPEATED, REFUSED, RETRACTED, CONDITION, TORN, UNEXPECTED, UNDECIDED)

Violation = collections.namedtuple("Violation", "kind text history")


class Write:
    """A request that may leave an id in one new state: its token, or ABSENT."""

    __slots__ = (
        "place", "kind", "token", "condition", "sent", "answered", "result", "created", "version", "floor", "repeats", "label",
        "note",
    )  # fmt: skip

    def __init__(self, kind, token, condition, sent, label=""):
        self.place = None
        # "create", "put", "import", "patch" or "delete".
        self.kind = kind
        self.token = token
        # None, ABSENT, or the token that the place must be at.
        self.condition = condition
        self.sent = sent
        self.answered = None
        # "made", "missing" and "failed" (404 and 412), "refused" (not made, and never will be) or "unknown".
        self.result = "unknown"
        # Whether the response says that there was no place before; None where it does not say.
        self.created = None
        self.version = None
        # The greatest version known of when it was sent.
        self.floor = 0
        # When its request was repeated by its key after it had been answered.
        self.repeats = []
        self.label = label
        self.note = ""

    @property
    def outcome(self):
        """The state that it leaves."""
        return self.token or ABSENT

    def effect(self, state):
        """Returns the state after the write, or None where it can't have been made in this one."""
        if state == UNSURE:
            return self.outcome
        if self.kind in ("patch", "delete") and state == ABSENT or self.kind == "create" and state != ABSENT:
            return None
        if self.condition is not None and self.condition != state:
            return None
        if self.created is not None and self.created != (state == ABSENT):
            return None
        return self.outcome

    def is_pending_after(self, time):
        """Whether it may take effect after a time at which it has been answered."""
        return self.result == "unknown" and time <= self.answered + HORIZON_SECONDS

    def describe(self, start):
        condition = {None: "", ABSENT: " if absent"}.get(self.condition, f" if at {self.condition}")
        answered = f"{self.answered - start:9.3f}" if self.answered else "     none"
        version = f" version {self.version}" if self.version else ""
        repeats = "".join(f", repeated at {time - start:.3f}" for time in self.repeats)
        what = f"{self.kind} {self.token or ''}".strip()
        result = f"{self.result}{version} [{self.label} {self.note}]{repeats}"
        return f"{self.sent - start:9.3f} {answered}  {what}{condition}: {result}"


class Read:
    """A response that tells the state of an id, or, with a region, that no place of the id is within it."""

    __slots__ = ("place", "sent", "answered", "value", "region", "label")

    def __init__(self, place, sent, answered, value, region, label):
        self.place = place
        self.sent = sent
        self.answered = answered
        self.value = value
        self.region = region
        self.label = label

    def admits(self, state):
        if state == UNSURE:
            return True
        if self.region is None:
            return state == self.value
        return state == ABSENT or not self.region.surely_contains(self.place.id, state)

    def describe(self, start):
        what = f"reads {self.value}" if self.region is None else f"not in {self.region}"
        return f"{self.sent - start:9.3f} {self.answered - start:9.3f}  {what} [{self.label}]"


class Condition(Read):
    """A response of 404 or 412 to a write: what it says of the state."""

    __slots__ = ("write",)

    def __init__(self, write):
        super().__init__(write.place, write.sent, write.answered, ABSENT, None, write.label)
        self.write = write

    def admits(self, state):
        if state == UNSURE:
            return True
        if self.write.result == "missing":
            return state == ABSENT
        return state != self.write.condition

    def describe(self, start):
        return self.write.describe(start)


class Place:
    """What is known of one id."""

    def __init__(self, id):
        self.id = id
        self.writes = []
        self.reads = []
        self.violations = []
        # The tokens that each version, and so each entity tag, was seen with.
        self.tokens = {}
        self.top = 0
        # Writes under way, and whether there was more than one at a time since there was none.
        self.open = 0
        self.is_contended = False
        # When a write last began or ended.
        self.touched = -math.inf
        # The state since when nothing can have changed it; None while something may.
        self.steady = None
        self.steady_since = 0.0
        # Writes of unknown outcome that may still take effect.
        self.pending = []

    # Recording.

    def begin(self, write):
        write.place = self
        write.floor = self.top
        self.writes.append(write)
        self.is_contended = self.open > 0
        self.open += 1
        self.touched = write.sent
        self.steady = None
        return write

    def end(self, write, result, time):
        write.result = result
        write.answered = time
        self.open -= 1
        self.touched = time
        if result == "unknown":
            self.pending.append(write)
        if result == "made":
            # The token that a pending write asks for was there before, and tokens never come back.
            self.pending = [each for each in self.pending if each.condition in (None, ABSENT)]
            if not self.is_contended:
                self.settle(write.outcome, time)

    def is_open(self, time):
        """Whether the state may change although nothing more is sent."""
        self.pending = [write for write in self.pending if write.is_pending_after(time)]
        return bool(self.open or self.pending)

    def settle(self, state, time):
        if not self.is_open(time):
            self.steady = state
            self.steady_since = time

    def observe(self, value, region, sent, answered, label):
        """Takes what a response tells; what follows from what is known already is not kept."""
        read = Read(self, sent, answered, value, region, label)
        if self.steady is not None and sent > self.steady_since and read.admits(self.steady):
            return
        self.reads.append(read)
        if region is None:
            # A read that overlaps a write tells nothing of what is there after it.
            if sent > self.touched and not self.is_open(sent):
                self.settle(value, answered)
        else:
            # The next response is of interest too, whatever it tells.
            self.steady = None

    def note_version(self, version, token, label):
        """A version, and an entity tag, stands for one content."""
        tokens = self.tokens.setdefault(version, {})
        if token not in tokens:
            tokens[token] = label
            if len(tokens) > 1:
                seen = ", ".join(f"{token} [{label}]" for token, label in tokens.items())
                time = max(write.sent for write in self.writes if write.token == token)
                self.complain(REPEATED, f"version {version} stands for {seen}", time)
        self.top = max(self.top, version)

    def note_write_version(self, write, version):
        write.version = version
        if version <= write.floor:
            text = f"{write.kind} {write.token} was given version {version}, but {write.floor} was known before it was sent"
            self.complain(REPEATED, text, write.sent)
        self.note_version(version, write.token, write.label)

    def complain(self, kind, text, around):
        self.violations.append((kind, text, around))

    def history(self, time, start):
        """What was recorded of the id around a time."""
        operations = sorted([*self.writes, *self.reads], key=lambda operation: operation.sent)
        before = [write for write in self.writes if write.sent <= time][-8:]
        first = before[0].sent if before else time - 2
        reads = [read for read in self.reads if first <= read.sent <= time]
        # Of the reads before it those that tell the state, the last ones; of all after it the first ones.
        kept = before + [read for read in reads if read.region is None][-8:]
        kept += [read for read in reads if read.region is not None and read.answered >= time - 0.001][:2]
        after = [operation for operation in operations if operation.sent > time]
        kept += [operation for operation in after if isinstance(operation, Write) or operation.region is None][:6]
        kept.sort(key=lambda operation: operation.sent)
        return [operation.describe(start) for operation in kept]

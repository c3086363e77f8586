"""The consistency model of chaos, crash and soak: one linearizable register for each place.

The history of an id is a set of writes and reads, each with an interval from request to response. The history is
linearizable if each operation can be assigned one moment within its interval so that every read returns the last write
before it. docs/consistency.md defines the effect of a write for each response. Times are parameters, so that
test_history.py can construct histories.
"""

import collections
import math

# The state of an id without a place. Every other state is the token of the write that produced it.
ABSENT = "absent"
# A wildcard for the state after a violation, so that the violation is reported once.
ANY_STATE = "any"
# The maximum time after its end at which a write of unknown outcome takes effect; longer than any fault.
MAXIMUM_DELAY_SECONDS = 30.0

LOST, STALE, DUPLICATED, RESURRECTED = "lost", "stale", "duplicated", "resurrected"
REPEATED_VERSION, REJECTED_BUT_APPLIED, DIRTY_READ = "repeated version", "rejected but applied", "dirty read"
WRONG_CONDITION, WRONG_CONTENT, UNDECIDED = "wrong condition", "wrong content", "undecided"
UNEXPECTED = "unexpected response"
KINDS = (
    LOST, STALE, DUPLICATED, RESURRECTED, REPEATED_VERSION, REJECTED_BUT_APPLIED, DIRTY_READ, WRONG_CONDITION, WRONG_CONTENT,
    UNEXPECTED, UNDECIDED,
)  # fmt: skip

Violation = collections.namedtuple("Violation", "kind text history")


class Write:
    """A request that may change the state of an id to its token, or to ABSENT."""

    __slots__ = (
        "place", "kind", "token", "condition", "sent", "completed", "result", "created", "version", "previous_version",
        "repeats", "label", "response",
    )  # fmt: skip

    def __init__(self, kind, token, condition, sent, label=""):
        self.place = None
        # "create", "put", "import", "patch" or "delete".
        self.kind = kind
        self.token = token
        # None, ABSENT, or the token that the place must have.
        self.condition = condition
        self.sent = sent
        self.completed = None
        # "applied", "missing" (404), "failed" (412), "rejected" (not applied, and never will be) or "unknown".
        self.result = "unknown"
        # True if the response reports a creation, False if a replacement, None if neither.
        self.created = None
        self.version = None
        # The latest version known when the request was sent.
        self.previous_version = 0
        # The times of repeats with the same idempotency key after the response.
        self.repeats = []
        self.label = label
        # A summary of the response, or of the attempts.
        self.response = ""

    @property
    def outcome(self):
        """The state after the write."""
        return self.token or ABSENT

    def effect(self, state):
        """Returns the state after the write, or None if it cannot be applied in the given state."""
        if state == ANY_STATE:
            return self.outcome
        if self.kind in ("patch", "delete") and state == ABSENT or self.kind == "create" and state != ABSENT:
            return None
        if self.condition is not None and self.condition != state:
            return None
        if self.created is not None and self.created != (state == ABSENT):
            return None
        return self.outcome

    def is_pending_after(self, time):
        """Returns True if the write, which has completed, may still take effect after the given time."""
        return self.result == "unknown" and time <= self.completed + MAXIMUM_DELAY_SECONDS

    def describe(self, start):
        condition = {None: "", ABSENT: " if absent"}.get(self.condition, f" if at {self.condition}")
        completed = f"{self.completed - start:9.3f}" if self.completed else "     none"
        version = f" version {self.version}" if self.version else ""
        repeats = "".join(f", repeated at {time - start:.3f}" for time in self.repeats)
        operation = f"{self.kind} {self.token or ''}".strip()
        result = f"{self.result}{version} [{self.label} {self.response}]{repeats}"
        return f"{self.sent - start:9.3f} {completed}  {operation}{condition}: {result}"


class Read:
    """A response that contains the state of an id or, with a region, shows that the id is not within it."""

    __slots__ = ("place", "sent", "completed", "value", "region", "label")

    def __init__(self, place, sent, completed, value, region, label):
        self.place = place
        self.sent = sent
        self.completed = completed
        self.value = value
        self.region = region
        self.label = label

    def admits(self, state):
        if state == ANY_STATE:
            return True
        if self.region is None:
            return state == self.value
        return state == ABSENT or not self.region.certainly_contains(self.place.id, state)

    def describe(self, start):
        observation = f"reads {self.value}" if self.region is None else f"not in {self.region}"
        return f"{self.sent - start:9.3f} {self.completed - start:9.3f}  {observation} [{self.label}]"


class Condition(Read):
    """A 404 or 412 response to a write, as an observation of the state."""

    __slots__ = ("write",)

    def __init__(self, write):
        super().__init__(write.place, write.sent, write.completed, ABSENT, None, write.label)
        self.write = write

    def admits(self, state):
        if state == ANY_STATE:
            return True
        if self.write.result == "missing":
            return state == ABSENT
        return state != self.write.condition

    def describe(self, start):
        return self.write.describe(start)


class Place:
    """The history of one id."""

    def __init__(self, id):
        self.id = id
        self.writes = []
        self.reads = []
        self.violations = []
        # The tokens observed with each version, and thus with each entity tag.
        self.tokens = {}
        self.latest_version = 0
        # The number of writes in progress; the last one is contended if it began during another.
        self.open_writes = 0
        self.is_contended = False
        # The time at which a write last began or ended.
        self.last_activity = -math.inf
        # The state, if no write can have changed it since the given time; None otherwise.
        self.stable_state = None
        self.stable_since = 0.0
        # Writes of unknown outcome that may still take effect.
        self.pending = []

    # Recording.

    def begin(self, write):
        write.place = self
        write.previous_version = self.latest_version
        self.writes.append(write)
        self.is_contended = self.open_writes > 0
        self.open_writes += 1
        self.last_activity = write.sent
        self.stable_state = None
        return write

    def end(self, write, result, time):
        write.result = result
        write.completed = time
        self.open_writes -= 1
        self.last_activity = time
        if result == "unknown":
            self.pending.append(write)
        if result == "applied":
            # Pending writes that require an earlier token can never be applied, because tokens are unique.
            self.pending = [each for each in self.pending if each.condition in (None, ABSENT)]
            if not self.is_contended:
                self.mark_stable(write.outcome, time)

    def may_change(self, time):
        """Returns True if the state may change without further requests."""
        self.pending = [write for write in self.pending if write.is_pending_after(time)]
        return bool(self.open_writes or self.pending)

    def mark_stable(self, state, time):
        if not self.may_change(time):
            self.stable_state = state
            self.stable_since = time

    def observe(self, value, region, sent, completed, label):
        """Records the observation in a response, unless it follows from what is known already."""
        read = Read(self, sent, completed, value, region, label)
        if self.stable_state is not None and sent > self.stable_since and read.admits(self.stable_state):
            return
        self.reads.append(read)
        if region is None:
            # A read that overlaps a write does not determine the state after it.
            if sent > self.last_activity and not self.may_change(sent):
                self.mark_stable(value, completed)
        else:
            # The next observation must be recorded too.
            self.stable_state = None

    def record_version(self, version, token, label):
        """Records a version, and reports it if it was observed with another content."""
        tokens = self.tokens.setdefault(version, {})
        if token not in tokens:
            tokens[token] = label
            if len(tokens) > 1:
                seen = ", ".join(f"{token} [{label}]" for token, label in tokens.items())
                time = max(write.sent for write in self.writes if write.token == token)
                self.report_violation(REPEATED_VERSION, f"version {version} has several contents: {seen}", time)
        self.latest_version = max(self.latest_version, version)

    def record_write_version(self, write, version):
        write.version = version
        if version <= write.previous_version:
            text = f"{write.kind} {write.token} got version {version}, but {write.previous_version} was known before its request"
            self.report_violation(REPEATED_VERSION, text, write.sent)
        self.record_version(version, write.token, write.label)

    def report_violation(self, kind, text, around):
        self.violations.append((kind, text, around))

    def history(self, time, start):
        """Returns the recorded operations around a time."""
        operations = sorted([*self.writes, *self.reads], key=lambda operation: operation.sent)
        before = [write for write in self.writes if write.sent <= time][-8:]
        first = before[0].sent if before else time - 2
        reads = [read for read in self.reads if first <= read.sent <= time]
        # The last reads with a state before the time, and the first operations after it.
        kept = before + [read for read in reads if read.region is None][-8:]
        kept += [read for read in reads if read.region is not None and read.completed >= time - 0.001][:2]
        after = [operation for operation in operations if operation.sent > time]
        kept += [operation for operation in after if isinstance(operation, Write) or operation.region is None][:6]
        kept.sort(key=lambda operation: operation.sent)
        return [operation.describe(start) for operation in kept]

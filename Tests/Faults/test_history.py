"""Tests of the checker: each history with one violation must be reported as that violation, and no correct history."""

import random
import sys
import unittest

import history
from history import (
    ABSENT,
    DIRTY_READ,
    DUPLICATED,
    LOST,
    REJECTED_BUT_APPLIED,
    REPEATED_VERSION,
    RESURRECTED,
    STALE,
    UNEXPECTED,
    WRONG_CONDITION,
    WRONG_CONTENT,
)
from ledger import Ledger, Region


class LedgerWithClock(Ledger):
    """A ledger with a settable clock."""

    def __init__(self):
        super().__init__()
        self.time = self.start = 0.0
        self.random = random.Random(1)

    def now(self):
        return self.time


class HistoryTest(unittest.TestCase):
    def setUp(self):
        self.ledger = LedgerWithClock()
        self.places = {}

    def write(self, kind, sent, completed, result="applied", condition=None, version=None, created=None, id="a", content=None):
        """Records a write and its response, and returns the new state."""
        write = self.begin(kind, sent, condition, id, content)
        self.end(write, completed, result, version, created)
        return write.outcome

    def begin(self, kind, sent, condition=None, id="a", content=None):
        self.ledger.time = sent
        if content is None and kind != "delete":
            content = self.ledger.content(self.ledger.random, 1)
        return self.ledger.begin(id, kind, content, condition, "a client")

    def end(self, write, completed, result="applied", version=None, created=None):
        self.ledger.time = completed
        self.ledger.end(write, result, "a status", version, created)

    def read(self, value, sent, completed, id="a"):
        self.ledger.time = completed
        self.ledger.read(id, value, sent, "a reader")

    def list(self, tokens, sent, completed, region=None):
        self.ledger.time = completed
        items = []
        for id, token in tokens:
            content = self.ledger.contents[token]
            item = {"id": id, "name": f"chaos {token}", "lat": content.lat, "long": content.long, "tags": {"token": token}}
            items.append(item | ({"category": content.category} if content.category else {}))
        self.ledger.list(region or Region(self.ledger, "all"), items, sent, "a reader")

    def assert_kinds(self, *kinds):
        violations = self.ledger.all_violations()
        self.assertEqual([violation.kind for violation in violations], list(kinds), violations)
        for violation in violations:
            self.assertTrue(violation.text)

    # Violations.

    def test_lost_write(self):
        first = self.write("put", 1, 2)
        self.write("put", 3, 4)
        self.read(first, 5, 6)
        self.read(first, 7, 8)
        self.assert_kinds(LOST)

    def test_lost_creation_in_reads_by_id(self):
        self.write("put", 1, 2)
        self.read(ABSENT, 5, 6)
        self.read(ABSENT, 7, 8)
        self.assert_kinds(LOST)

    def test_lost_place_in_lists(self):
        self.write("put", 1, 2)
        self.list([], 3, 4)
        self.list([], 5, 6)
        self.assert_kinds(LOST)

    def test_lost_creation_revealed_by_another_creation(self):
        self.write("put", 1, 2, created=True)
        self.write("put", 3, 4, created=True)
        self.assert_kinds(LOST)

    def test_stale_read(self):
        first = self.write("put", 1, 2)
        second = self.write("put", 3, 4)
        self.read(first, 4.1, 5)
        self.read(second, 6, 7)
        self.assert_kinds(STALE)

    def test_stale_list(self):
        first = self.write("put", 1, 2)
        second = self.write("put", 3, 4)
        self.list([("a", first)], 4.1, 5)
        self.list([("a", second)], 6, 7)
        self.assert_kinds(STALE)

    def test_stale_reads_after_a_read_that_overlaps_the_write(self):
        first = self.write("put", 1, 2)
        write = self.begin("put", 3)
        self.end(write, 4)
        self.read(first, 2.5, 5)
        self.read(first, 6, 7)
        self.read(write.token, 8, 9)
        self.assert_kinds(STALE)

    def test_place_missing_in_one_list(self):
        token = self.write("put", 1, 2)
        self.list([], 3, 4)
        self.list([("a", token)], 5, 6)
        self.assert_kinds(STALE)

    def test_reads_that_go_back_while_a_write_is_in_progress(self):
        first = self.write("put", 1, 2)
        write = self.begin("put", 3)
        self.read(write.token, 4, 5)
        self.read(first, 6, 7)
        self.read(write.token, 8, 9)
        self.end(write, 10)
        self.assert_kinds(STALE)

    def test_resurrected_place(self):
        token = self.write("put", 1, 2)
        self.write("delete", 3, 4)
        self.read(token, 5, 6)
        self.assert_kinds(RESURRECTED)

    def test_resurrected_place_in_lists(self):
        token = self.write("put", 1, 2)
        self.write("delete", 3, 4)
        self.list([("a", token)], 5, 6)
        self.assert_kinds(RESURRECTED)

    def test_resurrected_place_revealed_by_a_patch(self):
        self.write("put", 1, 2)
        self.write("delete", 3, 4)
        self.write("patch", 5, 6)
        self.assert_kinds(RESURRECTED)

    def test_duplicated_creation(self):
        content = self.ledger.content(self.ledger.random, 1)
        write = self.begin("create", 1, id=None, content=content)
        self.ledger.bind(write, "a")
        self.end(write, 2)
        self.list([("a", content.token), ("b", content.token)], 3, 4)
        self.assert_kinds(DUPLICATED)

    def test_creation_duplicated_by_its_repeat(self):
        content = self.ledger.content(self.ledger.random, 1)
        write = self.begin("create", 1, id=None, content=content)
        self.list([("a", content.token)], 2, 3)
        self.ledger.bind(write, "b")
        self.end(write, 4)
        self.assert_kinds(DUPLICATED)

    def test_place_twice_in_a_list(self):
        token = self.write("put", 1, 2)
        self.list([("a", token), ("a", token)], 3, 4)
        self.assert_kinds(DUPLICATED)

    def test_import_duplicated_by_its_repeat(self):
        write = self.begin("import", 1)
        self.end(write, 2)
        self.write("put", 3, 4)
        write.repeats.append(5)
        self.read(write.token, 6, 7)
        self.assert_kinds(DUPLICATED)

    def test_version_after_deletion_and_creation(self):
        self.write("put", 1, 2, version=1)
        self.write("delete", 3, 4)
        self.write("put", 5, 6, version=1)
        # The version did not grow, and it has two contents.
        self.assert_kinds(REPEATED_VERSION, REPEATED_VERSION)

    def test_version_seen_with_two_contents(self):
        first = self.write("put", 1, 2)
        second = self.write("put", 3, 4)
        self.ledger.place("a").record_version(7, first, "a reader")
        self.ledger.place("a").record_version(7, second, "another")
        self.assert_kinds(REPEATED_VERSION)

    def test_rejected_write_that_was_applied_later(self):
        self.write("put", 1, 2)
        late = self.write("put", 3, 4, result="rejected")
        self.write("put", 5, 6)
        self.read(late, 7, 8)
        self.assert_kinds(REJECTED_BUT_APPLIED)

    def test_rejected_deletion_that_was_applied(self):
        self.write("put", 1, 2)
        self.write("delete", 3, 4, result="rejected")
        self.read(ABSENT, 7, 8)
        self.assert_kinds(REJECTED_BUT_APPLIED)

    def test_unknown_write_applied_twice(self):
        late = self.write("put", 1, 2, result="unknown")
        self.read(late, 3, 4)
        self.write("put", 5, 6)
        self.read(late, 7, 8)
        self.assert_kinds(LOST)

    def test_unknown_write_that_comes_too_late(self):
        late = self.write("put", 1, 2, result="unknown")
        self.read(ABSENT, 3, 4)
        after = 3 + history.MAXIMUM_DELAY_SECONDS
        self.read(ABSENT, after, after + 1)
        self.read(late, after + 2, after + 3)
        self.assert_kinds(RESURRECTED)

    def test_unacknowledged_write_that_is_rolled_back(self):
        first = self.write("put", 1, 2)
        late = self.write("put", 3, 4, result="unknown")
        self.read(late, 5, 6)
        self.read(first, 7, 8)
        self.assert_kinds(DIRTY_READ)

    def test_conditional_write_to_an_old_version(self):
        first = self.write("put", 1, 2)
        self.write("put", 3, 4)
        self.write("put", 5, 6, condition=first)
        self.assert_kinds(WRONG_CONDITION)

    def test_both_of_two_writes_to_one_version(self):
        first = self.write("put", 1, 2)
        write = self.begin("put", 3, condition=first)
        self.write("put", 3.1, 5, condition=first)
        self.end(write, 6)
        self.assert_kinds(WRONG_CONDITION)

    def test_rejection_although_the_condition_held(self):
        first = self.write("put", 1, 2)
        self.write("put", 3, 4, result="failed", condition=first)
        self.assert_kinds(WRONG_CONDITION)

    def test_content_that_no_client_wrote(self):
        token = self.write("put", 1, 2)
        item = {"id": "a", "name": f"chaos {token}", "lat": 0, "long": 0, "tags": {"token": token}}
        self.ledger.identify(item, "a reader")
        self.assert_kinds(WRONG_CONTENT)

    def test_place_outside_of_its_list(self):
        token = self.write("put", 1, 2)
        self.list([("a", token)], 3, 4, Region(self.ledger, "a box", box=(0, 0, 1, 1)))
        self.assert_kinds(WRONG_CONTENT)

    def test_count_of_a_category(self):
        content = self.ledger.content(self.ledger.random, 1)
        content.category = "cafe"
        self.write("put", 1, 2, content=content)
        self.ledger.counts({}, 3, "a reader")
        self.ledger.counts({"cafe": 1}, 3, "a reader")
        self.assert_kinds(UNEXPECTED)

    # Correct histories.

    def test_reads_that_overlap_a_write(self):
        first = self.write("put", 1, 2)
        write = self.begin("put", 3)
        self.read(first, 2.5, 4)
        self.read(write.token, 3.5, 5)
        self.read(first, 3.2, 6)
        self.end(write, 7)
        self.read(write.token, 8, 9)
        self.assert_kinds()

    def test_unknown_write_that_is_seen_later(self):
        first = self.write("put", 1, 2)
        late = self.write("put", 3, 4, result="unknown")
        self.read(first, 5, 6)
        self.list([("a", late)], 7, 8)
        self.write("delete", 9, 10)
        self.read(ABSENT, 11, 12)
        self.assert_kinds()

    def test_unknown_write_over_a_newer_one(self):
        late = self.write("put", 1, 2, result="unknown")
        second = self.write("put", 3, 4)
        self.read(second, 5, 6)
        self.read(late, 7, 8)
        self.assert_kinds()

    def test_unknown_deletion(self):
        token = self.write("put", 1, 2)
        self.write("delete", 3, 4, result="unknown", condition=token)
        self.read(token, 5, 6)
        self.read(ABSENT, 7, 8)
        self.write("put", 9, 10, condition=ABSENT, created=True)
        self.assert_kinds()

    def test_rejected_write_that_was_not_applied(self):
        token = self.write("put", 1, 2, version=1)
        self.write("put", 3, 4, result="rejected")
        self.write("put", 5, 6, condition=token, version=2)
        self.assert_kinds()

    def test_one_of_two_writes_to_one_version(self):
        first = self.write("put", 1, 2)
        write = self.begin("put", 3, condition=first)
        other = self.begin("put", 3.1, condition=first)
        self.end(other, 5, "failed")
        self.read(write.token, 5, 5.5)
        self.end(write, 6)
        self.assert_kinds()

    def test_creation_that_is_seen_before_its_response(self):
        content = self.ledger.content(self.ledger.random, 1)
        write = self.begin("create", 1, id=None, content=content)
        self.list([("a", content.token)], 2, 3)
        self.ledger.bind(write, "a")
        self.end(write, 4, version=1)
        self.read(content.token, 5, 6)
        self.assert_kinds()

    def test_places_beyond_a_page_or_an_edge(self):
        near, far = (self.ledger.content(self.ledger.random, 1) for _ in range(2))
        (near.lat, near.long), (far.lat, far.long) = (42.0, 12.0), (42.5, 12.0)
        token = self.write("put", 1, 2, content=near)
        self.write("put", 1, 2, id="b", content=far)
        region = Region(self.ledger, "nearest", centre=(42.0, 12.0))
        region.last_metres = 1000
        self.list([("a", token)], 3, 4, region)
        self.list([("a", token)], 5, 6, Region(self.ledger, "within", centre=(42.0, 12.0), radius=55_500))
        self.assert_kinds()


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=1))

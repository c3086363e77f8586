"""Tests of the checker: histories with one violation must be reported as that violation, and correct ones must not."""

import unittest

from lanes import MISSING, RESURRECTED, STALE, WRONG, Ledger


class LedgerTest(unittest.TestCase):
    def setUp(self):
        self.ledger = Ledger()
        self.lane = self.ledger.add_lane(0)
        self.slots = [self.lane.add(number, f"id {number}", 0, 0) for number in range(3)]

    def begin(self, *present, absent=(), is_atomic=True):
        commit = self.lane.reserve()
        changes = {self.slots[number]: True for number in present} | {self.slots[number]: False for number in absent}
        self.lane.begin(commit, changes, is_atomic)
        return commit

    def commit(self, *present, absent=()):
        commit = self.begin(*present, absent=absent)
        self.lane.acknowledge(commit)
        return commit

    def read(self, number, value, low=None):
        self.ledger.check_place(self.slots[number], value, self.lane.low if low is None else low, "a read")

    def list(self, values, low=None):
        self.ledger.check_list(self.lane, self.slots, values, self.lane.low if low is None else low, "a list")

    def assert_kinds(self, *kinds):
        self.assertEqual([kind for kind, _ in self.ledger.violations], list(kinds), self.ledger.violations)

    # Violations.

    def test_read_of_replaced_value_is_stale(self):
        first = self.commit(0)
        self.commit(0)
        self.read(0, first)
        self.assert_kinds(STALE)

    def test_absence_of_created_place_is_missing(self):
        self.commit(0)
        self.read(0, None)
        self.assert_kinds(MISSING)

    def test_read_of_deleted_place_is_resurrected(self):
        first = self.commit(0)
        self.commit(absent=[0])
        self.read(0, first)
        self.assert_kinds(RESURRECTED)

    def test_read_of_value_before_earlier_read_is_stale(self):
        first = self.commit(0)
        second = self.begin(0)
        self.read(0, second)
        self.read(0, first)
        self.assert_kinds(STALE)

    def test_read_after_restart_of_an_unseen_writer_is_stale_for_other_places(self):
        first = self.commit(0, 1)
        second = self.begin(0, 1)
        self.read(0, second)
        self.read(1, first)
        self.assert_kinds(STALE)

    def test_read_of_rolled_back_value_is_wrong(self):
        self.commit(0)
        self.read(0, self.lane.burn())
        self.assert_kinds(WRONG)

    def test_read_of_value_before_its_commit_is_wrong(self):
        self.commit(0)
        self.read(0, self.lane.reserve())
        self.assert_kinds(WRONG)

    def test_read_of_rejected_value_is_wrong(self):
        self.commit(0)
        commit = self.begin(0)
        self.ledger.reject(self.lane, commit)
        self.read(0, commit)
        self.assert_kinds(WRONG)

    def test_rejection_after_read_is_wrong(self):
        self.commit(0)
        commit = self.begin(0)
        self.read(0, commit)
        self.ledger.reject(self.lane, commit)
        self.assert_kinds(WRONG)

    def test_stale_list(self):
        first = self.commit(0, 1, 2)
        self.commit(1)
        self.list({0: first, 1: first, 2: first})
        self.assert_kinds(STALE)

    def test_list_without_created_place_is_missing(self):
        first = self.commit(0, 1, 2)
        self.list({0: first, 1: first})
        self.assert_kinds(MISSING)

    def test_list_with_deleted_place_is_resurrected(self):
        first = self.commit(0, 1, 2)
        self.commit(absent=[2])
        self.list({0: first, 1: first, 2: first})
        self.assert_kinds(RESURRECTED)

    def test_list_of_half_a_commit_is_wrong(self):
        first = self.commit(0, 1, 2)
        second = self.begin(0, 1)
        self.list({0: first, 1: second, 2: first})
        self.assert_kinds(WRONG)

    def test_unchanged_response_after_a_write_is_stale(self):
        known = {0: self.commit(0), 1: self.commit(1)}
        self.list(known)
        self.commit(0)
        # A 304 is checked as the list that the client has.
        self.list(known)
        self.assert_kinds(STALE)

    def test_read_without_awaited_position_is_stale(self):
        self.ledger.sees = False
        first = self.commit(0)
        second = self.commit(0)
        self.read(0, first, low=second)
        self.assert_kinds(STALE)

    def test_half_an_unknown_commit_is_wrong(self):
        self.commit(0, 1)
        commit = self.begin(0, 1)
        self.ledger.settle(self.lane, commit, {self.slots[0]: commit, self.slots[1]: 1})
        self.assert_kinds(WRONG)

    # Correct histories.

    def test_read_during_commit_returns_either_value(self):
        first = self.commit(0)
        second = self.begin(0)
        self.read(0, first)
        self.read(0, second)
        self.lane.acknowledge(second)
        self.read(0, second)
        self.assert_kinds()

    def test_long_read_returns_any_value_since_its_begin(self):
        first = self.commit(0)
        second = self.commit(0)
        self.commit(absent=[0])
        for value in (first, second, None):
            self.read(0, value, low=first)
        self.assert_kinds()

    def test_list_of_one_moment_of_many(self):
        first = self.commit(0, 1)
        second = self.commit(0, 2)
        third = self.commit(1, absent=[0])
        self.list({0: first, 1: first}, low=first)
        self.list({0: second, 1: first, 2: second}, low=first)
        self.list({1: third, 2: second}, low=first)
        self.assert_kinds()

    def test_list_during_partial_change(self):
        first = self.commit(0, 1, 2)
        self.begin(absent=[0, 1, 2], is_atomic=False)
        self.list({1: first, 2: first})
        self.list({2: first})
        self.assert_kinds()

    def test_unknown_commit_that_was_made(self):
        self.commit(0, 1)
        commit = self.begin(0, 1)
        self.ledger.settle(self.lane, commit, {self.slots[0]: commit, self.slots[1]: commit})
        self.read(0, commit)
        self.assert_kinds()

    def test_unknown_commit_that_was_not_made(self):
        first = self.commit(0, 1)
        commit = self.begin(0, 1)
        self.ledger.settle(self.lane, commit, {self.slots[0]: first, self.slots[1]: first})
        self.read(0, first)
        self.assert_kinds()

    def test_unknown_partial_deletion(self):
        first = self.commit(0, 1)
        commit = self.begin(absent=[0, 1], is_atomic=False)
        self.ledger.settle(self.lane, commit, {self.slots[1]: first})
        self.list({1: first})
        self.assert_kinds()


if __name__ == "__main__":
    unittest.main()

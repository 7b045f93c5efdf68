"""For the tests of those who use WangTimer: the real stages on a clock that the test moves."""

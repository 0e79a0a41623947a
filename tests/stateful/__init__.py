"""A stateful test of cohorts and stores: changed, killed, damaged, full, read-only, and resumed."""

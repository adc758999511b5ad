"""Private daemons for tests, checks, experiments and benchmarks."""

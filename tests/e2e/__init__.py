"""End-to-end tests, a module a subject; tests/e2e.py runs them."""

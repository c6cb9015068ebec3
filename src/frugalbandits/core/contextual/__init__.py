"""Decisions that look at the query, with a promise on the average over queries."""

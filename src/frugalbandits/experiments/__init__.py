"""The paper's experiments: specs, then cells, then tables, then figures and a report."""

"""The figures of the paper's experiments and the pictures that explain its bounds."""

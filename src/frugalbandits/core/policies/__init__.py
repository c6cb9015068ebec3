"""The policies, one module or package each, and `episodes`, which two of them share."""

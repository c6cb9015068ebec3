"""The paper's claims, each checked by a stated rule."""

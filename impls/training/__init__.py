"""Real training of every algorithm, in either framework, from one seed.

The loops are written once, in NumPy: ``off_policy`` and ``on_policy`` step environments, draw
random numbers from :class:`parity.random.Stream` and hand batches to a learner through ``sides``,
which is all that differs between the frameworks. Everything that a loop has is in its ``state()``,
so that a run goes on bit for bit from a checkpoint.
"""

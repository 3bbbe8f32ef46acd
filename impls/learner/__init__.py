"""What the learners (``ddpg``, ``td3``, ...) are made of: state by canonical names, and variants.

Not a pair with a contract of its own: it is checked through every learner. The references share
nothing with it but the checks of what comes in.
"""

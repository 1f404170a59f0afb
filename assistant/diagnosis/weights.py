"""What the names of strengths and rates mean in numbers.

Evidence adds up as log-odds (natural logarithm). The figures were chosen so that probabilities mean what they say on the
project's cases (`benchmarks/calibration.py`); authors of rules only use the names.
"""

from __future__ import annotations

STRENGTH: dict[str, float] = {
    "proves": 5.5,
    "strong": 3.2,
    "moderate": 1.8,
    "weak": 0.8,
    "weak-against": -0.8,
    "moderate-against": -1.8,
    "strong-against": -3.2,
    "rules-out": -8.0,
}

#: Log of the share of problems of this symptom that the cause makes up.
RATE: dict[str, float] = {"very-common": -2.6, "common": -3.4, "occasional": -4.2, "rare": -5.0, "never": -7.0}

#: A symptom that a cause does not list.
UNLISTED = -5.5

#: Which trouble there really is when one is told: people mix up slow and hung, and a hang ends as a crash.
MEANT: dict[str, dict[str, float]] = {
    "slow": {"slow": 0.8, "jitter": 0.12, "hang": 0.05, "crash": 0.03},
    "jitter": {"jitter": 0.6, "slow": 0.33, "hang": 0.07},
    "hang": {"hang": 0.72, "crash": 0.2, "slow": 0.05, "jitter": 0.03},
    "crash": {"crash": 0.75, "hang": 0.2, "slow": 0.05},
    "question": {"slow": 0.35, "crash": 0.3, "hang": 0.25, "jitter": 0.1},
}

#: What is left for "something that is not known here".
UNKNOWN = -0.9

#: Each further piece of evidence on the same side counts a little less: they are seldom independent.
DISCOUNT = (1.0, 0.8, 0.65, 0.5, 0.4, 0.3, 0.2)

#: Taken from a cause that another one explains.
STEP_BACK = 2.5

"""Student's t distribution with any number of degrees of freedom, whole or not, as Welch's test needs it."""


def two_sided_probability(t: float, degrees_of_freedom: float) -> float:
    """How often chance alone gives a t as far from zero as this one."""
    from scipy.special import stdtr

    return float(2 * stdtr(degrees_of_freedom, -abs(t)))


def quantile(share: float, degrees_of_freedom: float) -> float:
    """The t below which `share` of the distribution lies."""
    from scipy.special import stdtrit

    return float(stdtrit(degrees_of_freedom, share))

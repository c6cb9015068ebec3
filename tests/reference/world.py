"""A world at a moment, plainly: means, prices, who is there, and what the best use of the moment is.

A moment is a number of decisions (int) or a share of the horizon (float). Options are numbers. What happens
is a list of tuples: ("change", at, option, mean, over), ("outage", option, start, end),
("arrival", option, at), ("departure", option, at), ("price", option, at, cost).
"""


def when(moment, horizon):
    made = moment if isinstance(moment, int) else round(moment * horizon)
    return min(made, horizon)


def mean_at(start, happenings, option, time, horizon):
    """Follow an option's mean, a decision at a time."""
    changes = [each for each in happenings if each[0] == "change" and each[2] == option]
    mean, before, after, begun, takes = start, start, start, 0, 0
    for now in range(time + 1):
        for _, at, _, new, over in changes:
            if when(at, horizon) == now:
                # It sets out from where it would be now.
                before, after = (
                    (after if now >= begun + takes else mean_on(before, after, begun, takes, now)),
                    new,
                )
                begun, takes = now, when(over, horizon)
        mean = after if now >= begun + takes else mean_on(before, after, begun, takes, now)
    return mean


def mean_on(before, after, begun, takes, now):
    return before + (after - before) * (now - begun) / takes


def price_at(cost, happenings, option, time, horizon):
    prices = [each for each in happenings if each[0] == "price" and each[1] == option]
    for _, _, at, new in sorted(prices, key=lambda each: when(each[2], horizon)):
        if when(at, horizon) <= time:
            cost = new
    return cost


def is_there(happenings, option, time, horizon):
    for each in happenings:
        if each[0] == "arrival" and each[1] == option and time < when(each[2], horizon):
            return False
        if each[0] == "departure" and each[1] == option and time >= when(each[2], horizon):
            return False
    return True


def is_down(happenings, option, time, horizon):
    return any(
        each[0] == "outage" and each[1] == option and when(each[2], horizon) <= time < when(each[3], horizon)
        for each in happenings
    )


def best_use(means, prices, there, up, alpha=None, reference=None, level=None):
    """The cost of the cheapest option that is up and good enough, what counts as good enough, and the cost of
    the best option that is up."""
    options = range(len(means))
    top = max(means[k] for k in options if there[k])
    if level is not None:
        bar = min(level, top)
    else:
        bar = (1 - alpha) * (top if reference is None else means[reference])
    able = [k for k in options if up[k] and means[k] >= bar * (1 - 1e-12)]
    if not able:
        bar = max(means[k] for k in options if up[k])
        able = [k for k in options if up[k] and means[k] >= bar]
    best = max(means[k] for k in options if up[k])
    return min(prices[k] for k in able), bar, min(prices[k] for k in options if up[k] and means[k] >= best)

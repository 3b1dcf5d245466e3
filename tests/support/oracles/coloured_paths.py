"""Paths of two- and four-colour routing, enumerated from the paper's text alone.

Source: Camarero, Vallejo, Beivide (TACO 2014), sections 6.1 and 6.2. Every walk "local, global, local"
between two groups is tried, and kept if the classes of its links are allowed. A local hop from a router to
itself stands for a hop that is not needed; its class follows from the same definition (+0, +0AA or +0BB).
"""

from functools import cache

# Section 6.2: classes of one node do not occur together.
ORDER = (
    ("+0AA", "+0BA"),
    ("gA",),
    ("+1AA",),
    ("+1AB",),
    ("+0AB",),
    ("+1BB",),
    ("gB",),
    ("+1BA", "+0BB"),
)
# Figure 8: the two branches in the middle.
BRANCHES = (("+1AA", "+1AB"), ("+0AB", "+1BB"))
FIRST_HALVES = frozenset((first, "gA", branch[0]) for first in ORDER[0] for branch in BRANCHES)
SECOND_HALVES = frozenset((branch[1], "gB", last) for last in ORDER[-1] for branch in BRANCHES)
WHOLE = {
    (first, "gA", *branch, "gB", last) for first in ORDER[0] for branch in BRANCHES for last in ORDER[-1]
}


class ColouredPaths:
    """The paths of a dragonfly whose routers have labels 0 and 1, or 0A, 0B, 1A and 1B."""

    def __init__(self, topology, group_size, labels):
        self.routers = range(topology.routers)
        self.group = [router // group_size for router in self.routers]
        self.labels = labels
        self.around = [topology.neighbours(router).tolist() for router in self.routers]
        self.walks = cache(self._walks)
        self._halves = cache(self._walks_in)

    def link_class(self, tail, head):
        """Returns the class of a link, such as +1AB, +1 (two colours), gA or g."""
        if self.group[tail] != self.group[head]:
            assert self.labels[tail] == self.labels[head], "a global link joins two colours"
            return "g" + self.labels[tail][1:]
        z = (int(self.labels[head][0]) - int(self.labels[tail][0])) % 2
        return f"+{z}{self.labels[tail][1:]}{self.labels[head][1:]}"

    def _walks(self, source, destination):
        """Returns [(routers of "local, global, local", classes of the three links), ...]."""
        found = []
        for gateway in [source, *self._group_of(source)]:
            for entry in self.around[gateway]:
                if self.group[entry] == self.group[destination] != self.group[source]:
                    walk = (source, gateway, entry, destination)
                    found.append((walk, tuple(map(self.link_class, walk[:-1], walk[1:]))))
        return found

    def _walks_in(self, source, destination, halves):
        return [one for one in self.walks(source, destination) if one[1] in halves]

    def _group_of(self, router):
        return [other for other in self.around[router] if self.group[other] == self.group[router]]

    def two_color(self, source, destination, rank=lambda group: group):
        """Returns the paths of section 6.1, as a set of router sequences."""
        same = self.labels[source] == self.labels[destination]
        upward = rank(self.group[destination]) > rank(self.group[source])
        allowed = ("+0", "g", "+1")
        if same:
            allowed = ("+0", "g", "+0") if upward else ("+1", "g", "+1")
        return {_path(walk) for walk, links in self.walks(source, destination) if links == allowed}

    def four_color(self, source, destination):
        """Returns the minimal paths of section 6.2."""
        walks = self._halves(source, destination, FIRST_HALVES | SECOND_HALVES)
        return {_path(walk) for walk, _ in walks}

    def four_color_nonminimal(self, source, destination):
        """Returns the nonminimal paths of section 6.2, over middle routers in third groups."""
        found = set()
        for middle in self.routers:
            if self.group[middle] in (self.group[source], self.group[destination]):
                continue
            for before, first in self._halves(source, middle, FIRST_HALVES):
                for after, second in self._halves(middle, destination, SECOND_HALVES):
                    if first + second in WHOLE:
                        found.add(_path(before + after[1:]))
        return found

    def classes(self, path):
        """Returns the classes of the links of a path."""
        return tuple(map(self.link_class, path[:-1], path[1:]))

    def ranks(self, path):
        """Returns the place in the complete order of every link of a path."""
        return [
            next(place for place, node in enumerate(ORDER) if link in node) for link in self.classes(path)
        ]

    def middle(self, path):
        """Returns the middle router of a nonminimal path: both its links are local, in a third group."""
        ends = {self.group[path[0]], self.group[path[-1]]}
        [middle] = [
            router
            for before, router, after in zip(path, path[1:], path[2:], strict=False)
            if self.group[before] == self.group[router] == self.group[after] not in ends
        ]
        return middle


def _path(walk):
    return tuple(router for place, router in enumerate(walk) if not place or router != walk[place - 1])

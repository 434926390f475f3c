"""The last step of an exact assignment: points moved along shortest paths between the clusters.

With k clusters as nodes and, from cluster a to cluster b, the least that a point of a costs more in
b, an assignment is the best one of its sizes when no cycle is negative. The nearest cluster of
every point at given prices is such; a move along a shortest path from a cluster too large to one
too small keeps it so. This is min-cost flow with k nodes in place of n + k.
"""

import heapq

import numpy as np

__all__ = ["repair"]

_AT_ONCE = 256  # moves before the points nearest to the borders are looked up again


class _Borders:
    """Of every two clusters, the points of the first that are nearest to the second."""

    def __init__(self, columns: np.ndarray, labels: np.ndarray, moves: int) -> None:
        self.columns, self.labels = columns, labels
        k = len(columns)
        self.heaps: list[list[list[tuple[float, int]]]] = [[[] for _ in range(k)] for _ in range(k)]
        self.least = np.full((k, k), np.inf)
        for source in range(k):
            members = np.flatnonzero(labels == source)
            own = columns[source, members].astype(np.float64)
            for target in range(k):
                if target == source:
                    continue
                extra = columns[target, members] - own
                few = np.argpartition(extra, moves)[: moves + 1] if len(extra) > moves + 1 else ...
                near = zip(extra[few].tolist(), members[few].tolist(), strict=True)
                self.heaps[source][target] = sorted(near)
            self.look(source)

    def look(self, source: int) -> None:
        """Bring a cluster's row of `least` up to date."""
        for target, heap in enumerate(self.heaps[source]):
            while heap and self.labels[heap[0][1]] != source:
                heapq.heappop(heap)
            self.least[source, target] = heap[0][0] if heap else np.inf

    def nearest(self, source: int, target: int, most: int) -> list[int]:
        """The points, up to `most`, that are all equally near and nearest."""
        heap, near = self.heaps[source][target], []
        extra = heap[0][0]
        while heap and len(near) < most and heap[0][0] == extra:
            point = heapq.heappop(heap)[1]
            if self.labels[point] == source and point not in near[-1:]:
                near.append(point)
        for point in near:
            heapq.heappush(heap, (extra, point))
        return near

    def move(self, point: int, target: int) -> None:
        """Put a point into another cluster."""
        self.labels[point] = target
        costs = self.columns[:, point].astype(np.float64)
        for other, heap in enumerate(self.heaps[target]):
            if other != target:
                heapq.heappush(heap, (float(costs[other] - costs[target]), point))


def repair(
    columns: np.ndarray, labels: np.ndarray, prices: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Even out the clusters at the least cost; returns the labels and the prices that prove it.

    columns: the costs as (k, n).
    labels: of each point, a cluster of least cost and price.
    """
    labels = labels.copy()
    k, n = columns.shape
    larger = np.zeros(k, bool)  # the clusters that hold one point more, if k does not divide n
    larger[np.argsort(-prices, kind="stable")[: n % k]] = True
    excess = np.bincount(labels, minlength=k) - n // k - larger
    scale = float(np.abs(columns).max(initial=0.0)) or 1.0
    while True:
        moves = min(int(excess[excess > 0].sum()), _AT_ONCE)
        borders = _Borders(columns, labels, moves)
        if not moves:
            break
        while moves > 0:
            moves -= _move_along_path(borders, excess, larger, moves, scale)
    edges = _edges(borders.least, larger)
    ahead = _distances(edges, -prices, scale)[0]
    back = _distances(edges.T, prices, scale)[0]
    return labels, (back - ahead) / 2  # both prove it, and so does their mean


def _edges(least: np.ndarray, larger: np.ndarray) -> np.ndarray:
    free = larger & ~larger[:, None]
    return np.where(free, np.minimum(least, 0.0), least)


def _distances(edges: np.ndarray, start: np.ndarray, scale: float) -> tuple[np.ndarray, np.ndarray]:
    """Shortest distances of all nodes from starting values, and the node before each, or -1."""
    distances, before = start.copy(), np.full(len(start), -1)
    for _ in range(len(start)):
        ways = distances[:, None] + edges
        origin = ways.argmin(axis=0)
        way = ways[origin, np.arange(len(start))]
        shorter = way < distances - 1e-12 * scale  # rounding makes no cycle
        if not shorter.any():
            break
        distances[shorter], before[shorter] = way[shorter], origin[shorter]
    return distances, before


def _move_along_path(
    borders: _Borders, excess: np.ndarray, larger: np.ndarray, most: int, scale: float
) -> int:
    """Move points along one shortest path, as many as tie; returns how many."""
    edges = _edges(borders.least, larger)
    start = np.where(excess > 0, 0.0, np.inf)
    distances, before = _distances(edges, start, scale)
    node = int(np.where(excess < 0, distances, np.inf).argmin())
    end, path = node, []
    while before[node] >= 0:
        path.append((int(before[node]), node))
        node = int(before[node])
    amount = min(int(excess[node]), int(-excess[end]), most)
    chosen: list[tuple[int, list[int]]] = []
    for source, target in path:
        if borders.least[source, target] <= edges[source, target]:
            points = borders.nearest(source, target, amount)
            chosen.append((target, points))
            amount = min(amount, len(points))
        else:
            larger[source], larger[target] = True, False
            amount = 1
    for target, points in chosen:
        for point in points[:amount]:
            borders.move(point, target)
    for cluster in {cluster for edge in path for cluster in edge}:
        borders.look(cluster)
    excess[node] -= amount
    excess[end] += amount
    return amount

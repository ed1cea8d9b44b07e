"""Small published tables of distances and similarities, which need no files."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Cities(NamedTuple):
    """Distances between cities, and their latitudes and longitudes in degrees."""

    names: tuple[str, ...]
    distances: Floats
    latlon: Floats


class Similarities(NamedTuple):
    """Objects, and their similarities as judged by people."""

    names: tuple[str, ...]
    similarity: Floats


def europe() -> Cities:
    """Kilometers by road between 21 cities (the Cambridge Encyclopaedia; R's `eurodist`)."""
    return _make_cities(_EUROPE, _ROADS)


def united_states() -> Cities:
    """Miles by air between 10 cities (R's `UScitiesD`)."""
    return _make_cities(_STATES, _MILES)


def ekman() -> Similarities:
    """How similar 31 people found 14 lights, named by wavelength in nm (Ekman, 1954)."""
    names = tuple(_WAVELENGTHS.split())
    return Similarities(names, _make_symmetric(_SIMILARITIES, len(names)) / 100)


def _make_cities(positions: str, distances: str) -> Cities:
    rows = [line.rsplit(maxsplit=2) for line in positions.strip().splitlines()]
    latlon = np.array([[float(lat), float(lon)] for _, lat, lon in rows])
    return Cities(tuple(name for name, *_ in rows), _make_symmetric(distances, len(rows)), latlon)


def _make_symmetric(upper: str, size: int) -> Floats:
    """Make a symmetric matrix from its upper triangle, written row by row."""
    D = np.zeros((size, size))
    D[np.triu_indices(size, 1)] = np.array(upper.split(), float)
    return D + D.T


_EUROPE = """
Athens 37.98 23.73
Barcelona 41.39 2.17
Brussels 50.85 4.35
Calais 50.95 1.86
Cherbourg 49.64 -1.62
Cologne 50.94 6.96
Copenhagen 55.68 12.57
Geneva 46.20 6.14
Gibraltar 36.14 -5.35
Hamburg 53.55 9.99
Hook of Holland 51.98 4.13
Lisbon 38.72 -9.14
Lyons 45.76 4.84
Madrid 40.42 -3.70
Marseilles 43.30 5.37
Milan 45.46 9.19
Munich 48.14 11.58
Paris 48.86 2.35
Rome 41.90 12.50
Stockholm 59.33 18.07
Vienna 48.21 16.37
"""
_ROADS = """
3313 2963 3175 3339 2762 3276 2610 4485 2977 3030 4532 2753 3949 2865 2282 2179 3000 817 3927 1991
1318 1326 1294 1498 2218 803 1172 2018 1490 1305 645 636 521 1014 1365 1033 1460 2868 1802 204 583
206 966 677 2256 597 172 2084 690 1558 1011 925 747 285 1511 1616 1175 460 409 1136 747 2224 714 330
2052 739 1550 1059 1077 977 280 1662 1786 1381 785 1545 853 2047 1115 731 1827 789 1347 1101 1209
1160 340 1794 2196 1588 760 1662 2436 460 269 2290 714 1764 1035 911 583 465 1497 1403 937 1418 3196
460 269 2971 1458 2498 1778 1537 1104 1176 2050 650 1455 1975 1118 895 1936 158 1439 425 328 591 513
995 2068 1019 2897 2428 676 1817 698 1693 2185 2565 1971 2631 3886 2974 550 2671 1159 2198 1479 1238
805 877 1751 949 1155 2280 863 1730 1183 1098 851 457 1683 1500 1205 1178 668 1762 2250 2507 1799
2700 3231 2937 1281 320 328 724 471 1048 2108 1157 1157 1724 2010 1273 2097 3188 2409 618 1109 792
1011 2428 1363 331 856 586 2187 898 821 946 1754 428 1476 1827 1249 2707 1209 2105
"""
_STATES = """
Atlanta 33.75 -84.39
Chicago 41.88 -87.63
Denver 39.74 -104.99
Houston 29.76 -95.37
Los Angeles 34.05 -118.24
Miami 25.76 -80.19
New York 40.71 -74.01
San Francisco 37.77 -122.42
Seattle 47.61 -122.33
Washington 38.91 -77.04
"""
_MILES = """
587 1212 701 1936 604 748 2139 2182 543 920 940 1745 1188 713 1858 1737 597 879 831 1726 1631 949
1021 1494 1374 968 1420 1645 1891 1220 2339 2451 347 959 2300 1092 2594 2734 923 2571 2408 205 678
2442 2329
"""
_WAVELENGTHS = "434 445 465 472 490 504 537 555 584 600 610 628 651 674"
_SIMILARITIES = """
86 42 42 18 6 7 4 2 7 9 12 13 16 50 44 22 9 7 7 2 4 7 11 13 14 81 47 17 10 8 2 1 2 1 5 3 54 25 10 9
2 1 0 1 2 4 61 31 26 7 2 2 1 2 0 62 45 14 8 2 2 2 1 73 22 14 5 2 2 0 33 19 4 3 2 2 58 37 27 20 23 74
50 41 28 76 62 55 85 68 76
"""

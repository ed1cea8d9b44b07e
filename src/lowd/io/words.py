"""What people write in tables: words for missing values, units, and names of columns.

A name alone decides nothing: each rule in `kinds` and `roles` asks the content as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

MAX_QUOTED_NAMES = 8  # Most names quoted in a message.


def _list(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


MISSING = _set(
    "na n/a n.a. n.a nan null none nil nd n.d. - -- --- . .. ... ? * # missing unknown #n/a #na "
    "#value! #div/0! <na> not_available nodata no_data inf -inf"
) | {"", "not available", "not applicable", "no data"}
# These may be a level of a category, where other words for missing values are none.
LEVELS_TOO = _set("none unknown missing nil inf -inf") | {"not applicable"}

UNITS = _set(
    "mm cm m km um µm nm in inch inches ft feet mi mile miles g kg mg µg ug lb lbs oz t ton tons s "
    "sec min h hr hours d day days ms us yr years l ml µl ul dl gal hz khz mhz ghz v mv kv a ma w "
    "kw kwh mw mwh gw j kj kcal cal pa hpa kpa mpa bar mbar psi k °c °f c f deg degc rad m/s km/h "
    "mph kn % ‰ ppm ppb mol mmol µmol m2 m² km2 km² m3 m³ ha cm3 cc hp rpm mpg usd eur gbp $ € £ ¥ "
    "chf kb mb gb db lux lx n mg/l g/l µg/m3 ug/m3 mg/dl mmol/l kg/m3 g/cm3 count"
)
CURRENCIES = "$€£¥₹₽₩₪"

IDENTIFIERS = _set(
    "id ids index idx uid uuid guid key rowid barcode cellid isbn issn doi orcid ssn ean upc sku "
    "fips gvkey cusip permno ticker iata icao iso iso2 iso3 isocode zip zipcode postcode plz phone "
    "subject subj person patient participant respondent household hhid pid caseid case sample "
    "sire dam ss suj entity entityid sampleid observation obs serial seqn "
    "accession nr no number num code line"
)
WEAK_IDENTIFIERS = _set("no nr number num sample case index idx")  # only if all are different
NO_IDENTIFIERS = _set(  # words that end in "id" by chance
    "paid said grid acid solid bid mid kid period liquid fluid humid void valid hybrid steroid "
    "arid rapid android covid thyroid lipid avid"
)
IDENTIFIER_ENDS = _set("id ids uuid guid key barcode nr code fips identifier")
ROW_NAMES = _set("row index rownames rowname id obs n no nr unnamed0 rownumber rowid i")
NAMES = _set(
    "name names country city state model title station species county town island player team "
    "company firm"
)
CODES = _set(
    "state county country region district province race ethnicity ethnic origin sector industry "
    "occupation occup firm company school class inst institution center centre hospital clinic "
    "site plot block group cluster type kind category zone party religion relig sex gender marital "
    "language nationality city station team league treatment treat trt arm batch code sic naics "
    "isco dept department division store shop brand product item subject person patient "
    "destination species variety vs lab laboratory operator judge rater family litter herd run "
    "trial replicate rep expt experiment village ward drug cond condition groups entity panel "
    "codes mode choice pair match fish stratum strata psu cohort cntry nation"
)
# Names of codes only where the numbers count through 1, 2, 3, ...
AMBIGUOUS_CODES = _set(
    "school class item company origin mode choice match drug run trial rep city plot"
)
GRAPHS = (
    _set("source target"),
    _set("from to"),
    _set("start end"),
    _set("node1 node2"),
    _set("head tail"),
)
LABELS = _list(  # earlier ones win; the first two lines decide more than the others
    "label labels target targets survived diagnosis class classes species "
    "default churn died dead death outcome status digit cultivar variety celltype "
    "cluster category group type condition response result event censor censored "
    "cens fustat person subject population progression y"
)
STRONG_LABELS = frozenset(LABELS[:20])
OUTCOMES = _set("target outcome response label progression medv")
QUALITY_COLUMNS = _set("trust trustworthiness continuity confidence")  # of a map lowd wrote
YEARS = _set("year yr years jahr annee yyyy season vintage")
TIME_PARTS = _set(
    "month mon mo day dow weekday hour hr minute min second week wk quarter qtr decade dayofweek "
    "dayofyear yday wday wave round period sprint trimester timepoint"
)
TIMES = _set(
    "time times days weeks hours minutes seconds milliseconds t timestamp date datetime epoch ts "
    "unix year created modified clock"
)
DATES = _set("date dates dt day timestamp time epoch ts datetime month yyyymmdd ymd")
LATITUDES = _set("lat latitude latdeg declat")
LONGITUDES = _set("lon long lng longitude longdeg declon declong")
TRUE, FALSE = _set("1 true t yes y on"), _set("0 false f no n off")

_NUMBER = re.compile(r"[+\-−–]?(\d[\d.,' \xa0]*|\.\d+)([eE][+-]?\d+)?\s?%?")


def normalize(name: str) -> str:
    """A name in lower case and without separators: "Cell Type" is "celltype"."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


def split_name(name: str) -> list[str]:
    """The words of a name: "billLength_mm" is bill, length, mm."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Za-z])(?=\d)|(?<=\d)(?=[A-Za-z])", " ", name)
    return re.findall(r"[a-zµ]+|\d+|%", spaced.lower())


def is_missing(cell: str) -> bool:
    """Whether a cell stands for no value."""
    return cell.strip().lower() in MISSING


def is_number(cell: str) -> bool:
    """Whether a cell looks like a number in any notation, also "$1,234.50" or "12 %"."""
    core = cell.strip()
    return bool(_NUMBER.fullmatch(core.strip(CURRENCIES + " "))) if core[-1:] != "," else False


def is_unit(cell: str) -> bool:
    """Whether a cell below a name looks like a unit: "(mm)", "kg/m3"."""
    text = cell.strip()
    bare = text.strip("()[] ").lower()
    return bare in UNITS or (text[:1] in ("(", "[") and text[-1:] in (")", "]")) or "/" in bare


def is_label_name(name: str) -> bool:
    """Whether this is a usual name for the classes or the outcome of the rows."""
    return normalize(name) in LABELS


def pluralize(count: int, thing: str, plural: str = "") -> str:
    """A count with its noun: 1 row, 2 rows."""
    return f"{count:,} {thing if count == 1 else plural or thing + 's'}"


def quote(text: str, length: int = 40) -> str:
    """A text in quotes, cut if it is long."""
    return repr(text if len(text) <= length else text[: length - 3] + "...")


def quote_names(names: Iterable[str], most: int = MAX_QUOTED_NAMES) -> str:
    """List names for a message: 'a', 'b' and 3 more."""
    every = list(names)
    others = f" and {len(every) - most:,} more" if every[most:] else ""
    return ", ".join(map(quote, every[:most])) + others

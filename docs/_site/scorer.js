// Order of search results. Entries of the index (search_words.py) and titles that hold the whole
// query come first, then pages that hold its words: methods and explanations before the rest, records
// of decisions and changes last.
var Scorer = {
  score: ([page, , , , score, , kind]) => {
    const about = kind === "index" || kind === "title" ? 40 : 0;
    if (/^(decisions\/|changes$|contributing$|benchmarks)/.test(page)) return score + about - 40;
    if (/^(methods|how-it-works)\//.test(page)) return score + about + 6;
    if (/^(questions|start|which-method|reading-a-map|tutorials\/.*)$/.test(page)) return score + about + 4;
    return score + about;
  },
  // What follows are Sphinx's own values.
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};

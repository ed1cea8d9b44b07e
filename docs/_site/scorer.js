// Order of search results: answers and methods first, records of decisions and changes last.
var Scorer = {
  score: ([page, , , , score]) => {
    if (/^(decisions\/|changes$|contributing$|benchmarks)/.test(page)) return score - 40;
    if (/^(questions|start|which-method|reading-a-map)$/.test(page)) return score + 12;
    if (/^(methods|how-it-works|tutorials)\//.test(page)) return score + 6;
    return score;
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

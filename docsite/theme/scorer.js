// Pages for merchants' developers come first; those about the service itself, last.
var Scorer = {
  score: ([docname, title, anchor, descr, score]) =>
    /^(adr|contribute|operate|changelog)/.test(docname) ? score / 10 : score,
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
